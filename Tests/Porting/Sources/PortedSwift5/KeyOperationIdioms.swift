import Dispatch
import Foundation
import Security

// Common ways to write key operations: a type for an algorithm, chunks through pointers, agreement, and errors.

private enum OperationFailure: Error, CustomStringConvertible {
    case unsupported(SecKeyAlgorithm)
    case failed(description: String)
    var description: String { if case .failed(let text) = self { text } else { "unsupported" } }
}

/// As in libraries for signed tokens.
private protocol KeyComponents {
    static func representing(_ components: Data) throws -> Self
    func components() throws -> Data
}

extension SecKey: KeyComponents {
    fileprivate static func representing(_ components: Data) throws -> Self {
        let attributes: [String: Any] = [
            kSecAttrKeyType as String: kSecAttrKeyTypeRSA, kSecAttrKeyClass as String: kSecAttrKeyClassPublic,
            kSecAttrKeySizeInBits as String: 2048, kSecAttrIsPermanent as String: false,
        ]
        return try instantiate(type: self, from: components, attributes: attributes)
    }

    private static func instantiate<T>(type: T.Type, from data: Data, attributes: [String: Any]) throws -> T {
        var error: Unmanaged<CFError>?
        guard let key = SecKeyCreateWithData(data as CFData, attributes as CFDictionary, &error) else {
            throw error!.takeRetainedValue() as Error
        }
        return key as! T
    }

    fileprivate func components() throws -> Data {
        guard let attributes = SecKeyCopyAttributes(self) as? [CFString: AnyObject],
            attributes[kSecAttrKeyClass] as? String == (kSecAttrKeyClassPublic as String)
        else { throw OperationFailure.failed(description: "not a public key") }
        var error: Unmanaged<CFError>?
        guard let data = SecKeyCopyExternalRepresentation(self, &error) else {
            throw OperationFailure.failed(description: error?.takeRetainedValue().localizedDescription ?? "nothing")
        }
        return data as Data
    }
}

private enum TokenAlgorithm: String, CaseIterable {
    case RS256, RS512, PS256, PS384, ES256, ES512

    var algorithm: SecKeyAlgorithm {
        switch self {
        case .RS256: return .rsaSignatureMessagePKCS1v15SHA256
        case .RS512: return .rsaSignatureMessagePKCS1v15SHA512
        case .PS256: return .rsaSignatureMessagePSSSHA256
        case .PS384: return SecKeyAlgorithm.rsaSignatureMessagePSSSHA384
        case .ES256: return .ecdsaSignatureMessageRFC4754SHA256
        case .ES512: return .ecdsaSignatureMessageX962SHA512
        }
    }
}

private func makeKey(_ type: CFString, _ size: Int) -> SecKey? {
    SecKeyCreateRandomKey(
        [kSecAttrKeyType as String: type, kSecAttrKeySizeInBits as String: size as AnyObject] as CFDictionary, nil)
}

private func sign(_ input: Data, _ key: SecKey, _ algorithm: SecKeyAlgorithm) throws -> Data {
    guard SecKeyIsAlgorithmSupported(key, .sign, algorithm) else { throw OperationFailure.unsupported(algorithm) }
    var signingError: Unmanaged<CFError>?
    guard let signature = SecKeyCreateSignature(key, algorithm, input as CFData, &signingError) else {
        let error = signingError!.takeRetainedValue()
        throw error
    }
    return signature as Data
}

extension Data {
    fileprivate func sealed(for key: SecKey, _ algorithm: SecKeyAlgorithm) throws -> Data {
        guard SecKeyIsAlgorithmSupported(key, .encrypt, algorithm) else { throw OperationFailure.unsupported(algorithm) }
        var error: Unmanaged<CFError>?
        guard let sealed = SecKeyCreateEncryptedData(key, algorithm, self as CFData, &error) else {
            throw error!.takeRetainedValue()
        }
        return sealed as Data
    }

    fileprivate func opened(with key: SecKey, _ algorithm: SecKeyAlgorithm) throws -> Data {
        var error: Unmanaged<CFError>?
        defer { error?.release() }
        guard let clear = SecKeyCreateDecryptedData(key, algorithm, self as CFData, &error) as Data? else {
            throw error!.takeUnretainedValue() as Error
        }
        return clear
    }
}

/// Encrypts text with the older functions, block by block.
private func chunked(_ text: String, _ publicKey: SecKey, _ privateKey: SecKey) -> String? {
    let blockSize = SecKeyGetBlockSize(publicKey)
    let bytes = [UInt8](text.utf8)
    var sealed = [UInt8]()
    for start in stride(from: 0, to: bytes.count, by: blockSize - 11) {
        let chunk = [UInt8](bytes[start..<min(start + blockSize - 11, bytes.count)])
        var buffer = [UInt8](repeating: 0, count: blockSize)
        var length = blockSize
        guard SecKeyEncrypt(publicKey, .PKCS1, chunk, chunk.count, &buffer, &length) == noErr else { return nil }
        sealed += buffer[0..<length]
    }
    var opened = Data()
    for start in stride(from: 0, to: sealed.count, by: blockSize) {
        let chunk = Data(sealed[start..<start + blockSize])
        var buffer = [UInt8](repeating: 0, count: blockSize)
        var length = blockSize
        let status = chunk.withUnsafeBytes { (pointer: UnsafeRawBufferPointer) -> OSStatus in
            SecKeyDecrypt(
                privateKey, SecPadding.PKCS1, pointer.bindMemory(to: UInt8.self).baseAddress!, chunk.count, &buffer, &length)
        }
        guard status == errSecSuccess else { return nil }
        opened.append(contentsOf: buffer.prefix(length))
    }
    return String(data: opened, encoding: .utf8)
}

// MARK: A key stored by its own type

private protocol SecKeyConvertible: CustomStringConvertible {
    init<Bytes>(x963Representation: Bytes) throws where Bytes: ContiguousBytes
    var x963Representation: Data { get }
}

private struct CurveKey: SecKeyConvertible, Equatable {
    let x963Representation: Data
    init<Bytes>(x963Representation: Bytes) throws where Bytes: ContiguousBytes {
        self.x963Representation = x963Representation.withUnsafeBytes { Data($0) }
    }
    var description: String { "a key" }
}

extension OSStatus {
    fileprivate var message: String { (SecCopyErrorMessageString(self, nil) as String?) ?? String(self) }
}

private func store<T: SecKeyConvertible>(_ key: T, label: String) throws {
    let attributes = [kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom,
                      kSecAttrKeyClass: kSecAttrKeyClassPrivate] as [String: Any]
    guard let secKey = SecKeyCreateWithData(key.x963Representation as CFData, attributes as CFDictionary, nil) else {
        throw OperationFailure.failed(description: "no SecKey")
    }
    let query = [kSecClass: kSecClassKey,
                 kSecAttrApplicationLabel: label,
                 kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked,
                 kSecUseDataProtectionKeychain: true,
                 kSecValueRef: secKey] as [String: Any]
    let status = SecItemAdd(query as CFDictionary, nil)
    guard status == errSecSuccess else { throw OperationFailure.failed(description: "add: \(status.message)") }
}

private func read<T: SecKeyConvertible>(label: String) throws -> T? {
    let query = [kSecClass: kSecClassKey,
                 kSecAttrApplicationLabel: label,
                 kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom,
                 kSecUseDataProtectionKeychain: true,
                 kSecReturnRef: true] as [String: Any]
    var item: CFTypeRef?
    var secKey: SecKey
    switch SecItemCopyMatching(query as CFDictionary, &item) {
    case errSecSuccess: secKey = item as! SecKey
    case errSecItemNotFound: return nil
    case let status: throw OperationFailure.failed(description: "read: \(status.message)")
    }
    var error: Unmanaged<CFError>?
    guard let data = SecKeyCopyExternalRepresentation(secKey, &error) as Data? else {
        throw OperationFailure.failed(description: error.debugDescription)
    }
    return try T(x963Representation: data)
}

/// Operations of keys.
func keyOperationIdioms() -> [Idiom] {
    [
        Idiom("a key from its components and back, as Self") { _ in
            guard let key = makeKey(kSecAttrKeyTypeRSA, 2048), let publicKey = SecKeyCopyPublicKey(key),
                let components = try? publicKey.components(), let again = try? SecKey.representing(components)
            else { return false }
            do {
                _ = try SecKey.representing(Data([1, 2, 3]))
                return false
            } catch let error as NSError {
                guard error.domain == NSOSStatusErrorDomain, error.code == Int(errSecParam) else { return false }
            }
            return again == publicKey && (try? key.components()) == nil
        },
        Idiom("signed tokens with every algorithm of an enumeration") { _ in
            guard let rsa = makeKey(kSecAttrKeyTypeRSA, 2048), let curve = makeKey(kSecAttrKeyTypeECSECPrimeRandom, 256),
                isSigning(rsa, by: .rsaSignatureRaw), !isSigning(curve, by: .rsaSignatureRaw)
            else { return false }
            let input = Data("header.payload".utf8)
            return TokenAlgorithm.allCases.allSatisfy { name in
                let (key, other) = name.rawValue.hasPrefix("E") ? (curve, rsa) : (rsa, curve)
                guard let signature = try? sign(input, key, name.algorithm), let publicKey = SecKeyCopyPublicKey(key) else {
                    return false
                }
                var error: Unmanaged<CFError>?
                let isRefused = !SecKeyVerifySignature(
                    publicKey, name.algorithm, Data() as CFData, signature as CFData, &error)
                let isRight = SecKeyVerifySignature(
                    publicKey, name.algorithm, input as CFData, signature as CFData, nil)
                return isRight && isRefused && CFErrorGetCode(error!.takeRetainedValue()) == Int(errSecVerifyFailed)
                    && (try? sign(input, other, name.algorithm)) == nil
            }
        },
        Idiom("an error caught as an NSError, as CFError, and by its type") { _ in
            guard let key = makeKey(kSecAttrKeyTypeECSECPrimeRandom, 384) else { return false }
            var error: Unmanaged<CFError>?
            guard SecKeyCreateSignature(key, .rsaSignatureRaw, Data() as CFData, &error) == nil, let error else { return false }
            let failure: CFError = error.takeRetainedValue()
            let thrown: any Error = failure
            do { throw thrown } catch let error as NSError where error.code == -50 {} catch { return false }
            let again = thrown as NSError
            return CFErrorCopyDescription(again) as String == thrown.localizedDescription
                && CFErrorGetDomain(again) == kCFErrorDomainOSStatus
                && (CFErrorCopyUserInfo(failure) as? [String: Any]) != nil
                && OSStatus(CFErrorGetCode(failure)) == errSecParam && String(describing: failure).isEmpty == false
        },
        Idiom("ECIES and OAEP behind an extension of Data") { _ in
            guard let curve = makeKey(kSecAttrKeyTypeECSECPrimeRandom, 521), let rsa = makeKey(kSecAttrKeyTypeRSA, 2048),
                let curvePublic = SecKeyCopyPublicKey(curve), let rsaPublic = SecKeyCopyPublicKey(rsa)
            else { return false }
            let text = Data("a message".utf8)
            let rows: [(SecKey, SecKey, SecKeyAlgorithm)] = [
                (curve, curvePublic, .eciesEncryptionCofactorVariableIVX963SHA256AESGCM),
                (curve, curvePublic, .eciesEncryptionStandardX963SHA512AESGCM),
                (rsa, rsaPublic, .rsaEncryptionOAEPSHA1), (rsa, rsaPublic, .rsaEncryptionOAEPSHA512),
                (rsa, rsaPublic, .rsaEncryptionPKCS1), (rsa, rsaPublic, .rsaEncryptionOAEPSHA256AESGCM),
            ]
            return rows.allSatisfy { key, publicKey, algorithm in
                guard let sealed = try? text.sealed(for: publicKey, algorithm) else { return false }
                // A part of a larger buffer does not begin at 0.
                let slice = (Data([9, 9, 9]) + sealed).dropFirst(3)
                return (try? slice.opened(with: key, algorithm)) == text
                    && (try? text.sealed(for: key, algorithm)) == nil
            }
        },
        Idiom("text in chunks through the older functions") { _ in
            guard let key = makeKey(kSecAttrKeyTypeRSA, 1024), let publicKey = SecKeyCopyPublicKey(key) else { return false }
            let text = String(repeating: "päckchen ", count: 60)
            return chunked(text, publicKey, key) == text
        },
        Idiom("key agreement with parameters as strings and as their type") { _ in
            guard let own = makeKey(kSecAttrKeyTypeEC, 256), let peer = makeKey(kSecAttrKeyTypeEC, 256),
                let ownPublic = SecKeyCopyPublicKey(own), let peerPublic = SecKeyCopyPublicKey(peer)
            else { return false }
            let info = Data("info".utf8)
            let strings: [String: Any] = [
                SecKeyKeyExchangeParameter.requestedSize.rawValue as String: 32,
                SecKeyKeyExchangeParameter.sharedInfo.rawValue as String: info,
            ]
            let typed: [SecKeyKeyExchangeParameter: Any] = [.requestedSize: 32, .sharedInfo: info]
            let algorithm = SecKeyAlgorithm.ecdhKeyExchangeStandardX963SHA256
            let secret = SecKeyCopyKeyExchangeResult(own, algorithm, peerPublic, strings as CFDictionary, nil) as Data?
            let other = SecKeyCopyKeyExchangeResult(peer, algorithm, ownPublic, typed as CFDictionary, nil) as Data?
            let plain = SecKeyCopyKeyExchangeResult(own, .ecdhKeyExchangeStandard, peerPublic, [:] as CFDictionary, nil)
            let back = SecKeyCopyKeyExchangeResult(
                peer, .ecdhKeyExchangeCofactor, ownPublic, [String: Any]() as CFDictionary, nil)
            return secret?.count == 32 && secret == other && plain == back && CFDataGetLength(plain) == 32
        },
        Idiom("the caller's own key type, stored by its label and exported again") { service in
            guard let made = makeKey(kSecAttrKeyTypeECSECPrimeRandom, 256),
                let bytes = SecKeyCopyExternalRepresentation(made, nil), let key = try? CurveKey(x963Representation: bytes as Data)
            else { return false }
            do {
                guard try read(label: service) as CurveKey? == nil else { return false }
                try store(key, label: service)
                defer { SecItemDelete([kSecClass: kSecClassKey, kSecAttrApplicationLabel: service] as CFDictionary) }
                return try read(label: service) == key
            } catch {
                print(error)
                return false
            }
        },
        Idiom("a key of the Secure Enclave, here of the token") { service in
            let tag = Data(service.utf8)
            guard let access = SecAccessControlCreateWithFlags(
                kCFAllocatorDefault, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, [.privateKeyUsage], nil)
            else { return false }
            let attributes: NSDictionary = [
                kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
                kSecAttrTokenID: kSecAttrTokenIDSecureEnclave,
                kSecPrivateKeyAttrs: [
                    kSecAttrIsPermanent: true, kSecAttrApplicationTag: tag, kSecAttrAccessControl: access,
                ],
            ]
            var error: Unmanaged<CFError>?
            guard let made = SecKeyCreateRandomKey(attributes, &error), let publicKey = SecKeyCopyPublicKey(made) else {
                print(error!.takeRetainedValue())
                return false
            }
            let query: [String: Any] = [
                kSecClass as String: kSecClassKey, kSecAttrApplicationTag as String: tag,
                kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom, kSecReturnRef as String: true,
                kSecAttrKeyClass as String: kSecAttrKeyClassPrivate,
                kSecAttrTokenID as String: kSecAttrTokenIDSecureEnclave,
            ]
            var item: CFTypeRef?
            guard SecItemCopyMatching(query as CFDictionary, &item) == errSecSuccess else { return false }
            let key = item as! SecKey
            let text = Data("for the enclave".utf8)
            let algorithm = SecKeyAlgorithm.eciesEncryptionStandardX963SHA256AESGCM
            guard let sealed = try? text.sealed(for: publicKey, algorithm), (try? sealed.opened(with: key, algorithm)) == text,
                let signature = try? sign(text, key, .ecdsaSignatureMessageX962SHA256)
            else { return false }
            let isVerified = SecKeyVerifySignature(
                publicKey, .ecdsaSignatureMessageX962SHA256, text as CFData, signature as CFData, nil)
            let token = (SecKeyCopyAttributes(key) as? [CFString: Any])?[kSecAttrTokenID] as? String
            return isVerified && token == kSecAttrTokenIDSecureEnclave as String
                && SecKeyCopyExternalRepresentation(key, nil) == nil && key == made
        },
        Idiom("a pair by SecKeyGeneratePair, both halves found by their tags") { service in
            let (privateTag, publicTag) = (Data(service.utf8), Data((service + " public").utf8))
            let parameters: [String: Any] = [
                kSecAttrKeyType as String: kSecAttrKeyTypeRSA, kSecAttrKeySizeInBits as String: "2048",
                kSecPublicKeyAttrs as String: [
                    kSecAttrIsPermanent as String: true, kSecAttrApplicationTag as String: publicTag,
                ] as [String: Any],
                kSecPrivateKeyAttrs as String: [
                    kSecAttrIsPermanent as String: kCFBooleanTrue!, kSecAttrApplicationTag as String: privateTag,
                ] as [String: Any],
            ]
            var publicKey, privateKey: SecKey?
            guard SecKeyGeneratePair(parameters as CFDictionary, &publicKey, &privateKey) == errSecSuccess else { return false }
            func found(_ tag: Data, _ half: CFString) -> SecKey? {
                var item: AnyObject?
                let query: [NSString: Any] = [
                    kSecClass: kSecClassKey, kSecAttrApplicationTag: tag, kSecAttrKeyClass: half, kSecReturnRef: true,
                ]
                guard SecItemCopyMatching(query as CFDictionary, &item) == noErr else { return nil }
                return (item as! SecKey?)
            }
            defer { SecItemDelete([kSecClass: kSecClassKey, kSecAttrApplicationTag: publicTag] as CFDictionary) }
            return found(privateTag, kSecAttrKeyClassPrivate) == privateKey && found(publicTag, kSecAttrKeyClassPublic) == publicKey
                && found(publicTag, kSecAttrKeyClassPrivate) == nil && privateKey != publicKey
        },
        Idiom("keys and certificates in sets, and across threads") { _ in
            guard let key = makeKey(kSecAttrKeyTypeECSECPrimeRandom, 256), let publicKey = SecKeyCopyPublicKey(key),
                let bytes = SecKeyCopyExternalRepresentation(publicKey, nil),
                let again = SecKeyCreateWithData(
                    bytes, [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeyClass: kSecAttrKeyClassPublic] as CFDictionary, nil)
            else { return false }
            let names: [SecKey: String] = [key: "private", publicKey: "public"]
            let failures = DispatchQueue(label: "failures")
            nonisolated(unsafe) var failed = 0
            DispatchQueue.concurrentPerform(iterations: 64) { index in
                let data = Data([UInt8(index)]) as CFData
                let signature = SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, data, nil)
                if !SecKeyVerifySignature(again, .ecdsaSignatureMessageX962SHA256, data, signature!, nil) {
                    failures.sync { failed += 1 }
                }
            }
            return names[again] == "public" && names.count == 2 && failed == 0 && CFHash(again) == CFHash(publicKey)
        },
        Idiom("random bytes into arrays, data, numbers and pointers") { _ in
            var bytes = [UInt8](repeating: 0, count: 16)
            var data = Data(count: 32)
            var number: UInt64 = 0
            let mutable = NSMutableData(length: 8)!
            let codes: [Int32] = [
                SecRandomCopyBytes(kSecRandomDefault, bytes.count, &bytes),
                data.withUnsafeMutableBytes { SecRandomCopyBytes(kSecRandomDefault, 32, $0.baseAddress!) },
                data.withUnsafeMutableBytes { (buffer: UnsafeMutableRawBufferPointer) -> Int32 in
                    SecRandomCopyBytes(nil, buffer.count, buffer.bindMemory(to: UInt8.self).baseAddress!)
                },
                SecRandomCopyBytes(kSecRandomDefault, MemoryLayout<UInt64>.size, &number),
                withUnsafeMutableBytes(of: &number) { SecRandomCopyBytes(kSecRandomDefault, $0.count, $0.baseAddress!) },
                SecRandomCopyBytes(kSecRandomDefault, mutable.length, mutable.mutableBytes),
            ]
            return codes.allSatisfy { $0 == errSecSuccess } && bytes != [UInt8](repeating: 0, count: 16)
                && data != Data(count: 32) && number != 0 && mutable as Data != Data(count: 8)
        },
    ]
}

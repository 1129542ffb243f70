import Dispatch
import Security

// Common ways to write server trust, pinning and client identities.

// MARK: A namespace on Apple's types, as in networking libraries

/// An extension of a value of another type.
private struct Extension<Extended> {
    let value: Extended
}

private protocol Extensible {}
extension Extensible { fileprivate var pinned: Extension<Self> { Extension(value: self) } }
extension SecTrust: Extensible {}
extension SecCertificate: Extensible {}
extension OSStatus: Extensible {}
extension SecTrustResultType: Extensible {}

private enum PinningFailure: Error {
    case evaluation(error: (any Error)?)
    case policy(trust: SecTrust, policy: SecPolicy, status: OSStatus)
    case noPolicy
}

extension Extension where Extended == OSStatus { fileprivate var isSuccess: Bool { value == errSecSuccess } }

extension Extension where Extended == SecTrustResultType {
    fileprivate var isSuccess: Bool { value == .unspecified || value == .proceed }
}

extension Extension where Extended == SecTrust {
    fileprivate func evaluate() throws {
        var error: CFError?
        guard SecTrustEvaluateWithError(value, &error) else { throw PinningFailure.evaluation(error: error) }
    }

    fileprivate func apply(policy: SecPolicy) throws -> SecTrust {
        let status = SecTrustSetPolicies(value, policy)
        guard status.pinned.isSuccess else { throw PinningFailure.policy(trust: value, policy: policy, status: status) }
        return value
    }

    fileprivate func setAnchors(_ certificates: [SecCertificate]) throws {
        guard SecTrustSetAnchorCertificates(value, certificates as CFArray).pinned.isSuccess,
            SecTrustSetAnchorCertificatesOnly(value, true).pinned.isSuccess
        else { throw PinningFailure.evaluation(error: nil) }
    }

    fileprivate var certificates: [SecCertificate] { (SecTrustCopyCertificateChain(value) as? [SecCertificate]) ?? [] }

    fileprivate var certificatesByIndex: [SecCertificate] {
        (0..<SecTrustGetCertificateCount(value)).compactMap { SecTrustGetCertificateAtIndex(value, $0) }
    }

    fileprivate func validate(host: String) throws {
        try apply(policy: SecPolicyCreateSSL(true, host as CFString)).pinned.evaluate()
    }
}

extension Extension where Extended == SecCertificate {
    fileprivate var publicKey: SecKey? {
        var trust: SecTrust?
        let status = SecTrustCreateWithCertificates(value, SecPolicyCreateBasicX509(), &trust)
        guard let created = trust, status == errSecSuccess else { return nil }
        return SecTrustCopyKey(created)
    }
}

extension Array where Element == SecCertificate {
    fileprivate var data: [Data] { map { SecCertificateCopyData($0) as Data } }
    fileprivate var publicKeys: [SecKey] { compactMap(\.pinned.publicKey) }
}

/// A common configuration of revocation.
private struct RevocationOptions: OptionSet {
    let rawValue: CFOptionFlags
    static let crl = RevocationOptions(rawValue: kSecRevocationCRLMethod)
    static let networkAccessDisabled = RevocationOptions(rawValue: kSecRevocationNetworkAccessDisabled)
    static let any = RevocationOptions(rawValue: kSecRevocationUseAnyAvailableMethod)
}

extension SecPolicy {
    fileprivate static let `default` = SecPolicyCreateSSL(true, nil)
    fileprivate static func hostname(_ name: String) -> SecPolicy { SecPolicyCreateSSL(true, name as CFString) }
    fileprivate static func revocation(_ options: RevocationOptions) throws -> SecPolicy {
        guard let policy = SecPolicyCreateRevocation(options.rawValue) else { throw PinningFailure.noPolicy }
        return policy
    }
}

// MARK: A file of an identity

/// The parts of the imported file that programs keep.
private struct Imported {
    let identity: SecIdentity
    let trust: SecTrust
    let chain: [SecCertificate]

    init(_ data: Data, _ passphrase: String) throws {
        var rawItems: CFArray?
        let options = [kSecImportExportPassphrase as String: passphrase]
        let status = SecPKCS12Import(data as CFData, options as CFDictionary, &rawItems)
        guard status == errSecSuccess else {
            throw NSError(domain: NSOSStatusErrorDomain, code: Int(status), userInfo: nil)
        }
        let items = rawItems! as! Array<Dictionary<String, Any>>
        let first = items[0]
        identity = first[kSecImportItemIdentity as String] as! SecIdentity
        trust = (first[kSecImportItemTrust as String] as! SecTrust?)!
        chain = first[kSecImportItemCertChain as String] as! [SecCertificate]
    }
}

private func importedTrust(anchored: Bool = true) throws -> (trust: SecTrust, leaf: SecCertificate) {
    let imported = try Imported(portedIdentity, portedPassphrase)
    var trust: SecTrust?
    let leaf = imported.chain[0]
    SecTrustCreateWithCertificates(imported.chain as CFArray, SecPolicy.default, &trust)
    SecTrustSetVerifyDate(trust!, portedDate as CFDate)
    if anchored { try trust!.pinned.setAnchors([SecCertificateCreateWithData(nil, portedAuthority as CFData)!]) }
    return (trust!, leaf)
}

// MARK: Pins

private let rsa2048Header: [UInt8] = [
    0x30, 0x82, 0x01, 0x22, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
    0x03, 0x82, 0x01, 0x0f, 0x00,
]

/// The SubjectPublicKeyInfo assembled by hand, as in pinning code.
private func subjectPublicKeyInfo(_ certificate: SecCertificate) -> Data? {
    guard let key = SecCertificateCopyKey(certificate), let data = SecKeyCopyExternalRepresentation(key, nil),
        let attributes = SecKeyCopyAttributes(key) as? [String: Any],
        let type = attributes[kSecAttrKeyType as String] as? String,
        let size = attributes[kSecAttrKeySizeInBits as String] as? Int
    else { return nil }
    switch (type as CFString, size) {
    case (kSecAttrKeyTypeRSA, 2048): return Data(rsa2048Header) + (data as Data)
    default: return nil
    }
}

/// Server trust and client identities.
func trustIdioms() -> [Idiom] {
    [
        Idiom("a namespace that evaluates for a host and throws") { _ in
            guard let (trust, leaf) = try? importedTrust() else { return false }
            do { try trust.pinned.validate(host: "pinned.example") } catch { return false }
            do {
                try trust.pinned.validate(host: "other.example")
                return false
            } catch PinningFailure.evaluation(let error?) {
                let nsError = error as NSError
                guard nsError.domain == NSOSStatusErrorDomain, nsError.code == Int(errSecHostNameMismatch),
                    !error.localizedDescription.isEmpty
                else { return false }
            } catch { return false }
            let chain = trust.pinned.certificates
            return chain == trust.pinned.certificatesByIndex && chain.count == 2 && chain.first == leaf
                && Set(chain.data).contains(SecCertificateCopyData(leaf) as Data) && chain.publicKeys.count == 2
        },
        Idiom("names of a certificate: wildcards, addresses, case and a closing dot") { _ in
            guard let (trust, _) = try? importedTrust() else { return false }
            func isFor(_ host: String) -> Bool { (try? trust.pinned.validate(host: host)) != nil }
            return isFor("a.wild.example") && isFor("PINNED.example") && isFor("192.0.2.7") && isFor("pinned.example.")
                && !isFor("wild.example") && !isFor("a.b.wild.example") && !isFor("192.0.2.8") && !isFor("ported")
        },
        Idiom("policies together, one of them about revocation") { _ in
            guard let (trust, _) = try? importedTrust(),
                let revocation = try? SecPolicy.revocation([.any, .networkAccessDisabled])
            else { return false }
            let policies = [SecPolicy.hostname("pinned.example"), revocation] as CFArray
            guard SecTrustSetPolicies(trust, policies) == errSecSuccess else { return false }
            var copied: CFArray?
            return SecTrustCopyPolicies(trust, &copied) == errSecSuccess && (copied as? [SecPolicy])?.count == 2
                && (try? trust.pinned.evaluate()) != nil
        },
        Idiom("an unknown authority, and the results of the older functions about it") { _ in
            guard let (trust, _) = try? importedTrust(anchored: false) else { return false }
            var result = SecTrustResultType.invalid
            guard SecTrustEvaluate(trust, &result) == errSecSuccess, !result.pinned.isSuccess,
                result == SecTrustResultType.recoverableTrustFailure, SecTrustGetTrustResult(trust, &result) == errSecSuccess
            else { return false }
            switch result {
            case .proceed, .unspecified: return false
            case .invalid, .deny, .fatalTrustFailure, .otherError, .confirm: return false
            case .recoverableTrustFailure: break
            @unknown default: return false
            }
            // An exception that the user accepts once.
            guard let exceptions = SecTrustCopyExceptions(trust), SecTrustSetExceptions(trust, exceptions) else { return false }
            return SecTrustEvaluate(trust, &result) == errSecSuccess && result == .proceed
                && !SecTrustSetExceptions(trust, nil) && SecTrustEvaluateWithError(trust, nil) == false
        },
        Idiom("a pinned certificate by its bytes, and a pinned key by equality") { _ in
            guard let (trust, leaf) = try? importedTrust() else { return false }
            let pinnedData = SecCertificateCopyData(leaf) as Data
            let server = SecTrustCopyCertificateChain(trust) as! [SecCertificate]
            let serverKey = SecTrustCopyKey(trust)
            return server.contains { (SecCertificateCopyData($0) as Data) == pinnedData }
                && SecCertificateCopyKey(leaf) == serverKey && CFEqual(SecCertificateCopyKey(leaf), serverKey)
                && Set(server.publicKeys).contains(serverKey!)
        },
        Idiom("a SubjectPublicKeyInfo with a header by hand") { _ in
            guard let (_, leaf) = try? importedTrust(), let info = subjectPublicKeyInfo(leaf) else { return false }
            // SHA-256 is not Security's: the bytes around the key show that the certificate has this key.
            let der = SecCertificateCopyData(leaf) as Data
            return info.count == 294 && der.range(of: info) != nil
        },
        Idiom("a PKCS#12 file through AnyObject, and wrong passphrases") { _ in
            var items: CFArray?
            let options: Dictionary = [kSecImportExportPassphrase as String: portedPassphrase]
            guard SecPKCS12Import(portedIdentity as NSData, options as CFDictionary, &items) == errSecSuccess else { return false }
            let array: Array = (items as CFArray?)! as Array
            let dictionary: AnyObject? = array.first as AnyObject?
            guard let entry: Dictionary = dictionary as? Dictionary<String, AnyObject> else { return false }
            let pointer: AnyObject? = entry["identity"]
            let identity: SecIdentity = (pointer as! SecIdentity?)!
            let trust: SecTrust = entry["trust"] as! SecTrust
            let chain: AnyObject? = entry["chain"]
            var certificate: SecCertificate?
            SecIdentityCopyCertificate(identity, &certificate)
            func status(_ options: NSDictionary, _ data: Data = portedIdentity) -> OSStatus {
                SecPKCS12Import(data as CFData, options, &items)
            }
            return CFGetTypeID(identity) == SecIdentityGetTypeID() && CFGetTypeID(trust) == SecTrustGetTypeID()
                && (chain as? [SecCertificate])?.first == certificate && (chain as? NSArray)?.count == 2
                && entry[kSecImportItemLabel as String] as? String == "ported"
                && (entry[kSecImportItemKeyID as String] as? Data)?.count == 20
                && status([kSecImportExportPassphrase: "wrong"]) == errSecAuthFailed && status([:]) == errSecAuthFailed
                && status([kSecImportExportPassphrase: "import"], Data([0x30, 0])) == errSecDecode
        },
        Idiom("a PKCS#12 file through pointers to members") { _ in
            var items: CFArray?
            let options = [kSecImportExportPassphrase: portedPassphrase] as CFDictionary
            guard SecPKCS12Import(portedIdentity as CFData, options, &items) == errSecSuccess, let items,
                CFArrayGetCount(items) == 1
            else { return false }
            let entry = unsafeBitCast(CFArrayGetValueAtIndex(items, 0), to: CFDictionary.self)
            let key = Unmanaged.passUnretained(kSecImportItemIdentity).toOpaque()
            guard let pointer = CFDictionaryGetValue(entry, key) else { return false }
            let identity = Unmanaged<SecIdentity>.fromOpaque(pointer).takeUnretainedValue()
            var certificate: SecCertificate?
            guard SecIdentityCopyCertificate(identity, &certificate) == errSecSuccess, let certificate,
                let (trust, _) = try? importedTrust(), let chain = SecTrustCopyCertificateChain(trust)
            else { return false }
            let leaf = unsafeBitCast(CFArrayGetValueAtIndex(chain, 0), to: SecCertificate.self)
            return leaf == certificate && CFGetTypeID(leaf) == SecCertificateGetTypeID()
        },
        Idiom("a date by its absolute time") { _ in
            guard let (trust, _) = try? importedTrust() else { return false }
            let date = CFDateCreate(kCFAllocatorDefault, CFAbsoluteTimeGetCurrent() + 100 * 365 * 86_400)!
            guard SecTrustSetVerifyDate(trust, date) == errSecSuccess,
                abs(SecTrustGetVerifyTime(trust) - CFDateGetAbsoluteTime(date)) < 1
            else { return false }
            var error: CFError?
            return !SecTrustEvaluateWithError(trust, &error) && CFErrorGetCode(error) == Int(errSecCertificateExpired)
        },
        Idiom("both halves of an identity, and a signature between them") { _ in
            guard let identity = (try? Imported(portedIdentity, portedPassphrase))?.identity else { return false }
            var key: SecKey?
            var certificate: SecCertificate?
            guard SecIdentityCopyPrivateKey(identity, &key) == errSecSuccess,
                SecIdentityCopyCertificate(identity, &certificate) == errSecSuccess, let key, let certificate,
                let publicKey = SecCertificateCopyKey(certificate)
            else { return false }
            let challenge = Data("challenge".utf8)
            guard let signature = SecKeyCreateSignature(key, .rsaSignatureMessagePSSSHA256, challenge as CFData, nil) else {
                return false
            }
            return SecKeyVerifySignature(publicKey, .rsaSignatureMessagePSSSHA256, challenge as CFData, signature, nil)
                && SecKeyCopyPublicKey(key) == publicKey
        },
        Idiom("an identity that the import has stored, added as well, and deleted and added again") { service in
            let options: [CFString: Any] = [
                kSecImportExportPassphrase: portedPassphrase, kSecUseDataProtectionKeychain: true,
            ]
            var items: CFArray?
            guard SecPKCS12Import(portedIdentity as CFData, options as CFDictionary, &items) == errSecSuccess,
                let first = (items as? [[String: Any]])?.first,
                let value = first[kSecImportItemIdentity as String],
                let chain = first[kSecImportItemCertChain as String] as? [SecCertificate]
            else { return false }
            defer { for certificate in chain { SecItemDelete([kSecValueRef: certificate] as CFDictionary) } }
            let add = [kSecValueRef: value, kSecAttrLabel: service] as CFDictionary
            let delete = [kSecValueRef: value] as CFDictionary
            let find = [kSecClass: kSecClassIdentity, kSecAttrLabel: service] as CFDictionary
            for _ in 0..<2 {
                guard SecItemAdd(add, nil) == errSecSuccess, SecItemCopyMatching(find, nil) == errSecSuccess,
                    SecItemDelete(delete) == errSecSuccess, SecItemCopyMatching(find, nil) == errSecItemNotFound
                else { return false }
            }
            return true
        },
        Idiom("an identity added, found by its label, and deleted") { service in
            guard let identity = (try? Imported(portedIdentity, portedPassphrase))?.identity else { return false }
            let add: [String: Any] = [
                kSecValueRef as String: identity, kSecAttrLabel as String: service, kSecReturnPersistentRef as String: true,
            ]
            var reference: CFTypeRef?
            guard SecItemAdd(add as CFDictionary, &reference) == errSecSuccess, let stored = reference as? Data else {
                return false
            }
            let query: [String: Any] = [
                kSecClass as String: kSecClassIdentity, kSecAttrLabel as String: service, kSecReturnRef as String: true,
            ]
            var item: CFTypeRef?
            guard SecItemCopyMatching(query as CFDictionary, &item) == errSecSuccess else { return false }
            let found = item as! SecIdentity
            var key: SecKey?
            guard SecIdentityCopyPrivateKey(found, &key) == errSecSuccess, let key,
                SecKeyCreateSignature(key, .rsaSignatureMessagePKCS1v15SHA256, Data([1]) as CFData, nil) != nil
            else { return false }
            let again = SecItemAdd([kSecValueRef: identity] as CFDictionary, nil)
            let byReference = [kSecValuePersistentRef: stored, kSecReturnRef: kCFBooleanTrue!] as CFDictionary
            guard again == errSecDuplicateItem, SecItemCopyMatching(byReference, &item) == errSecSuccess,
                (item as! SecIdentity) == found
            else { return false }
            return SecItemDelete([kSecValueRef: found] as CFDictionary) == errSecSuccess
                && SecItemCopyMatching(query as CFDictionary, nil) == errSecItemNotFound
        },
        Idiom("an evaluation on a queue, with a completion that is Sendable") { _ in
            guard let (trust, _) = try? importedTrust() else { return false }
            final class Box: @unchecked Sendable { var isTrusted = false }
            let (box, done, queue) = (Box(), DispatchSemaphore(value: 0), DispatchQueue(label: "trust"))
            queue.async {
                let status = SecTrustEvaluateAsyncWithError(trust, queue) { _, isTrusted, error in
                    box.isTrusted = isTrusted && error == nil
                    done.signal()
                }
                if status != errSecSuccess { done.signal() }
            }
            done.wait()
            return box.isTrusted
        },
        Idiom("the values of a certificate, through out parameters") { _ in
            guard let (_, leaf) = try? importedTrust() else { return false }
            var name: CFString?
            SecCertificateCopyCommonName(leaf, &name)
            var addresses: CFArray?
            SecCertificateCopyEmailAddresses(leaf, &addresses)
            var error: Unmanaged<CFError>?
            let serial = SecCertificateCopySerialNumberData(leaf, &error) as Data?
            return name as String? == "pinned.example" && (addresses as? [String])?.isEmpty == true
                && (SecCertificateCopySubjectSummary(leaf) as String?) == "pinned.example" && serial?.count == 20
                && SecCertificateCreateWithData(nil, Data("-----BEGIN CERTIFICATE-----".utf8) as CFData) == nil
        },
    ]
}

import Security

/// A certificate made with OpenSSL for ported.example; only its form matters here.
let portedCertificate = Data(base64Encoded: """
    MIIBijCCAS+gAwIBAgIUFHnDQ8ViP6XJmrfuarBvvcdYdGMwCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwOcG9ydGVkLmV4YW1wbGUw
    IBcNMjYxMTIxMTUyMjQ5WhgPMjEyNjEwMjgxNTIyNDlaMBkxFzAVBgNVBAMMDnBvcnRlZC5leGFtcGxlMFkwEwYHKoZIzj0CAQYI
    KoZIzj0DAQcDQgAEhGGedTnBAsKOEthIsOqZ4fNgIpsQ5yWb//RkHigPBqg+8V1w2lc4UsXQha4/D0VRtWi6tah6TCl/wCgW8OAG
    y6NTMFEwHQYDVR0OBBYEFF69SSoSBGpkSY4MSDh2ChdVyxRGMB8GA1UdIwQYMBaAFF69SSoSBGpkSY4MSDh2ChdVyxRGMA8GA1Ud
    EwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAPgtXO9jVMMuJGQmjfRrDOpTA70wB0KE8wjWOOwLhP9CAiEAzAOn754IbQZ8
    A8THDW2JYxLMWlpLQDddE9/L1+Ebh8c=
    """, options: .ignoreUnknownCharacters)!

private let message = "message".data(using: .utf8)!

/// Creates a key pair on an elliptic curve; the private key is stored under a tag if one is given.
private func makeKey(tag: String? = nil) throws -> SecKey {
    var attributes: [String: Any] = [
        kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits as String: 256,
    ]
    if let tag {
        attributes[kSecPrivateKeyAttrs as String] = [
            kSecAttrIsPermanent as String: true, kSecAttrApplicationTag as String: tag.data(using: .utf8)!,
        ] as [String: Any]
    }
    var error: Unmanaged<CFError>?
    guard let key = SecKeyCreateRandomKey(attributes as CFDictionary, &error) else {
        throw error!.takeRetainedValue() as Error
    }
    return key
}

/// Keys, certificates and access control.
func keyIdioms() -> [Idiom] {
    [
        Idiom("a key pair with nested attributes, which signs and verifies") { service in
            guard let key = try? makeKey(tag: service), let publicKey = SecKeyCopyPublicKey(key) else { return false }
            let algorithm: SecKeyAlgorithm = .ecdsaSignatureMessageX962SHA256
            guard SecKeyIsAlgorithmSupported(key, .sign, algorithm) else { return false }
            var error: Unmanaged<CFError>?
            guard let signature = SecKeyCreateSignature(key, algorithm, message as CFData, &error) as Data? else {
                return false
            }
            return SecKeyVerifySignature(publicKey, algorithm, message as CFData, signature as CFData, nil)
        },
        Idiom("as! SecKey, found by its tag and deleted") { service in
            guard (try? makeKey(tag: service)) != nil else { return false }
            let query: [String: Any] = [
                kSecClass as String: kSecClassKey, kSecAttrApplicationTag as String: service.data(using: .utf8)!,
                kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom, kSecReturnRef as String: true,
            ]
            var item: CFTypeRef?
            guard SecItemCopyMatching(query as CFDictionary, &item) == errSecSuccess else { return false }
            let key = item as! SecKey
            return CFGetTypeID(key) == SecKeyGetTypeID()
                && SecItemDelete([kSecClass: kSecClassKey, kSecAttrApplicationTag: service.data(using: .utf8)!] as CFDictionary)
                    == errSecSuccess
        },
        Idiom("an error out of Unmanaged<CFError>") { _ in
            var error: Unmanaged<CFError>?
            let key = SecKeyCreateWithData(
                Data([1, 2, 3]) as CFData,
                [kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeyClass: kSecAttrKeyClassPrivate] as CFDictionary, &error)
            guard key == nil, let failure = error?.takeRetainedValue() else { return false }
            let thrown = failure as Error
            return CFErrorGetDomain(failure) as String == NSOSStatusErrorDomain
                && (thrown as NSError).code == Int(errSecParam)
        },
        Idiom("a certificate, alone and as CFArray") { _ in
            guard let one = SecCertificateCreateWithData(nil, portedCertificate as CFData) else { return false }
            let array = [one] as CFArray
            return SecCertificateCopyData(one) as Data == portedCertificate && CFArrayGetCount(array) == 1
                && (array as? [SecCertificate])?.first == one
                && SecCertificateCopySubjectSummary(one) as String? == "ported.example"
        },
        Idiom("an item with access control") { service in
            var error: Unmanaged<CFError>?
            guard
                let access = SecAccessControlCreateWithFlags(
                    kCFAllocatorDefault, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, .userPresence, &error)
            else { return false }
            let query = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccessControl: access,
                kSecValueData: message,
            ] as CFDictionary
            // A keychain without a user to ask, like a Mac before its login window: the item is stored and found, but
            // not opened.
            let secret = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecReturnData: true,
            ] as CFDictionary
            return SecItemAdd(query, nil) == errSecSuccess
                && (find(service, [kSecReturnAttributes: true]) as? [CFString: Any])?[kSecAttrAccessControl] != nil
                && SecItemCopyMatching(secret, nil) == errSecInteractionNotAllowed
        },
    ]
}

import Dispatch
import Security

/// Every declaration that ported code needs, used once with Apple's interface.
///
/// The test is that this compiles. Results of calls must be consistent.
func declarationIdioms() -> [Idiom] {
    [
        Idiom("Core Foundation's names") { _ in
            let status: OSStatus = noErr
            let object: CFTypeRef = "text" as CFString
            let types: [CFTypeID] = [
                CFStringGetTypeID(), CFDataGetTypeID(), CFNumberGetTypeID(), CFBooleanGetTypeID(), CFDateGetTypeID(),
                CFArrayGetTypeID(), CFDictionaryGetTypeID(), CFSetGetTypeID(), CFNullGetTypeID(), CFURLGetTypeID(),
                CFErrorGetTypeID(), SecKeyGetTypeID(), SecCertificateGetTypeID(), SecIdentityGetTypeID(),
                SecTrustGetTypeID(), SecPolicyGetTypeID(), SecAccessControlGetTypeID(),
            ]
            let index: CFIndex = CFArrayGetCount([1, 2] as CFArray)
            let flags: CFOptionFlags = 0
            let moment: CFAbsoluteTime = 0, interval: CFTimeInterval = 1
            let data: CFData = Data([1]) as CFData, mutableData: CFMutableData = NSMutableData()
            let date: CFDate = Date() as CFDate, number: CFNumber = 1 as CFNumber, truth: CFBoolean = true as CFBoolean
            let null: CFNull = kCFNull, url: CFURL = URL(fileURLWithPath: "/") as CFURL
            let set: CFSet = NSSet(), dictionary: CFDictionary = [kSecClass: kSecClassKey] as CFDictionary
            let mutable: CFMutableDictionary = NSMutableDictionary()
            mutable.setValue("x", forKey: kSecAttrAccount as String)
            let allocator: CFAllocator? = kCFAllocatorDefault
            let domain: CFErrorDomain = NSOSStatusErrorDomain as CFErrorDomain
            let error = CFErrorCreate(allocator, domain, CFIndex(errSecParam), nil)!
            let values: [AnyObject] = [date, number, truth, null, url, set, dictionary, mutable, mutableData]
            return status == errSecSuccess && CFGetTypeID(object) == CFStringGetTypeID() && Set(types).count == types.count
                && index == 2 && flags == 0 && moment < interval && values.allSatisfy { CFEqual($0, $0) && CFHash($0) == CFHash($0) }
                && CFErrorGetCode(error) == CFIndex(errSecParam) && CFErrorGetDomain(error) as String == NSOSStatusErrorDomain
                && CFErrorCopyUserInfo(error) != nil && CFErrorCopyDescription(error) != nil
                && kCFBooleanTrue! == true && kCFBooleanFalse as Any is NSNumber && CFDataGetLength(data) == 1
                && CFDictionaryGetCount(dictionary) == 1 && SecCopyErrorMessageString(errSecParam, nil) as String? != nil
        },
        Idiom("AnyHashable of a constant and of its text") { _ in
            let keys: Set<AnyHashable> = [kSecAttrAccount, kSecAttrAccount as String]
            enum Kind: RawRepresentable {
                case password
                init?(rawValue: CFString) { if rawValue == kSecClassGenericPassword { self = .password } else { return nil } }
                var rawValue: CFString { kSecClassGenericPassword }
            }
            switch kSecClassGenericPassword {
            case kSecClassInternetPassword: return false
            default: return keys.count == 1 && Kind(rawValue: "genp" as CFString) == .password
            }
        },
        Idiom("dictionaries of every kind, coerced in place") { service in
            let any: [String: Any] = [kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service]
            let object: [String: AnyObject] = [kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service as AnyObject]
            let hashable: [AnyHashable: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: service]
            let strings: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: service]
            let references: [CFString: CFTypeRef] = [kSecClass: kSecClassGenericPassword, kSecAttrService: service as CFString]
            let equal: [String: AnyHashable] = [String(kSecClass): kSecClassGenericPassword as String, "\(kSecAttrService)": service]
            let mutable = NSMutableDictionary(dictionary: any)
            mutable[kSecAttrAccount as String] = Optional("me") as Any
            let all: [CFDictionary] = [
                any as CFDictionary, object as CFDictionary, hashable as CFDictionary, strings as CFDictionary,
                references as CFDictionary, equal as CFDictionary, NSDictionary(dictionary: any),
            ]
            guard SecItemAdd(mutable, nil) == errSecSuccess else { return false }
            return all.allSatisfy { SecItemCopyMatching($0, nil) == errSecSuccess }
        },
        Idiom("keys by every function") { _ in
            let attributes = [kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeySizeInBits: 2048] as CFDictionary
            var error: Unmanaged<CFError>?
            guard let key = SecKeyCreateRandomKey(attributes, &error), let publicKey = SecKeyCopyPublicKey(key) else { return false }
            var (first, second): (SecKey?, SecKey?)
            let curve = [kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256] as CFDictionary
            guard SecKeyGeneratePair(curve, &first, &second) == errSecSuccess, let own = second, let other = first else { return false }
            let message = Data("message".utf8) as CFData
            guard SecKeyIsAlgorithmSupported(publicKey, SecKeyOperationType.encrypt, SecKeyAlgorithm.rsaEncryptionOAEPSHA256),
                let sealed = SecKeyCreateEncryptedData(publicKey, .rsaEncryptionOAEPSHA256, message, &error),
                SecKeyCreateDecryptedData(key, .rsaEncryptionOAEPSHA256, sealed, &error) == message
            else { return false }
            let parameters = [
                SecKeyKeyExchangeParameter.requestedSize.rawValue as String: 32,
                SecKeyKeyExchangeParameter.sharedInfo.rawValue as String: Data([1]),
            ] as [String: Any]
            let secret = SecKeyCopyKeyExchangeResult(
                own, .ecdhKeyExchangeStandardX963SHA256, other, parameters as CFDictionary, &error) as Data?
            guard let bytes = SecKeyCopyExternalRepresentation(key, &error) as Data?,
                let again = SecKeyCreateWithData(bytes as CFData, SecKeyCopyAttributes(key)!, &error)
            else { return false }
            var digest = [UInt8](repeating: 1, count: 32)
            guard SecRandomCopyBytes(kSecRandomDefault, digest.count, &digest) == errSecSuccess else { return false }
            var signature = [UInt8](repeating: 0, count: SecKeyGetBlockSize(key))
            var count = signature.count
            return SecKeyRawSign(key, .PKCS1SHA256, digest, digest.count, &signature, &count) == errSecSuccess
                && SecKeyRawVerify(publicKey, SecPadding.PKCS1SHA256, digest, digest.count, signature, count) == errSecSuccess
                && secret?.count == 32 && again == key && CFGetTypeID(again) == SecKeyGetTypeID()
        },
        Idiom("certificates, trust and PKCS#12 by every function") { _ in
            guard let certificate = SecCertificateCreateWithData(kCFAllocatorDefault, portedCertificate as CFData) else { return false }
            var name: CFString?
            var addresses: CFArray?
            guard SecCertificateCopyCommonName(certificate, &name) == errSecSuccess, name as String? == "ported.example",
                SecCertificateCopyEmailAddresses(certificate, &addresses) == errSecSuccess,
                SecCertificateCopyKey(certificate) != nil, SecCertificateCopySerialNumberData(certificate, nil) != nil,
                SecCertificateCopyNormalizedIssuerSequence(certificate) == SecCertificateCopyNormalizedSubjectSequence(certificate)
            else { return false }
            var optional: SecTrust?
            let policies = [SecPolicyCreateBasicX509(), SecPolicyCreateSSL(true, nil)] as CFArray
            guard SecTrustCreateWithCertificates(certificate, policies, &optional) == errSecSuccess, let trust = optional else { return false }
            SecTrustSetAnchorCertificates(trust, [certificate] as CFArray)
            SecTrustSetAnchorCertificatesOnly(trust, true)
            SecTrustSetNetworkFetchAllowed(trust, false)
            var error: CFError?
            var result = SecTrustResultType.invalid
            guard SecTrustEvaluateWithError(trust, &error), SecTrustGetTrustResult(trust, &result) == errSecSuccess,
                result == .unspecified || result == .proceed, SecTrustGetCertificateCount(trust) == 1,
                (SecTrustCopyCertificateChain(trust) as? [SecCertificate])?.first == certificate, SecTrustCopyKey(trust) != nil,
                SecTrustCopyExceptions(trust) != nil
            else { return false }
            let done = DispatchSemaphore(value: 0)
            SecTrustEvaluateAsyncWithError(trust, DispatchQueue.global()) { _, _, _ in done.signal() }
            done.wait()
            var items: CFArray?
            let options = [kSecImportExportPassphrase as String: "wrong"] as NSDictionary
            let garbage = SecPKCS12Import(Data([1, 2, 3]) as CFData, options, &items)
            var exported: CFData?
            guard SecItemExport(certificate, .formatX509Cert, .pemArmour, nil, &exported) == errSecSuccess, let pem = exported else { return false }
            var format = SecExternalFormat.formatUnknown, kind = SecExternalItemType.itemTypeUnknown
            return garbage == errSecDecode && SecItemImport(pem, nil, &format, &kind, [], nil, nil, &items) == errSecSuccess
                && format == .formatX509Cert && kind == .itemTypeCertificate && (items as? [SecCertificate])?.count == 1
        },
        Idiom("identities and access control") { _ in
            guard let certificate = SecCertificateCreateWithData(nil, portedCertificate as CFData) else { return false }
            var identity: SecIdentity?
            var (half, key): (SecCertificate?, SecKey?)
            if let identity { SecIdentityCopyCertificate(identity, &half) }
            if let identity { SecIdentityCopyPrivateKey(identity, &key) }
            let flags: SecAccessControlCreateFlags = [.biometryAny, .or, .devicePasscode, .privateKeyUsage]
            return SecIdentityCreateWithCertificate(nil, certificate, &identity) == errSecItemNotFound && half == nil && key == nil
                && SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, flags, nil) != nil
                && SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, [.userPresence, .watch], nil) == nil
        },
    ]
}

import COpenSSL
import Foundation
import KeyfobPrimitives

/// What lies in the parts of the file: bags of keys and certificates.
extension PKCS12File {
    /// - Parameter name: Of the part, for an error.
    func open(
        _ part: UnsafeMutablePointer<PKCS7>, _ name: String, _ forms: [SecretBytes?], allowLegacy: Bool
    ) throws {
        let isEncrypted = unsafe OBJ_obj2nid(part.pointee.type) == NID_pkcs7_encrypted
        let owner: OwnedPointer
        if isEncrypted {
            let algorithm = unsafe part.pointee.d.encrypted?.pointee.enc_data.pointee.algorithm
            owner = try unsafe opened(name, PasswordEncryption(algorithm), forms) { secret, count in
                unsafe PKCS12_unpack_p7encdata(part, secret, count).map { unsafe Self.owner(ofBags: $0) }
            }
        } else {
            owner = unsafe Self.owner(ofBags: try check("PKCS12_unpack_p7data", PKCS12_unpack_p7data(part)))
        }
        try unsafe owner.withPointer {
            try unsafe open(bags: $0, forms, allowLegacy: allowLegacy, isCounted: !isEncrypted, depth: 0)
        }
    }

    /// What the first form of the passphrase that fits a part makes of it.
    ///
    /// The parts of a file need not agree: of one passphrase, its maker may have given each a form of its own.
    ///
    /// - Throws: `PKCS12Error` with code `unsupported`, for the MAC, or another part, has shown the passphrase right.
    private func opened<Result>(
        _ name: String, _ encryption: PasswordEncryption?, _ forms: [SecretBytes?],
        _ open: (UnsafePointer<CChar>?, Int32) -> Result?
    ) throws(PKCS12Error) -> Result {
        var first: OpenSSLError?
        for form in forms {
            if let result = unsafe Self.withPassphrase(form, open) {
                ERR_clear_error()
                return result
            }
            let cause = OpenSSLError(draining: "PKCS12_pbe_crypt_ex")
            if cause.isUnknownAlgorithm {
                throw PKCS12Error(.unsupported, "\(name) is encrypted with an unknown algorithm", cause: cause)
            }
            first = first ?? cause
        }
        let description = encryption.map { ", encrypted with \($0.name)," } ?? ""
        throw PKCS12Error(
            .unsupported,
            "the passphrase is right, but \(name)\(description) cannot be read with it: it may have a passphrase of "
                + "its own, or be damaged",
            cause: first)
    }

    /// - Parameter isCounted: Whether `sealedParts` has seen the keys.
    private func open(
        bags: OpaquePointer, _ forms: [SecretBytes?], allowLegacy: Bool, isCounted: Bool, depth: Int
    ) throws {
        for index in 0..<max(0, unsafe OPENSSL_sk_num(bags)) {
            let bag = unsafe OpaquePointer(OPENSSL_sk_value(bags, index))
            switch unsafe PKCS12_SAFEBAG_get_nid(bag) {
            case NID_keyBag:
                try unsafe append(key: PKCS12_SAFEBAG_get0_p8inf(bag), bag)
            case NID_pkcs8ShroudedKeyBag:
                try unsafe openKey(bag, forms, allowLegacy: allowLegacy, isCounted: isCounted && depth == 0)
            case NID_certBag where unsafe PKCS12_SAFEBAG_get_bag_nid(bag) == NID_x509Certificate:
                let certificate = try unsafe check("PKCS12_SAFEBAG_get1_cert", PKCS12_SAFEBAG_get1_cert(bag))
                defer { unsafe X509_free(certificate) }
                let der = try unsafe encoded("i2d_X509") { unsafe i2d_X509(certificate, $0) }
                let result = try Certificate(der: der)
                try result.validate()
                content.certificates.append(PKCS12.Contents.CertificateEntry(
                    certificate: result, friendlyName: unsafe Self.friendlyName(bag),
                    localKeyID: unsafe Self.localKeyID(bag)))
            case NID_safeContentsBag:
                guard depth < 8, let inner = unsafe PKCS12_SAFEBAG_get0_safes(bag) else {
                    throw PKCS12Error(.damaged, "its parts are nested too deeply")
                }
                try unsafe open(
                    bags: inner, forms, allowLegacy: allowLegacy, isCounted: isCounted, depth: depth + 1)
            default:
                // Revocation lists, secrets of Java and certificates of other kinds are not ours to judge.
                continue
            }
        }
    }

    private func openKey(
        _ bag: OpaquePointer?, _ forms: [SecretBytes?], allowLegacy: Bool, isCounted: Bool
    ) throws {
        var algorithm: UnsafePointer<X509_ALGOR>?
        unsafe X509_SIG_get0(PKCS12_SAFEBAG_get0_pkcs8(bag), &algorithm, nil)
        unsafe PasswordEncryption.correctCipher(of: algorithm)
        guard let encryption = unsafe PasswordEncryption(algorithm) else {
            throw PKCS12Error(.damaged, "the encryption of a key is not described")
        }
        if encryption.isLegacy, !allowLegacy { throw Self.legacy(encryption) }
        if !isCounted { try count(encryption.iterations) }
        let name = unsafe Self.friendlyName(bag).map { "the private key \"\($0)\"" } ?? "a private key"
        let information: OwnedPointer
        do {
            information = try unsafe opened(name, encryption, forms) { secret, count in
                guard let der = unsafe PrivateKey.decrypt(PKCS12_SAFEBAG_get0_pkcs8(bag), secret, count, library) else {
                    return nil
                }
                return unsafe (PrivateKey.firstVersion(of: der) ?? der).withUnsafeBytes { bytes in
                    unsafe decoded(bytes, release: { unsafe PKCS8_PRIV_KEY_INFO_free($0) }) {
                        unsafe d2i_PKCS8_PRIV_KEY_INFO(nil, $0, $1)
                    }
                }
            }
        } catch {
            // A key of a Java keystore may have a passphrase of its own.
            content.unreadableKeys.append(error)
            return
        }
        try unsafe information.withPointer { try unsafe append(key: $0, bag) }
    }

    private func append(key information: OpaquePointer?, _ bag: OpaquePointer?) throws {
        guard let key = unsafe EVP_PKCS82PKEY(information) else {
            let cause = OpenSSLError(draining: "EVP_PKCS82PKEY")
            let der = try unsafe encodedSecret("i2d_PKCS8_PRIV_KEY_INFO") {
                unsafe i2d_PKCS8_PRIV_KEY_INFO(information, $0)
            }
            content.unreadableKeys.append(
                PrivateKey.hasExplicitCurve(der)
                    ? PKCS12Error(wrapping: KeyFileError.explicitCurve)
                    : PKCS12Error(.unsupported, "a key is of a kind that OpenSSL cannot read", cause: cause))
            return
        }
        ERR_clear_error()
        let handle = unsafe OwnedPointer(adopting: key) { unsafe EVP_PKEY_free($0) }
        let result: PrivateKey
        do {
            result = try PrivateKey(handle: handle)
        } catch let error as KeyFileError where error.code == .unsupported {
            content.unreadableKeys.append(PKCS12Error(wrapping: error))
            return
        }
        if !isAuthentic { try result.checkNumbers() }
        content.keys.append(PKCS12.Contents.KeyEntry(
            key: result, friendlyName: unsafe Self.friendlyName(bag),
            localKeyID: unsafe Self.localKeyID(bag)))
    }

    /// The name that the maker gave. Decoded here: of OpenSSL 3.0 PKCS12_get_friendlyname(3) has none where the last
    /// letter is above U+07FF.
    private static func friendlyName(_ bag: OpaquePointer?) -> String? {
        guard let value = unsafe PKCS12_SAFEBAG_get0_attr(bag, NID_friendlyName),
            unsafe value.pointee.type == V_ASN1_BMPSTRING, let text = unsafe value.pointee.value.bmpstring,
            let bytes = unsafe ASN1_STRING_get0_data(text)
        else { return nil }
        let octets = unsafe UnsafeBufferPointer(start: bytes, count: Int(ASN1_STRING_length(text)))
        guard octets.count.isMultiple(of: 2) else { return nil }
        var units = stride(from: 0, to: octets.count, by: 2).map { index in
            unsafe UInt16(octets[index]) << 8 | UInt16(octets[index + 1])
        }
        // Some makers write the terminator of C, too, and some an empty name where they have none.
        if units.last == 0 { units.removeLast() }
        guard !units.contains(0), let name = String(validating: units, as: UTF16.self) else { return nil }
        return name.isBlank ? nil : name
    }

    private static func localKeyID(_ bag: OpaquePointer?) -> Data? {
        guard let value = unsafe PKCS12_SAFEBAG_get0_attr(bag, NID_localKeyID),
            unsafe value.pointee.type == V_ASN1_OCTET_STRING, let octets = unsafe value.pointee.value.octet_string,
            let bytes = unsafe ASN1_STRING_get0_data(octets)
        else { return nil }
        return unsafe Data(bytes: bytes, count: Int(ASN1_STRING_length(octets)))
    }
}

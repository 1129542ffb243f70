import COpenSSL
import Foundation
import KeyfobPrimitives

/// One parsed PFX while it is read. Used by one thread.
@safe final class PKCS12File {
    private let pointer: OpaquePointer
    private let library: OpaquePointer?
    private var content = PKCS12.Contents()
    /// Whether the MAC vouches for every byte.
    private var isAuthentic = false
    /// How many iterations the parts seen so far ask for, each of them once.
    private var iterations = 0

    /// Parses `der`; algorithms come from `library`, which outlives the file.
    @unsafe init(der: Data, library: OpaquePointer?) throws {
        // PKCS12_init_ex is how a library context gets into a parsed file.
        var parsed = try unsafe Optional(check("PKCS12_init_ex", PKCS12_init_ex(NID_pkcs7_data, library, nil)))
        let result = unsafe der.withUnsafeBytes { bytes in
            var position = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return unsafe d2i_PKCS12(&parsed, &position, bytes.count)
        }
        guard let result = unsafe result else {
            throw PKCS12Error(.damaged, "its encoding is broken", cause: OpenSSLError(draining: "d2i_PKCS12"))
        }
        unsafe pointer = result
        unsafe self.library = library
    }

    deinit { unsafe PKCS12_free(pointer) }

    /// Checks and opens everything.
    func contents(passphrase: SecretBytes?, allowLegacy: Bool, ignoringIntegrity: Bool) throws -> PKCS12.Contents {
        do {
            return try opened(passphrase, allowLegacy: allowLegacy, ignoringIntegrity: ignoringIntegrity)
        } catch {
            let error = PKCS12Error(wrapping: error)
            guard isAuthentic, error.code == .damaged else { throw error }
            // It is as it was made: no other copy of it is better.
            throw PKCS12Error(.unsupported, error.detail, cause: error.cause)
        }
    }

    private func opened(
        _ passphrase: SecretBytes?, allowLegacy: Bool, ignoringIntegrity: Bool
    ) throws -> PKCS12.Contents {
        guard let safes = unsafe PKCS12_unpack_authsafes(pointer) else {
            let cause = OpenSSLError(draining: "PKCS12_unpack_authsafes")
            throw cause.has(library: ERR_LIB_PKCS12, reason: PKCS12_R_CONTENT_TYPE_NOT_DATA)
                ? PKCS12Error(.unsupported, "it has a signature in place of an integrity check", cause: cause)
                : PKCS12Error(.damaged, "it has no contents", cause: cause)
        }
        defer { unsafe OPENSSL_sk_pop_free(safes) { unsafe PKCS7_free($0?.assumingMemoryBound(to: PKCS7.self)) } }
        let sealed = try unsafe sealedParts(safes)
        for part in sealed {
            if part.encryption.isLegacy, !allowLegacy { throw Self.legacy(part.encryption) }
            try count(part.encryption.iterations)
        }
        // No passphrase and an empty one are two different inputs to the old derivation.
        let forms: [SecretBytes?] =
            passphrase.map { $0.isEmpty ? [nil, $0] : [$0] + [Self.lettersOfBytes($0)].compactMap(\.self) }
            ?? [nil, SecretBytes([])]
        let form = try choose(forms, sealed: sealed, ignoringIntegrity: ignoringIntegrity)
        for index in 0..<max(0, unsafe OPENSSL_sk_num(safes)) {
            let part = unsafe OPENSSL_sk_value(safes, index).assumingMemoryBound(to: PKCS7.self)
            try unsafe open(part, form, allowLegacy: allowLegacy)
        }
        content.isIntegrityChecked = isAuthentic
        return content
    }

    /// The form of the passphrase that the MAC, or where there is none the content, agrees with.
    private func choose(_ forms: [SecretBytes?], sealed: [SealedPart], ignoringIntegrity: Bool) throws -> SecretBytes? {
        // HMAC fills a short key with zeroes: with some at its end, a passphrase would be right for a part of the file.
        let forms = forms.filter { form in unsafe form?.withUnsafeBytes { unsafe $0.contains(0) } != true }
        let hasMAC = unsafe PKCS12_mac_present(pointer) == 1
        if hasMAC {
            var count: UnsafePointer<ASN1_INTEGER>?
            unsafe PKCS12_get0_mac(nil, nil, nil, &count, pointer)
            try self.count(unsafe count == nil ? 1 : ASN1_INTEGER_get(count))
            let modern = try unsafe PBMAC1(ofPFX: [UInt8](encoded("i2d_PKCS12") { unsafe i2d_PKCS12(pointer, $0) }))
            for form in forms {
                let isRight = try modern?.isRight(form)
                    ?? (unsafe Self.withPassphrase(form) { unsafe PKCS12_verify_mac(pointer, $0, $1) } == 1)
                let failure = OpenSSLError(draining: "PKCS12_verify_mac")
                if isRight {
                    isAuthentic = true
                    return form
                }
                if failure.isUnknownAlgorithm {
                    throw PKCS12Error(.unsupported, "its integrity check uses an unknown algorithm", cause: failure)
                }
            }
        }
        let opening = forms.first { form in sealed.contains { opens($0, form) } }
        if let opening {
            guard hasMAC, !ignoringIntegrity else { return opening }
            throw PKCS12Error(.integrityCheckFailed, "the passphrase opens it, but its integrity check fails")
        }
        guard sealed.isEmpty, !hasMAC || ignoringIntegrity else {
            throw PKCS12Error(.wrongPassphrase, "the passphrase opens no part of it")
        }
        return forms.first ?? nil
    }

    /// Something encrypted that can be seen without the passphrase. The pointers live as long as the unpacked safes.
    @safe private struct SealedPart {
        let algorithm: UnsafePointer<X509_ALGOR>
        let octets: UnsafePointer<ASN1_OCTET_STRING>
        let encryption: PasswordEncryption
        /// Owns the bags that `algorithm` points into, for keys in an unencrypted safe.
        let owner: OwnedPointer?
    }

    private func sealedParts(_ safes: OpaquePointer) throws -> [SealedPart] {
        var parts: [SealedPart] = []
        for index in 0..<max(0, unsafe OPENSSL_sk_num(safes)) {
            let part = unsafe OPENSSL_sk_value(safes, index).assumingMemoryBound(to: PKCS7.self)
            switch unsafe OBJ_obj2nid(part.pointee.type) {
            case NID_pkcs7_encrypted:
                guard let information = unsafe part.pointee.d.encrypted?.pointee.enc_data,
                    let octets = unsafe information.pointee.enc_data
                else { throw PKCS12Error(.damaged, "an encrypted part is empty") }
                unsafe try append(information.pointee.algorithm, octets, nil, to: &parts)
            case NID_pkcs7_data:
                guard let bags = unsafe PKCS12_unpack_p7data(part) else {
                    let cause = OpenSSLError(draining: "PKCS12_unpack_p7data")
                    throw PKCS12Error(.damaged, "a part is broken", cause: cause)
                }
                let owner = unsafe Self.owner(ofBags: bags)
                for index in 0..<max(0, unsafe OPENSSL_sk_num(bags)) {
                    let bag = unsafe OpaquePointer(OPENSSL_sk_value(bags, index))
                    guard unsafe PKCS12_SAFEBAG_get_nid(bag) == NID_pkcs8ShroudedKeyBag else { continue }
                    var algorithm: UnsafePointer<X509_ALGOR>?
                    var octets: UnsafePointer<ASN1_OCTET_STRING>?
                    unsafe X509_SIG_get0(PKCS12_SAFEBAG_get0_pkcs8(bag), &algorithm, &octets)
                    unsafe try append(algorithm, octets, owner, to: &parts)
                }
            default:
                throw PKCS12Error(.unsupported, "a part is encrypted to a certificate or of an unknown kind")
            }
        }
        return parts
    }

    private func append(
        _ algorithm: UnsafePointer<X509_ALGOR>?, _ octets: UnsafePointer<ASN1_OCTET_STRING>?, _ owner: OwnedPointer?,
        to parts: inout [SealedPart]
    ) throws {
        guard let algorithm = unsafe algorithm, let octets = unsafe octets,
            let encryption = unsafe PasswordEncryption(algorithm)
        else { throw PKCS12Error(.damaged, "the encryption of a part is not described") }
        parts.append(unsafe SealedPart(algorithm: algorithm, octets: octets, encryption: encryption, owner: owner))
    }

    /// Whether decryption gives DER of just the right length: padding alone fits one wrong passphrase in 256.
    private func opens(_ part: SealedPart, _ form: SecretBytes?) -> Bool {
        var output: UnsafeMutablePointer<UInt8>?
        var count: Int32 = 0
        unsafe Self.withPassphrase(form) { secret, length in
            unsafe output = PKCS12_pbe_crypt_ex(
                part.algorithm, secret, length, ASN1_STRING_get0_data(part.octets), ASN1_STRING_length(part.octets),
                nil, &count, 0, library, nil)
        }
        ERR_clear_error()
        guard let output = unsafe output else { return false }
        defer { unsafe CRYPTO_clear_free(output, Int(count), nil, 0) }
        let start = unsafe UnsafeBufferPointer(start: output, count: min(8, Int(count)))
        guard let header = unsafe DERHeader(start) else { return false }
        return header.tag == DERTag.sequence && header.total == Int(count)
    }

    private func open(_ part: UnsafeMutablePointer<PKCS7>, _ form: SecretBytes?, allowLegacy: Bool) throws {
        let isEncrypted = unsafe OBJ_obj2nid(part.pointee.type) == NID_pkcs7_encrypted
        let bags = unsafe Self.withPassphrase(form) { secret, count in
            isEncrypted ? unsafe PKCS12_unpack_p7encdata(part, secret, count) : unsafe PKCS12_unpack_p7data(part)
        }
        guard let bags = unsafe bags else { throw Self.failure("PKCS12_unpack_p7encdata") }
        let owner = unsafe Self.owner(ofBags: bags)
        try unsafe owner.withPointer {
            try unsafe open(bags: $0, form, allowLegacy: allowLegacy, isCounted: !isEncrypted, depth: 0)
        }
    }

    /// - Parameter isCounted: Whether `sealedParts` has seen the keys.
    private func open(
        bags: OpaquePointer, _ form: SecretBytes?, allowLegacy: Bool, isCounted: Bool, depth: Int
    ) throws {
        for index in 0..<max(0, unsafe OPENSSL_sk_num(bags)) {
            let bag = unsafe OpaquePointer(OPENSSL_sk_value(bags, index))
            switch unsafe PKCS12_SAFEBAG_get_nid(bag) {
            case NID_keyBag:
                try unsafe append(key: PKCS12_SAFEBAG_get0_p8inf(bag), bag)
            case NID_pkcs8ShroudedKeyBag:
                try unsafe openKey(bag, form, allowLegacy: allowLegacy, isCounted: isCounted && depth == 0)
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
                    bags: inner, form, allowLegacy: allowLegacy, isCounted: isCounted, depth: depth + 1)
            default:
                // Revocation lists, secrets of Java and certificates of other kinds are not ours to judge.
                continue
            }
        }
    }

    private func openKey(
        _ bag: OpaquePointer?, _ form: SecretBytes?, allowLegacy: Bool, isCounted: Bool
    ) throws {
        var algorithm: UnsafePointer<X509_ALGOR>?
        unsafe X509_SIG_get0(PKCS12_SAFEBAG_get0_pkcs8(bag), &algorithm, nil)
        guard let encryption = unsafe PasswordEncryption(algorithm) else {
            throw PKCS12Error(.damaged, "the encryption of a key is not described")
        }
        if encryption.isLegacy, !allowLegacy { throw Self.legacy(encryption) }
        if !isCounted { try count(encryption.iterations) }
        let der = unsafe Self.withPassphrase(form) { secret, count in
            unsafe PrivateKey.decrypt(PKCS12_SAFEBAG_get0_pkcs8(bag), secret, count, library)
        }
        guard let der else { throw Self.failure("PKCS12_pbe_crypt_ex") }
        let information = unsafe (PrivateKey.firstVersion(of: der) ?? der).withUnsafeBytes { bytes in
            unsafe decoded(bytes, release: { unsafe PKCS8_PRIV_KEY_INFO_free($0) }) {
                unsafe d2i_PKCS8_PRIV_KEY_INFO(nil, $0, $1)
            }
        }
        guard let information else { throw Self.failure("d2i_PKCS8_PRIV_KEY_INFO") }
        try unsafe information.withPointer { try unsafe append(key: $0, bag) }
    }

    private func append(key information: OpaquePointer?, _ bag: OpaquePointer?) throws {
        guard let key = unsafe EVP_PKCS82PKEY(information) else {
            let cause = OpenSSLError(draining: "EVP_PKCS82PKEY")
            content.unreadableKeys.append(
                PKCS12Error(.unsupported, "a key is of a kind that OpenSSL cannot read", cause: cause))
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
        guard !units.isEmpty, !units.contains(0) else { return nil }
        return String(validating: units, as: UTF16.self)
    }

    private static func localKeyID(_ bag: OpaquePointer?) -> Data? {
        guard let value = unsafe PKCS12_SAFEBAG_get0_attr(bag, NID_localKeyID),
            unsafe value.pointee.type == V_ASN1_OCTET_STRING, let octets = unsafe value.pointee.value.octet_string,
            let bytes = unsafe ASN1_STRING_get0_data(octets)
        else { return nil }
        return unsafe Data(bytes: bytes, count: Int(ASN1_STRING_length(octets)))
    }

    private static func owner(ofBags bags: OpaquePointer) -> OwnedPointer {
        unsafe OwnedPointer(adopting: bags) { bags in
            unsafe OPENSSL_sk_pop_free(bags) { unsafe PKCS12_SAFEBAG_free(OpaquePointer($0)) }
        }
    }

    private static func withPassphrase<Result>(
        _ form: SecretBytes?, _ body: (UnsafePointer<CChar>?, Int32) -> Result
    ) -> Result {
        guard let form else { return body(nil, 0) }
        var nothing: CChar = 0
        return unsafe withUnsafePointer(to: &nothing) { empty in
            unsafe form.withUnsafeBytes { bytes in
                let base = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
                return unsafe body(bytes.isEmpty ? empty : base, Int32(bytes.count))
            }
        }
    }

    /// A passphrase each of whose bytes was taken for a letter of Latin-1, as OpenSSL did before 1.1.0; `nil` where
    /// that is the same.
    private static func lettersOfBytes(_ passphrase: SecretBytes) -> SecretBytes? {
        unsafe passphrase.withUnsafeBytes { bytes in
            let further = unsafe bytes.count { $0 >= 0x80 }
            guard further > 0 else { return nil }
            return unsafe SecretBytes(count: bytes.count + further) { target in
                var position = 0
                for index in bytes.indices {
                    let byte = unsafe bytes[index]
                    if byte >= 0x80 {
                        unsafe target[position] = 0xC0 | byte >> 6
                        position += 1
                    }
                    unsafe target[position] = byte < 0x80 ? byte : 0x80 | byte & 0x3F
                    position += 1
                }
            }
        }
    }

    private static func legacy(_ encryption: PasswordEncryption) -> PKCS12Error {
        PKCS12Error(.legacyEncryption, "it uses \(encryption.name)", algorithm: encryption.name)
    }

    /// Takes note of a derivation that the file asks for.
    ///
    /// - Throws: `unsupported` for more than is sane: by one, or by all together, as many keys of a small file can.
    private func count(_ count: Int) throws(PKCS12Error) {
        guard (0...PasswordEncryption.maximumIterations).contains(count) else {
            throw PKCS12Error(.unsupported, "it asks for \(count) iterations")
        }
        iterations += count
        // The integrity check, the certificates and a key at their most.
        guard iterations <= 3 * PasswordEncryption.maximumIterations else {
            throw PKCS12Error(.unsupported, "its parts ask for more than \(iterations - count) iterations together")
        }
    }

    /// The MAC was right or there is none, and yet a part does not open.
    private static func failure(_ function: StaticString) -> PKCS12Error {
        let cause = OpenSSLError(draining: function)
        if cause.isUnknownAlgorithm {
            return PKCS12Error(.unsupported, "a part is encrypted with an unknown algorithm", cause: cause)
        }
        let isDecryption = cause.has(library: ERR_LIB_PKCS12, reason: PKCS12_R_PKCS12_CIPHERFINAL_ERROR)
        return PKCS12Error(
            isDecryption ? .wrongPassphrase : .damaged, "a part does not open with the passphrase", cause: cause)
    }
}

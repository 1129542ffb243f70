import COpenSSL
import Foundation
import KeyfobPrimitives

/// Which form of the passphrase is the file's.
extension PKCS12File {
    /// The forms that makers may have given a passphrase, the usual one first; none for one that cannot be right.
    ///
    /// None and an empty one are two different inputs to the derivation of PKCS#12. That derivation takes letters, and
    /// PBES2 takes bytes: NSS 3.21 gave it UTF-16, and programs that are not run with UTF-8 give it Latin-1.
    static func forms(of passphrase: SecretBytes?) -> [SecretBytes?] {
        guard let passphrase else { return [nil, SecretBytes([])] }
        guard !passphrase.isEmpty else { return [nil, passphrase] }
        // HMAC fills a short key with zeros: with some at its end, a wrong passphrase would pass for the right one.
        guard unsafe !passphrase.withUnsafeBytes({ unsafe $0.contains(0) }) else { return [] }
        let others = [
            passphrase.lettersOfBytes, passphrase.latin1, passphrase.utf16BigEndian(isTerminated: true),
            passphrase.utf16BigEndian(isTerminated: false),
        ]
        return [passphrase] + others.compactMap(\.self)
    }

    /// All forms, the one first that the MAC, or where there is none the content, agrees with.
    func order(
        _ forms: [SecretBytes?], sealed: [SealedPart], ignoringIntegrity: Bool
    ) throws -> [SecretBytes?] {
        let right = try choose(forms, sealed: sealed, ignoringIntegrity: ignoringIntegrity)
        return [right.map { forms[$0] } ?? nil] + forms.indices.filter { $0 != right }.map { forms[$0] }
    }

    /// The place of the form that the MAC, or where there is none the content, agrees with; `nil` where neither is
    /// there.
    private func choose(_ forms: [SecretBytes?], sealed: [SealedPart], ignoringIntegrity: Bool) throws -> Int? {
        let hasMAC = unsafe PKCS12_mac_present(pointer) == 1
        if hasMAC {
            var count: UnsafePointer<ASN1_INTEGER>?
            unsafe PKCS12_get0_mac(nil, nil, nil, &count, pointer)
            try self.count(unsafe count == nil ? 1 : ASN1_INTEGER_get(count))
            let modern = try unsafe PBMAC1(ofPFX: [UInt8](encoded("i2d_PKCS12") { unsafe i2d_PKCS12(pointer, $0) }))
            for (place, form) in forms.enumerated() {
                let isRight = try modern?.isRight(form)
                    ?? (unsafe Self.withPassphrase(form) { unsafe PKCS12_verify_mac(pointer, $0, $1) } == 1)
                let failure = OpenSSLError(draining: "PKCS12_verify_mac")
                if isRight {
                    isAuthentic = true
                    return place
                }
                if failure.isUnknownAlgorithm {
                    throw PKCS12Error(.unsupported, "its integrity check uses an unknown algorithm", cause: failure)
                }
            }
        }
        let opening = forms.firstIndex { form in sealed.contains { opens($0, form) } }
        if let opening {
            guard hasMAC, !ignoringIntegrity else { return opening }
            throw PKCS12Error(.integrityCheckFailed, "the passphrase opens it, but its integrity check fails")
        }
        guard sealed.isEmpty, !hasMAC || ignoringIntegrity else {
            throw PKCS12Error(.wrongPassphrase, "the passphrase opens no part of it")
        }
        return nil
    }

    /// Something encrypted that can be seen without the passphrase. The pointers live as long as the unpacked safes.
    @safe struct SealedPart {
        let algorithm: UnsafePointer<X509_ALGOR>
        let octets: UnsafePointer<ASN1_OCTET_STRING>
        let encryption: PasswordEncryption
        /// Owns the bags that `algorithm` points into, for keys in an unencrypted safe.
        let owner: OwnedPointer?
    }

    func sealedParts(_ safes: OpaquePointer) throws -> [SealedPart] {
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
        unsafe PasswordEncryption.correctCipher(of: algorithm)
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

    static func withPassphrase<Result>(
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
}

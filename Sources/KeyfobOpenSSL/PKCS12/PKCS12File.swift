import COpenSSL
import Foundation
import KeyfobPrimitives

/// One parsed PFX while it is read. Used by one thread.
@safe final class PKCS12File {
    let pointer: OpaquePointer
    let library: OpaquePointer?
    var content = PKCS12.Contents()
    /// Whether the MAC vouches for every byte.
    var isAuthentic = false
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
        let forms = try order(Self.forms(of: passphrase), sealed: sealed, ignoringIntegrity: ignoringIntegrity)
        let count = max(0, unsafe OPENSSL_sk_num(safes))
        for index in 0..<count {
            let part = unsafe OPENSSL_sk_value(safes, index).assumingMemoryBound(to: PKCS7.self)
            try unsafe open(part, "part \(index + 1) of \(count)", forms, allowLegacy: allowLegacy)
        }
        content.isIntegrityChecked = isAuthentic
        return content
    }

    static func owner(ofBags bags: OpaquePointer) -> OwnedPointer {
        unsafe OwnedPointer(adopting: bags) { bags in
            unsafe OPENSSL_sk_pop_free(bags) { unsafe PKCS12_SAFEBAG_free(OpaquePointer($0)) }
        }
    }

    static func legacy(_ encryption: PasswordEncryption) -> PKCS12Error {
        PKCS12Error(.legacyEncryption, "it uses \(encryption.name)", algorithm: encryption.name)
    }

    /// Takes note of a derivation that the file asks for.
    ///
    /// - Throws: `unsupported` for more than is sane: by one, or by all together, as many keys of a small file can.
    func count(_ count: Int) throws(PKCS12Error) {
        guard (0...PasswordEncryption.maximumIterations).contains(count) else {
            throw PKCS12Error(.unsupported, "it asks for \(count) iterations")
        }
        iterations += count
        // The integrity check, the certificates and a key at their most.
        guard iterations <= 3 * PasswordEncryption.maximumIterations else {
            throw PKCS12Error(.unsupported, "its parts ask for more than \(iterations - count) iterations together")
        }
    }
}

import COpenSSL
public import Foundation

extension CertificateChain {
    /// Verifies `leaf` up to one of `anchors` (X509_verify_cert(3), RFC 5280 6.1), without revocation, without network.
    ///
    /// An anchor need not be self-signed: what is given as an anchor is trusted, and a leaf that is one needs nothing
    /// above it, whatever came along. Intermediates and anchors that libcrypto cannot read are passed over. Signatures
    /// with MD5 or SHA-1 and RSA keys below 2048 bits are not accepted, and of a host the alternative names alone tell.
    /// Of several issuers of one name those count that signed, in whatever order they are given.
    ///
    /// - Parameters:
    ///   - acceptsAnyUsage: Whether a leaf for any usage (RFC 5280 4.2.1.12) is one for TLS and S/MIME, as Apple has
    ///     it; OpenSSL and the programs that use it want the usage itself.
    ///   - undated: Certificates that are accepted before and after their validity too. Of all others it counts, and
    ///     where several issuers fit, one that is valid is still preferred.
    /// - Throws: `OpenSSLError` when libcrypto itself fails or cannot read the leaf; a chain that is not
    ///   accepted is a result, not an error.
    public static func verify(
        leaf: Certificate, intermediates: [Certificate], anchors: [Certificate], on date: Date = Date(),
        host: String? = nil, purpose: Purpose = .any, acceptsAnyUsage: Bool = false,
        undated: Set<Certificate> = []
    ) throws -> VerificationResult {
        let isForAny = acceptsAnyUsage && [.tlsServer, .tlsClient, .email].contains(purpose)
            && leaf.extendedKeyUsage.contains(.any)
        if purpose == .codeSigning && !allowsCodeSigning(leaf) || isForAny && !keyIs(of: leaf, for: purpose) {
            return .rejected(Failure(code: .wrongPurpose, depth: 0, certificate: leaf))
        }
        // libcrypto takes an empty name for "any name", and one with a dot in front for any name below it.
        let name = host.map(Certificate.asciiName(ofHost:))
        if let name, name.isEmpty || name.hasPrefix(".") || name.utf8.contains(0) {
            return .rejected(Failure(code: .hostMismatch, depth: 0, certificate: leaf))
        }
        let store = try unsafe check("X509_STORE_new", X509_STORE_new())
        defer { unsafe X509_STORE_free(store) }
        // libcrypto walks up all that there is before it looks whether the leaf is believed by itself.
        let isAnchor = anchors.contains(leaf)
        let trusted = isAnchor ? [leaf] : anchors
        let further = isAnchor ? [] : intermediates
        for anchor in trusted.compactMap(\.usableHandle) {
            try unsafe anchor.withPointer {
                try check("X509_STORE_add_cert", unsafe X509_STORE_add_cert(store, $0))
            }
        }
        let untrusted = try unsafe check("OPENSSL_sk_new_null", OPENSSL_sk_new_null())
        // The stack borrows: the certificates, which hold their handles, outlive it.
        defer { unsafe OPENSSL_sk_free(untrusted) }
        for intermediate in further.compactMap(\.usableHandle) {
            try unsafe intermediate.withPointer {
                try check("OPENSSL_sk_push", unsafe OPENSSL_sk_push(untrusted, UnsafeRawPointer($0)))
            }
        }
        let choice = IssuerChoice(leaf: leaf, intermediates: further, anchors: trusted, on: date, undated: undated)
        unsafe X509_STORE_set_check_issued(store) { verification, subject, issuer in
            guard let given = unsafe X509_STORE_CTX_get_ex_data(verification, 0) else {
                return unsafe IssuerChoice.fits(issuer, above: subject) ? 1 : 0
            }
            let choice = unsafe Unmanaged<IssuerChoice>.fromOpaque(given).takeUnretainedValue()
            return unsafe choice.allows(issuer, above: subject) ? 1 : 0
        }
        let verification = try unsafe check("X509_STORE_CTX_new", X509_STORE_CTX_new())
        defer { unsafe X509_STORE_CTX_free(verification) }
        return try unsafe leaf.handle.withPointer { certificate in
            try check("X509_STORE_CTX_init", unsafe X509_STORE_CTX_init(verification, store, certificate, untrusted))
            let parameters = unsafe X509_STORE_CTX_get0_param(verification)
            unsafe X509_VERIFY_PARAM_set_time(parameters, seconds(date))
            // 112 bits: no signature with MD5 or SHA-1 below the anchor, no RSA key of less than 2048 bits.
            unsafe X509_VERIFY_PARAM_set_auth_level(parameters, 2)
            try check("X509_VERIFY_PARAM_set_flags", unsafe X509_VERIFY_PARAM_set_flags(
                parameters, UInt(X509_V_FLAG_PARTIAL_CHAIN) | UInt(X509_V_FLAG_TRUSTED_FIRST)))
            if purpose != .any, purpose != .codeSigning, !isForAny {
                try check("X509_VERIFY_PARAM_set_purpose", unsafe X509_VERIFY_PARAM_set_purpose(
                    parameters, purpose.rawValue))
            }
            if let name { try unsafe expect(name, parameters) }
            let isTrusted = try unsafe verify(verification, choice)
            ERR_clear_error()
            guard isTrusted else { return unsafe .rejected(failure(verification)) }
            let found = try unsafe chain(verification)
            if let depth = authority(in: found, notFor: purpose, isForAny: isForAny) {
                return .rejected(Failure(code: .wrongPurpose, depth: depth, certificate: found[depth]))
            }
            return .trusted(found)
        }
    }

    /// Runs the verification, in which `choice` tells the issuers; what it has as undated passes at any date.
    ///
    /// X509_V_FLAG_NO_CHECK_TIME would have the dates of all others pass too.
    private static func verify(_ verification: OpaquePointer?, _ choice: IssuerChoice) throws -> Bool {
        try withExtendedLifetime(choice) {
            // Place 0 is the application's (X509_STORE_CTX_set_app_data).
            try check("X509_STORE_CTX_set_ex_data", unsafe X509_STORE_CTX_set_ex_data(
                verification, 0, Unmanaged.passUnretained(choice).toOpaque()))
            guard !choice.undated.isEmpty else { return unsafe X509_verify_cert(verification) == 1 }
            unsafe X509_STORE_CTX_set_verify_cb(verification) { isFine, verification in
                let code = FailureCode(rawValue: unsafe X509_STORE_CTX_get_error(verification))
                guard isFine == 0, code == .expired || code == .notYetValid,
                    let given = unsafe X509_STORE_CTX_get_ex_data(verification, 0),
                    let certificate = unsafe CertificateChain.copy(X509_STORE_CTX_get_current_cert(verification))
                else { return isFine }
                let undated = unsafe Unmanaged<IssuerChoice>.fromOpaque(given).takeUnretainedValue().undated
                return undated.contains(certificate) ? 1 : 0
            }
            return unsafe X509_verify_cert(verification) == 1
        }
    }

    /// Seconds since 1970, within the years 1 to 9999: a moment that no certificate can name is before or after all
    /// that it can.
    private static func seconds(_ date: Date) -> Int {
        let (first, last) = (-62_135_596_800.0, 253_402_300_799.0)
        let seconds = date.timeIntervalSince1970
        // What is no number is not above anything.
        return seconds > first ? Int(min(seconds, last)) : Int(first)
    }

    /// The place of the first authority below the anchor whose usages leave out the purpose.
    ///
    /// Of the purposes that libcrypto looks at above the leaf, as those of TLS and S/MIME are, it has judged itself,
    /// unless the leaf is one for any usage.
    private static func authority(in chain: [Certificate], notFor purpose: Purpose, isForAny: Bool) -> Int? {
        let usage: ExtendedKeyUsage
        switch purpose {
        case .codeSigning: usage = .codeSigning
        case .timeStamping: usage = .timeStamping
        case .tlsServer where isForAny: usage = .serverAuth
        case .tlsClient where isForAny: usage = .clientAuth
        case .email where isForAny: usage = .emailProtection
        default: return nil
        }
        return chain.indices.dropFirst().dropLast().first { index in
            let allowed = chain[index].extendedKeyUsage
            return !allowed.isEmpty && !allowed.contains(usage) && !allowed.contains(.any)
        }
    }

    /// Whether the key of a leaf may do what one of TLS or S/MIME does; one that says nothing may.
    private static func keyIs(of leaf: Certificate, for purpose: Purpose) -> Bool {
        guard let usage = leaf.keyUsage else { return true }
        let fitting: KeyUsage = switch purpose {
        case .tlsServer: [.digitalSignature, .keyEncipherment, .keyAgreement]
        case .tlsClient: [.digitalSignature, .keyAgreement]
        default: [.digitalSignature, .contentCommitment, .keyEncipherment]
        }
        return !usage.isDisjoint(with: fitting)
    }

    private static func allowsCodeSigning(_ leaf: Certificate) -> Bool {
        leaf.extendedKeyUsage.contains(.codeSigning) && leaf.keyUsage.map { $0.contains(.digitalSignature) } ?? true
    }

    private static func expect(_ name: String, _ parameters: OpaquePointer?) throws(OpenSSLError) {
        if unsafe X509_VERIFY_PARAM_set1_ip_asc(parameters, name) == 1 { return }
        ERR_clear_error()
        unsafe X509_VERIFY_PARAM_set_hostflags(parameters, Certificate.hostFlags)
        try check("X509_VERIFY_PARAM_set1_host", unsafe X509_VERIFY_PARAM_set1_host(parameters, name, name.utf8.count))
    }

    private static func failure(_ verification: OpaquePointer) -> Failure {
        let code = FailureCode(rawValue: unsafe X509_STORE_CTX_get_error(verification))
        let depth = Int(unsafe X509_STORE_CTX_get_error_depth(verification))
        let current = unsafe X509_STORE_CTX_get_current_cert(verification)
        return Failure(code: code, depth: depth, certificate: unsafe copy(current))
    }

    private static func chain(_ verification: OpaquePointer) throws -> [Certificate] {
        let stack = unsafe X509_STORE_CTX_get0_chain(verification)
        let count = unsafe OPENSSL_sk_num(stack)
        return try (0..<max(0, count)).map { index in
            let certificate = unsafe OpaquePointer(OPENSSL_sk_value(stack, index))
            return try Certificate(der: unsafe encoded("i2d_X509") { unsafe i2d_X509(certificate, $0) })
        }
    }

    /// A certificate that was parsed before parses again; should it not, the failure stands without it.
    private static func copy(_ certificate: OpaquePointer?) -> Certificate? {
        guard let certificate = unsafe certificate else { return nil }
        do {
            return try Certificate(der: unsafe encoded("i2d_X509") { unsafe i2d_X509(certificate, $0) })
        } catch {
            return nil
        }
    }
}

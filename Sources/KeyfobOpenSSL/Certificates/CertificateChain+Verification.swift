import COpenSSL
public import Foundation

extension CertificateChain {
    /// Verifies `leaf` up to one of `anchors` (X509_verify_cert(3), RFC 5280 section 6.1), without revocation checks
    /// and network access.
    ///
    /// Every anchor is trusted and need not be self-signed. A leaf that is an anchor needs no issuer. Intermediates and
    /// anchors that libcrypto cannot read are ignored. Signatures with MD5 or SHA-1 and RSA keys below 2048 bits are
    /// rejected. Only the alternative names are compared with a host. Among several issuers with the same name, those
    /// whose keys made the signature are used; the order in which they are given does not matter.
    ///
    /// - Parameters:
    ///   - acceptsAnyUsage: Whether a leaf for any usage (RFC 5280 section 4.2.1.12) is accepted for TLS and S/MIME, as
    ///     Apple does. OpenSSL and programs that use it require the specific usage.
    ///   - undated: Certificates that are accepted outside their validity period. A valid issuer is still preferred to
    ///     them.
    /// - Throws: `OpenSSLError` if libcrypto fails or cannot read the leaf. A rejected chain is a result, not an error.
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
        // libcrypto treats an empty name as any name, and a name with a leading dot as any name below it.
        let name = host.map(Certificate.asciiName(ofHost:))
        if let name, name.isEmpty || name.hasPrefix(".") || name.utf8.contains(0) {
            return .rejected(Failure(code: .hostMismatch, depth: 0, certificate: leaf))
        }
        let store = try unsafe check("X509_STORE_new", X509_STORE_new())
        defer { unsafe X509_STORE_free(store) }
        // libcrypto builds the whole chain before it checks whether the leaf itself is trusted.
        let isAnchor = anchors.contains(leaf)
        let trusted = isAnchor ? [leaf] : anchors
        let further = isAnchor ? [] : intermediates
        for anchor in trusted.compactMap(\.usableHandle) {
            try unsafe anchor.withPointer {
                try check("X509_STORE_add_cert", unsafe X509_STORE_add_cert(store, $0))
            }
        }
        let untrusted = try unsafe check("OPENSSL_sk_new_null", OPENSSL_sk_new_null())
        // The stack does not own the certificates; `further` keeps them alive.
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
            // Level 2 is 112 bits: below the anchor, no signature with MD5 or SHA-1 and no RSA key below 2048 bits.
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

    /// Runs the verification with `choice` to select issuers. Its undated certificates pass at any date.
    ///
    /// X509_V_FLAG_NO_CHECK_TIME would ignore the dates of all other certificates too.
    private static func verify(_ verification: OpaquePointer?, _ choice: IssuerChoice) throws -> Bool {
        try withExtendedLifetime(choice) {
            // Index 0 is reserved for the application (X509_STORE_CTX_set_app_data).
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

    /// Returns the seconds since 1970, clamped to the years 1 to 9999, which no date in a certificate exceeds.
    private static func seconds(_ date: Date) -> Int {
        let (first, last) = (-62_135_596_800.0, 253_402_300_799.0)
        let seconds = date.timeIntervalSince1970
        // NaN compares as not greater.
        return seconds > first ? Int(min(seconds, last)) : Int(first)
    }

    /// Returns the index of the first authority below the anchor whose extended key usages exclude the purpose.
    ///
    /// libcrypto itself checks the authorities for TLS and S/MIME, unless the leaf is for any usage.
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

    /// Whether the key usages of a leaf allow TLS or S/MIME; a leaf without the extension is allowed.
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

    /// Returns a copy of a certificate; `nil` if parsing it again fails, so that the failure is reported without it.
    private static func copy(_ certificate: OpaquePointer?) -> Certificate? {
        guard let certificate = unsafe certificate else { return nil }
        do {
            return try Certificate(der: unsafe encoded("i2d_X509") { unsafe i2d_X509(certificate, $0) })
        } catch {
            return nil
        }
    }
}

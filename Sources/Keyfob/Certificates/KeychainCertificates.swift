public import KeyfobOpenSSL

/// The certificates of a keychain, and chains built from them.
public struct KeychainCertificates: Sendable {
    package let keychain: Keychain
}

extension Keychain {
    /// The certificates: verification, chains and issuers.
    public var certificates: KeychainCertificates { KeychainCertificates(keychain: self) }
}

extension KeychainCertificates {
    /// Adds several certificates to the token in one step, all or none.
    ///
    /// - Throws: `KeychainError`; `duplicateItem` if the token has one of them, `tokenContractViolation`, `tokenFull`,
    ///   and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func add(contentsOf certificates: [CertificateItem]) throws -> [CertificateItem] {
        try keychain.withDeadline { [self] in
            guard !certificates.isEmpty else { return [] }
            return try keychain.tokenItems.addCertificates(certificates.map(\.item)).map { CertificateItem(item: $0) }
        }
    }

    /// The certificates that the token shows without a login, in no particular order.
    ///
    /// If the vault's index is current, the token is not opened, so that a thousand certificates cost one database
    /// read. Attributes that only the vault has (comments, dates) are missing, and so are certificates that need a
    /// login: ``find(_:)`` has both.
    ///
    /// - Parameter label: Return only certificates with this label; no others are parsed.
    /// - Throws: `KeychainError` if the vault, or the token if it is needed, cannot be read.
    @available(*, noasync, message: "use the asynchronous form")
    public func publicCertificates(label: String? = nil) throws -> [CertificateItem] {
        try keychain.withDeadline { [self] in
            let label = label.map { AttributeValue.string($0) }
            return try keychain.tokenItems.items(.certificate, keychain.tokenItems.publicObjects(), nil) { object in
                label.map { object.nameWithoutRow?.matches($0) ?? false } ?? true
            }.map { CertificateItem(item: $0) }
        }
    }

    /// The chain of a certificate as far as the keychain's certificates reach, leaf first.
    ///
    /// - Throws: `KeychainError` if the token or the vault cannot be read.
    @available(*, noasync, message: "use the asynchronous form")
    public func chain(of certificate: Certificate) throws -> CertificateChain {
        try chain(of: certificate, with: [])
    }
}

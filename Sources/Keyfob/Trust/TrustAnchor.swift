import Foundation
public import KeyfobOpenSSL

/// A certificate that the user has decided to trust.
///
/// The certificate is an ordinary object on the token. The decision is an attribute of its row in the vault, sealed and
/// authenticated, so a program that can only write to the token cannot add trust. The decision is lost with the vault.
/// `CKA_TRUSTED` of PKCS#11 is not used: only a security officer may set it, and other programs give it other meanings.
public struct TrustAnchor: Sendable {
    /// The certificate as an item of the keychain.
    public let item: CertificateItem
    /// The certificate.
    public let certificate: Certificate
    /// The usages it is trusted for; `any` stands for all.
    public let usages: [CertificateUsage]

    /// Whether it is trusted for a usage. For the usage `any`, every anchor is.
    public func isTrusted(for usage: CertificateUsage) -> Bool {
        usage == .any || usages.contains(.any) || usages.contains(usage)
    }

    /// Fails for an item that is not trusted, or that is not a certificate.
    init?(_ item: Item) {
        guard let text = item.attributes[.trustedUsages]?.text, !text.isEmpty else { return nil }
        // Data that is not a certificate cannot be an anchor.
        guard let certificate = try? item.certificate else { return nil }
        self.item = CertificateItem(item: item)
        self.certificate = certificate
        usages = text.split(separator: " ").map { CertificateUsage(rawValue: String($0)) }
    }

    /// The value of the attribute; no usages mean any usage.
    static func text(_ usages: [CertificateUsage]) -> String {
        let words = Set(usages.map(\.rawValue))
        return words.isEmpty || words.contains(CertificateUsage.any.rawValue)
            ? CertificateUsage.any.rawValue : words.sorted().joined(separator: " ")
    }
}

/// The certificates that the keychain trusts.
extension KeychainTrust {
    /// The certificates that the keychain trusts, in the order in which they were added.
    ///
    /// Blocks. No token operation is needed if the vault's index is current, but the keychain must be unlocked, because
    /// trust is sealed in the vault.
    ///
    /// - Parameter usage: Return only anchors trusted for this usage.
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of reading the token or the vault.
    @available(*, noasync, message: "use the asynchronous form")
    public func anchors(for usage: CertificateUsage = .any) throws -> [TrustAnchor] {
        try keychain.withDeadline { [self] in
            _ = try keychain.vaultKeys()
            return try keychain.findItems(Criteria(.certificate)).compactMap { TrustAnchor($0) }.filter {
                $0.isTrusted(for: usage)
            }
        }
    }

    /// The certificates that the keychain trusts if it is unlocked or can be without asking the user; otherwise none.
    ///
    /// - Throws: `KeychainError`; the errors of unlocking, and of reading the token or the vault.
    @available(*, noasync, message: "call it from a thread of your own")
    package func anchorsIfUnlocked(for usage: CertificateUsage) throws -> [TrustAnchor] {
        guard try keychain.keysIfUnlocked() != nil else { return [] }
        return try anchors(for: usage)
    }

    /// Trusts a certificate; adds it to the token if it is not there.
    ///
    /// A trusted certificate is an anchor, whether self-signed or not: chains may end there. Its previous usages are
    /// replaced.
    ///
    /// - Parameters:
    ///   - usages: The usages; empty for all.
    ///   - label: The name of a certificate that is added; `nil` for its default name.
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of adding a certificate.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func add(
        _ certificate: Certificate, for usages: [CertificateUsage] = [], label: String? = nil
    ) throws -> TrustAnchor {
        try keychain.withDeadline { [self] in
            try trust(certificate, label: label) { _ in usages }.anchor
        }
    }

    /// Trusts a certificate for further usages. Existing usages stay, including those that another process has just
    /// added.
    ///
    /// - Parameter usages: The usages; empty for all.
    /// - Returns: The anchor, and its previous usages.
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of adding a certificate.
    package func addAnchor(
        _ certificate: Certificate, for usages: [CertificateUsage], label: String? = nil
    ) throws -> (anchor: TrustAnchor, before: [CertificateUsage]) {
        try trust(certificate, label: label) { before in
            usages.isEmpty || before.contains(.any) ? [] : before + usages
        }
    }

    /// Trusts a certificate for the usages that `usages` makes of the previous ones; empty for all.
    private func trust(
        _ certificate: Certificate, label: String?, for usages: ([CertificateUsage]) -> [CertificateUsage]
    ) throws -> (anchor: TrustAnchor, before: [CertificateUsage]) {
        // Unlock first: the certificate may be visible only after a login.
        let keys = try keychain.vaultKeys()
        if try storedItems(of: certificate).isEmpty {
            var item = CertificateItem(certificate, label: label)
            item.attributes[.trustedUsages] = .string(TrustAnchor.text(usages([])))
            do {
                try keychain.add(item)
                if let anchor = try storedItems(of: certificate).lazy.compactMap({ TrustAnchor($0) }).first {
                    return (anchor, [])
                }
            } catch let error as KeychainError where error.code == .duplicateItem {
                // Another process was faster, unless another certificate has the primary key.
                guard try !storedItems(of: certificate).isEmpty else { throw error }
            }
        }
        var (items, before): ([Item], [CertificateUsage]) = ([], [])
        try keychain.writer(keys).changeRows { _ in
            items = try storedItems(of: certificate)
        } commit: { writer in
            // A certificate that several access groups see is several items. Only one of them stores the trust.
            let told = items.first { $0.attributes[.trustedUsages] != nil } ?? items.first
            before = told.flatMap { TrustAnchor($0) }?.usages ?? []
            let text = AttributeValue.string(TrustAnchor.text(usages(before)))
            for item in items {
                let value = item.reference == told?.reference ? text : nil
                guard let object = item.object, item.attributes[.trustedUsages] != value else { continue }
                try keychain.identities.record(item, object, writer, keys) { $0[.trustedUsages] = value }
            }
        }
        guard let anchor = try storedItems(of: certificate).lazy.compactMap({ TrustAnchor($0) }).first else {
            throw KeychainError(.itemNotFound, "the certificate was removed meanwhile.")
        }
        return (anchor, before)
    }

    /// Stops trusting a certificate, which stays in the keychain.
    ///
    /// - Returns: Whether it was trusted before.
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of writing the vault.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func remove(_ certificate: Certificate) throws -> Bool {
        try keychain.withDeadline { [self] in
            _ = try keychain.vaultKeys()
            let trusted = try storedItems(of: certificate).filter { $0.attributes[.trustedUsages] != nil }
            for reference in trusted.compactMap(\.reference) {
                try keychain.update(Criteria(reference), [:], removing: [.trustedUsages])
            }
            return !trusted.isEmpty
        }
    }

    /// The keychain's items of a certificate.
    func storedItems(of certificate: Certificate) throws -> [Item] {
        try keychain.findItems(Criteria(.certificate, [.publicKeyHash: .data(certificate.publicKey.identifier)]))
            .filter { $0.certificateDER == certificate.der }
    }

    /// The certificates that the keychain trusts.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func anchors(for usage: CertificateUsage = .any) async throws -> [TrustAnchor] {
        try await keychain.run { try self.anchors(for: usage) }
    }

    /// Trusts a certificate; adds it to the token if it is not there.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    @discardableResult
    public func add(
        _ certificate: Certificate, for usages: [CertificateUsage] = [], label: String? = nil
    ) async throws -> TrustAnchor {
        try await keychain.run { try self.add(certificate, for: usages, label: label) }
    }

    /// Stops trusting a certificate, which stays in the keychain.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    @discardableResult
    public func remove(_ certificate: Certificate) async throws -> Bool {
        try await keychain.run { try self.remove(certificate) }
    }
}

import Foundation
public import OpenSSL

/// A certificate that the keychain's owner has decided to trust.
///
/// The certificate is an ordinary object on the token. The decision is an attribute of its row in the vault: sealed
/// and authenticated, so that no program that merely writes to the token can make anybody trust anything, and gone
/// together with the vault. PKCS#11's own mark, `CKA_TRUSTED`, only a security officer may set, and other programs
/// give it other meanings.
public struct TrustAnchor: Sendable {
    /// The certificate as an item of the keychain.
    public let item: CertificateItem
    /// The certificate.
    public let certificate: Certificate
    /// What it is trusted for; `any` stands for everything.
    public let usages: [CertificateUsage]

    /// Whether it is trusted for a usage. Whoever asks for any usage is content with every anchor.
    public func isTrusted(for usage: CertificateUsage) -> Bool {
        usage == .any || usages.contains(.any) || usages.contains(usage)
    }

    /// `nil` for an item that nobody has decided to trust, or that is no certificate.
    init?(_ item: Item) {
        guard let text = item.attributes[.trustedUsages]?.text, !text.isEmpty else { return nil }
        // What is no certificate can be nobody's anchor.
        guard let certificate = try? item.certificate else { return nil }
        self.item = CertificateItem(item: item)
        self.certificate = certificate
        usages = text.split(separator: " ").map { CertificateUsage(rawValue: String($0)) }
    }

    /// The value of the attribute; nothing given means any usage.
    static func text(_ usages: [CertificateUsage]) -> String {
        let words = Set(usages.map(\.rawValue))
        return words.isEmpty || words.contains(CertificateUsage.any.rawValue)
            ? CertificateUsage.any.rawValue : words.sorted().joined(separator: " ")
    }
}

/// Whom the keychain trusts.
extension Keychain {
    /// The certificates that the keychain trusts, in the order in which they were added.
    ///
    /// Blocks. Needs no token operation where the vault's index is still true, but an unlocked keychain: trust is
    /// sealed in the vault.
    ///
    /// - Parameter usage: Only those trusted for this usage.
    /// - Throws: `KeychainError`; the errors of `unlock()`, and where the token or the vault cannot be read.
    @available(*, noasync, message: "use the asynchronous form")
    public func trustAnchors(for usage: CertificateUsage = .any) throws -> [TrustAnchor] {
        _ = try keys()
        return try findItems(Criteria(.certificate)).compactMap { TrustAnchor($0) }.filter { $0.isTrusted(for: usage) }
    }

    /// The certificates that the keychain trusts, where it is open or opens without asking anybody; else none.
    ///
    /// - Throws: As `trustAnchors(for:)`.
    @available(*, noasync, message: "call it from a thread of your own")
    package func trustAnchorsIfUnlocked(for usage: CertificateUsage) throws -> [TrustAnchor] {
        guard try keysIfUnlocked() != nil else { return [] }
        return try trustAnchors(for: usage)
    }

    /// Trusts a certificate, which is added to the token unless it is there.
    ///
    /// What is trusted is an anchor, whether it signed itself or not: chains may end there. What it was trusted for
    /// before is replaced.
    ///
    /// - Parameters:
    ///   - usages: What for; nothing means everything.
    ///   - label: The name of a certificate that is added; without one, its summary.
    /// - Throws: `KeychainError`; the errors of `unlock()`, and as for adding a certificate.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func trust(
        _ certificate: Certificate, for usages: [CertificateUsage] = [], label: String? = nil
    ) throws -> TrustAnchor {
        _ = try keys()
        let value = AttributeValue.string(TrustAnchor.text(usages))
        let known = try storedItems(of: certificate)
        // One that several access groups have is several items, and any of them makes an anchor: said is one thing.
        let told = known.first { $0.attributes[.trustedUsages] != nil } ?? known.first
        if let reference = told?.reference {
            try update(Criteria(reference), [.trustedUsages: value])
            for item in known where item.reference != reference { try removeTrust(in: item) }
        } else {
            var item = CertificateItem(certificate, label: label)
            item.attributes[.trustedUsages] = value
            try add(item)
        }
        guard let anchor = try storedItems(of: certificate).lazy.compactMap({ TrustAnchor($0) }).first else {
            throw KeychainError(.failed, "the certificate was stored and cannot be found again.")
        }
        return anchor
    }

    /// Trusts a certificate for further usages. What it is trusted for stays, also what another process has just added.
    ///
    /// - Parameter usages: What for; nothing means everything.
    /// - Returns: The anchor, and what it was trusted for before.
    /// - Throws: As `trust(_:for:label:)`.
    package func addTrust(
        _ certificate: Certificate, for usages: [CertificateUsage], label: String? = nil
    ) throws -> (anchor: TrustAnchor, before: [CertificateUsage]) {
        // First: a certificate may be one that only a login shows.
        let keys = try keys()
        let known = try storedItems(of: certificate)
        if known.isEmpty {
            var item = CertificateItem(certificate, label: label)
            item.attributes[.trustedUsages] = .string(TrustAnchor.text(usages))
            do {
                try add(item)
                if let anchor = try storedItems(of: certificate).lazy.compactMap({ TrustAnchor($0) }).first {
                    return (anchor, [])
                }
            } catch let error as KeychainError where error.code == .duplicateItem {
                // Another process was faster; unless the label is what is taken.
                guard try !storedItems(of: certificate).isEmpty else { throw error }
            }
        }
        func all(_ before: [CertificateUsage]) -> [CertificateUsage] {
            usages.isEmpty || before.contains(.any) ? [] : before + usages
        }
        guard known.allSatisfy({ $0.object != nil }) else {
            // One that lies in the vault alone.
            let before = known.lazy.compactMap { TrustAnchor($0) }.first?.usages ?? []
            return (try trust(certificate, for: all(before)), before)
        }
        var (items, before): ([Item], [CertificateUsage]) = ([], [])
        try writer(keys).perform(.change) { _ in
            items = try storedItems(of: certificate)
            return []
        } change: { _, _, _ in
            TokenWriter.Outcome()
        } commit: { writer, _ in
            let told = items.first { $0.attributes[.trustedUsages] != nil } ?? items.first
            before = told.flatMap { TrustAnchor($0) }?.usages ?? []
            let text = AttributeValue.string(TrustAnchor.text(all(before)))
            for item in items {
                let value = item.reference == told?.reference ? text : nil
                guard let object = item.object, item.attributes[.trustedUsages] != value else { continue }
                try record(item, object, writer, keys) { $0[.trustedUsages] = value }
            }
        }
        guard let anchor = try storedItems(of: certificate).lazy.compactMap({ TrustAnchor($0) }).first else {
            throw KeychainError(.itemNotFound, "the certificate was removed meanwhile.")
        }
        return (anchor, before)
    }

    /// No longer trusts a certificate; it stays in the keychain.
    ///
    /// - Returns: Whether it was trusted before.
    /// - Throws: `KeychainError`; the errors of `unlock()`, and where the vault cannot be written.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func distrust(_ certificate: Certificate) throws -> Bool {
        _ = try keys()
        let trusted = try storedItems(of: certificate).filter { $0.attributes[.trustedUsages] != nil }
        for item in trusted { try removeTrust(in: item) }
        return !trusted.isEmpty
    }

    private func removeTrust(in item: Item) throws {
        guard item.attributes[.trustedUsages] != nil, let reference = item.reference else { return }
        try update(Criteria(reference), [:], removing: [.trustedUsages])
    }

    /// The keychain's items of a certificate.
    func storedItems(of certificate: Certificate) throws -> [Item] {
        try findItems(Criteria(.certificate, [.publicKeyHash: .data(certificate.publicKey.identifier)]))
            .filter { $0.certificateDER == certificate.der }
    }

    /// The certificates that the keychain trusts. - Throws: As the blocking form.
    public func trustAnchors(for usage: CertificateUsage = .any) async throws -> [TrustAnchor] {
        try await run { try self.trustAnchors(for: usage) }
    }

    /// Trusts a certificate. - Throws: As the blocking form.
    @discardableResult
    public func trust(
        _ certificate: Certificate, for usages: [CertificateUsage] = [], label: String? = nil
    ) async throws -> TrustAnchor {
        try await run { try self.trust(certificate, for: usages, label: label) }
    }

    /// No longer trusts a certificate. - Throws: As the blocking form.
    @discardableResult
    public func distrust(_ certificate: Certificate) async throws -> Bool {
        try await run { try self.distrust(certificate) }
    }
}

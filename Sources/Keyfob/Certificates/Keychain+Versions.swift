public import Foundation
import KeyfobPrimitives
import OpenSSL

/// The versions of an identity, and which identity is used for what.
extension Keychain {
    /// All versions of a name: the one in use first, then the others, the one that expires last first.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and where the token cannot be read.
    @available(*, noasync, message: "use the asynchronous form")
    public func versions(of name: String) throws -> [Identity] {
        let all = try find(.identities).map { ($0, try $0.certificate().notAfter) }
        let current = all.filter { $0.0.label == name }
        let older = all.filter { $0.0.nameOfVersion == name }.sorted { $0.1 > $1.1 }
        return (current + older).map(\.0)
    }

    /// Puts an older version of an identity back into use; the one that bears the name now becomes an older one.
    ///
    /// - Returns: What was done; unchanged for a version that is in use.
    /// - Throws: `KeychainError`; as `installIdentity`.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func use(_ version: Identity) throws -> IdentityInstallation {
        guard let label = version.label, let key = version.item.object else {
            throw KeychainError(.invalidArgument, "the identity was not found in a keychain, or has no name.")
        }
        return try install(
            version.nameOfVersion ?? label, key: key, certificate: version.certificate(), chain: [], policy: nil)
    }

    /// Destroys an older version of an identity: its certificate, and its key unless another certificate needs it.
    ///
    /// - Throws: `KeychainError`; `refused` for the version in use, and as `delete`.
    @available(*, noasync, message: "use the asynchronous form")
    public func retire(_ version: Identity) throws {
        guard version.nameOfVersion != nil else {
            throw KeychainError(
                .refused, "identity \"\(version.label ?? "")\" is in use; only older versions are retired.",
                hint: "To destroy it: keyfob identity rm \(version.label ?? "NAME")",
                details: ["name": version.label ?? ""])
        }
        try delete(version)
    }

    /// Prefers an identity for a service: a URL, the beginning of one, or a host. No other is preferred for it then.
    ///
    /// - Throws: `KeychainError`; `invalidArgument` for a service that is empty or has a line break, and as `update`.
    @available(*, noasync, message: "use the asynchronous form")
    public func prefer(_ identity: Identity, for service: String) throws {
        let wanted = PreferredService(service)
        guard !wanted.text.isEmpty, !wanted.text.contains(where: \.isNewline), let reference = identity.reference else {
            throw KeychainError(.invalidArgument, "a service is a URL or a host, on one line.")
        }
        // First the new one: for a moment two are preferred, never none.
        let own = identity.preferredServices.filter { $0 != wanted.text } + [wanted.text]
        try update(Criteria(reference), [.preferredServices: .string(own.joined(separator: "\n"))])
        for other in try find(.identities) where other.preferredServices.contains(wanted.text) {
            guard other.der != identity.der, let reference = other.reference else { continue }
            let rest = other.preferredServices.filter { $0 != wanted.text }.joined(separator: "\n")
            try update(Criteria(reference), [.preferredServices: .string(rest)])
        }
    }

    /// The identity that is preferred for a service, by the closest preference; `nil` where none is.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and where the token cannot be read.
    @available(*, noasync, message: "use the asynchronous form")
    public func preferredIdentity(for service: String) throws -> Identity? {
        let ranked = try find(.identities).flatMap { identity in
            identity.preferredServices.compactMap { text in
                PreferredService(text).rank(for: service).map { (rank: $0, identity: identity) }
            }
        }
        return ranked.max { $0.rank < $1.rank }?.identity
    }

    /// All versions of a name. - Throws: As the blocking form.
    public func versions(of name: String) async throws -> [Identity] { try await run { try self.versions(of: name) } }

    /// Puts an older version of an identity back into use. - Throws: As the blocking form.
    @discardableResult
    public func use(_ version: Identity) async throws -> IdentityInstallation { try await run { try self.use(version) } }

    /// Destroys an older version of an identity. - Throws: As the blocking form.
    public func retire(_ version: Identity) async throws { try await run { try self.retire(version) } }

    /// The identity that is preferred for a service. - Throws: As the blocking form.
    public func preferredIdentity(for service: String) async throws -> Identity? {
        try await run { try self.preferredIdentity(for: service) }
    }
}

extension Identity {
    /// The services for which the identity is preferred.
    public var preferredServices: [String] {
        attributes[.preferredServices]?.text?.split(separator: "\n").map(String.init) ?? []
    }

    /// Which part of the certificate's lifetime has passed: 0 at its beginning, 1 at its end.
    ///
    /// - Throws: `KeyFileError` where the object on the token holds something that is not a certificate.
    public func lifetimeUsed(on date: Date = Date()) throws -> Double {
        let certificate = try certificate()
        let lifetime = certificate.notAfter.timeIntervalSince(certificate.notBefore)
        return lifetime > 0 ? date.timeIntervalSince(certificate.notBefore) / lifetime : 1
    }
}

/// A service for which an identity is preferred.
private struct PreferredService {
    /// Scheme and host in lower case, as they are compared.
    let text: String

    init(_ text: String) {
        guard let end = text.firstRange(of: "://")?.upperBound else {
            self.text = text.lowercased()
            return
        }
        let host = text[end...].prefix { $0 != "/" }
        self.text = text[..<host.endIndex].lowercased() + text[host.endIndex...]
    }

    /// How close the preference is to a service: more where more of it is the same; `nil` where it is for another.
    func rank(for service: String) -> Int? {
        let wanted = PreferredService(service).text
        if wanted == text { return .max }
        if wanted.hasPrefix(text), text.hasSuffix("/") || wanted.dropFirst(text.count).first == "/" { return text.count }
        guard !text.contains("/"), let start = wanted.firstRange(of: "://")?.upperBound else { return nil }
        return wanted[start...].prefix { $0 != "/" && $0 != ":" } == text ? 0 : nil
    }
}

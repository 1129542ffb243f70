import KeyfobOpenSSL

/// A part in which an identity differs from a specification.
public struct IdentityDifference: Sendable, Hashable {
    /// The part, such as `names`. The words are stable.
    public let part: String
    /// The value of the identity.
    public let current: String
    /// The value of the specification.
    public let wanted: String
}

extension KeychainIdentities {
    /// Compares an identity with the specification of one that would be created under its name.
    ///
    /// - Parameters:
    ///   - identity: The identity.
    ///   - specification: The specification. A lifetime and a subject that it leaves open are not compared.
    ///   - issuer: The issuer that would create it. The subject is not compared if another module issues, because such
    ///     an issuer chooses it.
    /// - Returns: The differences; empty if there is none.
    /// - Throws: `KeyFileError` if the object on the token is not a certificate.
    public func differences(
        of identity: Identity, from specification: IdentitySpecification, issuer: IssuerDescription
    ) throws -> [IdentityDifference] {
        let certificate = try identity.certificate()
        let (policy, extensions) = (identity.renewalPolicy, specification.extensions)
        var found: [IdentityDifference] = []
        func compare(_ part: String, _ current: String, _ wanted: String) {
            if current != wanted { found.append(IdentityDifference(part: part, current: current, wanted: wanted)) }
        }
        func listed(_ values: [some CustomStringConvertible]) -> String {
            values.isEmpty ? "none" : Set(values.map(\.description)).sorted().joined(separator: ", ")
        }
        var isOpen = specification.subject.isEmpty
        if case .external = issuer { isOpen = true }
        if !isOpen { compare("subject", certificate.subject.description, specification.subject.description) }
        compare("names", listed(certificate.subjectAlternativeNames), listed(extensions.subjectAlternativeNames))
        compare("usages", listed(certificate.extendedKeyUsage), listed(extensions.extendedKeyUsage))
        let constraints = extensions.basicConstraints
        compare(
            "authority", Self.authority(certificate.isCA, certificate.pathLength),
            Self.authority(constraints?.isAuthority ?? false, constraints?.pathLength))
        compare("key", certificate.publicKey.algorithm.description, specification.key.description)
        if policy?.issuer != issuer {
            // The texts may be equal, for example of two commands with the same program.
            found.append(
                IdentityDifference(
                    part: "issuer", current: policy?.issuer.description ?? "none", wanted: issuer.description))
        }
        if let lifetime = specification.lifetime {
            compare("lifetime", policy?.lifetime.map(Self.days) ?? "none", Self.days(lifetime))
        }
        return found
    }

    private static func authority(_ isAuthority: Bool, _ pathLength: Int?) -> String {
        guard isAuthority else { return "no" }
        return "yes" + (pathLength.map { ", with at most \($0) below it" } ?? "")
    }

    private static func days(_ seconds: Double) -> String { Plural.duration(seconds: seconds) }
}

import Foundation
import KeyfobOpenSSL

/// The requirements for a certificate; `SecPolicyRef`.
///
/// Two are equal if their properties are. Any thread may use one at any time.
// Immutable after `init` and made of Sendable members. Unchecked because the superclass does not declare it.
public final class SecPolicy: NSObject, @unchecked Sendable, LeafPolicy {
    /// The requirements of a policy.
    struct Properties: Hashable, Sendable {
        /// Apple's object identifier.
        var identifier: String
        /// Host names or e-mail addresses, one of which the certificate must have; empty for any.
        var names: [String] = []
        /// Whether the policy is for a client certificate.
        var isClient = false
        /// The flags for revocation checks. Revocation is never checked, so only the flag that requires an answer
        /// matters.
        var revocationFlags: CFOptionFlags = 0
        /// The key usages, one of which the certificate must have; empty for any.
        var keyUsage: KeyUsage = []
    }

    let properties: Properties

    init(_ properties: Properties) { self.properties = properties }

    private var isTLS: Bool {
        [kSecPolicyAppleSSL as String, kSecPolicyAppleEAP as String, kSecPolicyAppleIPsec as String]
            .contains(properties.identifier)
    }

    /// Whether a chain is trusted only with a positive answer about revocation.
    var requiresRevocationAnswer: Bool { properties.revocationFlags & kSecRevocationRequirePositiveResponse != 0 }

    /// The purpose to verify a chain for.
    var purpose: CertificateChain.Purpose {
        if isTLS { return properties.isClient ? .tlsClient : .tlsServer }
        return [
            kSecPolicyAppleSMIME as String: .email, kSecPolicyAppleCodeSigning as String: .codeSigning,
            kSecPolicyAppleTimeStamping as String: .timeStamping,
        ][properties.identifier] ?? .any
    }

    /// The hosts, one of which the leaf must be for; empty for any.
    var hosts: [String] { isTLS ? properties.names : [] }

    /// The e-mail addresses, one of which the leaf must be for; empty for any.
    private var emailAddresses: [String] {
        properties.identifier == kSecPolicyAppleSMIME as String ? properties.names : []
    }

    /// Whether a certificate satisfies the policy, without regard to its chain.
    func isSatisfied(byLeaf certificate: Certificate) -> Bool {
        let wanted: ExtendedKeyUsage? =
            switch purpose {
            case .tlsServer: .serverAuth
            case .tlsClient: .clientAuth
            case .email: .emailProtection
            case .codeSigning: .codeSigning
            case .timeStamping: .timeStamping
            default: nil
            }
        let usages = certificate.extendedKeyUsage
        if let wanted, !usages.isEmpty, !usages.contains(wanted), !usages.contains(.any) { return false }
        return isSatisfied(byHostsOf: certificate) && isSatisfied(byEmailAddressesOf: certificate)
            && isSatisfied(byKeyUsageOf: certificate)
    }

    /// Whether a certificate is for one of the hosts of the policy, if it has any.
    func isSatisfied(byHostsOf certificate: Certificate) -> Bool {
        hosts.isEmpty || hosts.contains { certificate.matches(host: $0) }
    }

    /// Whether a certificate is for one of the e-mail addresses of the policy, if it has any.
    func isSatisfied(byEmailAddressesOf certificate: Certificate) -> Bool {
        let wanted = Set(emailAddresses.map { $0.lowercased() })
        return wanted.isEmpty || certificate.emailAddresses.contains { wanted.contains($0.lowercased()) }
    }

    /// Whether a certificate has one of the key usages of the policy, if the policy has any. A certificate without the
    /// extension does not suffice.
    func isSatisfied(byKeyUsageOf certificate: Certificate) -> Bool {
        properties.keyUsage.isEmpty || !(certificate.keyUsage ?? []).isDisjoint(with: properties.keyUsage)
    }

    /// Whether the properties are equal.
    public override func isEqual(_ object: Any?) -> Bool { (object as? SecPolicy)?.properties == properties }

    /// A hash of the properties.
    public override var hash: Int { properties.hashValue }
}

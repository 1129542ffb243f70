import Foundation
import OpenSSL

/// What a certificate is to be good for; `SecPolicyRef`.
///
/// Two are equal when their properties are. Any thread may use one at any time.
// Immutable after `init`, and what it holds is Sendable: the class is, though its superclass does not say so.
public final class SecPolicy: NSObject, @unchecked Sendable, LeafPolicy {
    /// What a policy asks for.
    struct Properties: Hashable, Sendable {
        /// Apple's object identifier.
        var identifier: String
        /// Host names or e-mail addresses, of which the certificate must have one; none for any.
        var names: [String] = []
        /// Whether the certificate is a client's.
        var isClient = false
        /// How revocation is checked: nobody is asked, so that only whether an answer is required counts.
        var revocationFlags: CFOptionFlags = 0
        /// What the certificate's key must be meant for, any one of it; empty for anything.
        var keyUsage: KeyUsage = []
    }

    let properties: Properties

    init(_ properties: Properties) { self.properties = properties }

    private var isTLS: Bool {
        [kSecPolicyAppleSSL as String, kSecPolicyAppleEAP as String, kSecPolicyAppleIPsec as String]
            .contains(properties.identifier)
    }

    /// Whether a chain is good only with an answer that nobody revoked it.
    var requiresRevocationAnswer: Bool { properties.revocationFlags & kSecRevocationRequirePositiveResponse != 0 }

    /// The purpose that a chain is verified for.
    var purpose: CertificateChain.Purpose {
        if isTLS { return properties.isClient ? .tlsClient : .tlsServer }
        return [
            kSecPolicyAppleSMIME as String: .email, kSecPolicyAppleCodeSigning as String: .codeSigning,
            kSecPolicyAppleTimeStamping as String: .timeStamping,
        ][properties.identifier] ?? .any
    }

    /// The hosts of which the leaf must be for one; none for any.
    var hosts: [String] { isTLS ? properties.names : [] }

    /// The e-mail addresses of which the leaf must be for one; none for any.
    private var emailAddresses: [String] {
        properties.identifier == kSecPolicyAppleSMIME as String ? properties.names : []
    }

    /// Whether a certificate by itself, without its chain, is what the policy asks for.
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

    /// Whether the key of a certificate is meant for one of the usages of the policy, if it has any. A certificate that
    /// says nothing of its key is not enough.
    func isSatisfied(byKeyUsageOf certificate: Certificate) -> Bool {
        properties.keyUsage.isEmpty || !(certificate.keyUsage ?? []).isDisjoint(with: properties.keyUsage)
    }

    /// Whether the properties are equal.
    public override func isEqual(_ object: Any?) -> Bool { (object as? SecPolicy)?.properties == properties }

    /// A hash of the properties.
    public override var hash: Int { properties.hashValue }
}

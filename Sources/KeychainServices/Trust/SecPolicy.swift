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
        /// The host name or the e-mail address.
        var name: String?
        /// Whether the certificate is a client's.
        var isClient = false
        /// How revocation is checked: nobody is asked, so that only whether an answer is required counts.
        var revocationFlags: CFOptionFlags = 0
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

    /// The host that the leaf must be for.
    var host: String? { isTLS && !properties.isClient ? properties.name : nil }

    /// The e-mail address that the leaf must be for.
    var emailAddress: String? { properties.identifier == kSecPolicyAppleSMIME as String ? properties.name : nil }

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
        if let host, !certificate.matches(host: host) { return false }
        return isSatisfied(byAddressesOf: certificate)
    }

    /// Whether a certificate is for the e-mail address of the policy, if it has one.
    func isSatisfied(byAddressesOf certificate: Certificate) -> Bool {
        guard let emailAddress else { return true }
        return certificate.emailAddresses.contains { $0.lowercased() == emailAddress.lowercased() }
    }

    /// Whether the properties are equal.
    public override func isEqual(_ object: Any?) -> Bool { (object as? SecPolicy)?.properties == properties }

    /// A hash of the properties.
    public override var hash: Int { properties.hashValue }
}

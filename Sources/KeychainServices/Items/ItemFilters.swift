import Foundation
import Keyfob
import KeyfobOpenSSL

/// A policy that `kSecMatchPolicy` takes.
protocol LeafPolicy: AnyObject, Sendable {
    /// Whether the certificate satisfies the policy, without regard to its chain.
    func isSatisfied(byLeaf certificate: Certificate) -> Bool
}

/// The `kSecMatch…` keys of a search, except `kSecMatchLimit`, in typed form.
///
/// It is written only while a dictionary is read; copies of a request share it.
final class ItemFilters {
    /// Whether there is a filter other than `kSecMatchItemList`, which updates and deletions also take.
    private(set) var isForSearches = false
    /// `kSecMatchIssuers`: names in DER, or other bytes as given.
    private(set) var issuers: [Data] = []
    /// `kSecMatchEmailAddressIfPresent`.
    private(set) var emailAddress: String?
    /// `kSecMatchValidOnDate`.
    private(set) var validOn: Date?
    /// `kSecMatchTrustedOnly`.
    private(set) var isTrustedOnly = false
    /// `kSecMatchPolicy`.
    private(set) var policy: (any LeafPolicy)?
    /// `kSecMatchHostOrSubdomainOfHost`.
    private(set) var domain: String?
    private var subjectContains: String?
    private var subjectStartsWith: String?
    private var subjectEndsWith: String?
    private var subjectIs: String?
    private var ignoresCase = false
    private var ignoresDiacritics = false
    private var ignoresWidth = false
    /// `kSecMatchItemList`: object references and persistent references.
    private(set) var items: [AnyObject]?

    /// Reads one match key.
    ///
    /// Unknown keys are accepted and ignored, as Apple does.
    ///
    /// - Throws: `StatusError`; -4 for a filter that the class does not have, -50 for a value of the wrong type.
    func take(_ key: String, _ value: AnyObject, _ itemClass: ItemClass) throws(StatusError) {
        if key != "m_ItemList" { isForSearches = true }
        let isCertified = itemClass == .certificate || itemClass == .identity
        switch key {
        case "m_Policy":
            try Self.require(isCertified)
            guard let value = value as? any LeafPolicy else { throw .parameter("kSecMatchPolicy takes a policy") }
            policy = value
        case "m_Issuers":
            try Self.require(isCertified)
            // Members that are not data are skipped. A filter without names matches everything.
            issuers = (value as? NSArray).map { $0.compactMap { ($0 as? NSData).map { Data(referencing: $0) } } } ?? []
            issuers.removeAll(where: \.isEmpty)
        case "m_EmailAddressIfPresent":
            emailAddress = try Self.text(value, key)
        case "m_ValidOnDate":
            guard value is NSNull || value is NSDate else { throw .parameter("kSecMatchValidOnDate takes a date") }
            validOn = (value as? NSDate).map { Date(timeIntervalSinceReferenceDate: $0.timeIntervalSinceReferenceDate) }
                ?? Date()
        case "m_TrustedOnly":
            isTrustedOnly = try Boolean.required(value, key)
        case "m_HostOrSubdomainOfHost":
            try Self.require(itemClass == .internetPassword)
            domain = try Self.text(value, key)
        case "m_SubjectContains": subjectContains = try Self.text(value, key)
        case "m_SubjectStartsWith": subjectStartsWith = try Self.text(value, key)
        case "m_SubjectEndsWith": subjectEndsWith = try Self.text(value, key)
        case "m_SubjectWholeString": subjectIs = try Self.text(value, key)
        case "m_CaseInsensitive": ignoresCase = try Boolean.required(value, key)
        // These two keys are accepted for every class and with a value of any type.
        case "m_DiacriticInsensitive": ignoresDiacritics = Boolean.value(value) ?? false
        case "m_WidthInsensitive": ignoresWidth = Boolean.value(value) ?? false
        case "m_ItemList":
            guard let value = value as? NSArray else { throw .parameter("kSecMatchItemList takes an array") }
            items = value.map { $0 as AnyObject }
        default: break
        }
    }

    /// Whether a filter is given that tests a certificate; no item of another class passes it.
    func refusesAll(of itemClass: ItemClass) -> Bool {
        guard itemClass != .certificate, itemClass != .identity else { return false }
        return emailAddress != nil || validOn != nil || isTrustedOnly
    }

    /// Copies the filters that a Keyfob search supports into its criteria.
    ///
    /// - Throws: The errors of reading the trusted authorities, if `kSecMatchTrustedOnly` is given.
    func apply(to criteria: inout Criteria) throws {
        criteria.serverDomain = domain
        // The remaining filters test a certificate. Those that other classes accept do not restrict them.
        guard criteria.itemClass == .certificate || criteria.itemClass == .identity else { return }
        criteria.issuers = issuers
        criteria.emailAddress = emailAddress
        criteria.validOn = validOn
        criteria.subjectContains = subjectContains
        criteria.subjectStartsWith = subjectStartsWith
        criteria.subjectEndsWith = subjectEndsWith
        criteria.subjectIs = subjectIs
        criteria.ignoresCase = ignoresCase
        criteria.ignoresDiacritics = ignoresDiacritics
        criteria.ignoresWidth = ignoresWidth
        guard policy != nil || isTrustedOnly else { return }
        let policy = policy
        // Read here because the test runs while the keychain is being read.
        let anchors = isTrustedOnly ? try SystemRoots.shared() + KeychainTrust.anchors(for: .any) : nil
        let intermediates = isTrustedOnly ? KeychainTrust.intermediates() : []
        criteria.certificateTest = { certificate in
            if let policy, !policy.isSatisfied(byLeaf: certificate) { return false }
            guard let anchors else { return true }
            // A certificate that libcrypto cannot verify counts as untrusted; the search goes on.
            do {
                return try CertificateChain.verify(
                    leaf: certificate, intermediates: intermediates, anchors: anchors
                ).failure == nil
            } catch { return false }
        }
    }

    private static func require(_ isRightClass: Bool) throws(StatusError) {
        guard isRightClass else { throw StatusError(errSecUnimplemented, "the filter is for another class") }
    }

    private static func text(_ value: AnyObject, _ key: String) throws(StatusError) -> String {
        guard let value = value as? NSString else { throw .parameter("\(key) takes a string") }
        return String(value)
    }
}

public import Foundation

/// A typed search.
///
/// ```swift
/// let logins = try keychain.find(.internetPassword(server: "example.org"))
/// let expiring = try keychain.find(.identities.validOn(.now).limit(10))
/// ```
///
/// An argument that is not given is a wildcard.
public struct Query<Result: KeychainItem>: Sendable {
    /// The untyped form.
    public var criteria: Criteria

    /// A query from its untyped form, which must be of the result's class.
    public init(_ criteria: Criteria) {
        precondition(
            criteria.itemClass == Result.itemClass, "the criteria ask for another class than the query returns")
        self.criteria = criteria
    }

    /// Everything of the class.
    public init() { criteria = Criteria(Result.itemClass) }

    /// Also demands that an attribute has just this value.
    public func having(_ name: AttributeName, _ value: AttributeValue) -> Self {
        changing { $0.attributes[name] = value }
    }

    /// At most `count` items, counted after all filters.
    public func limit(_ count: Int) -> Self { changing { $0.limit = count } }

    /// Results in this order.
    public func ordered(by order: Criteria.Order) -> Self { changing { $0.order = order } }

    private func changing(_ change: (inout Criteria) -> Void) -> Self {
        var copy = self
        change(&copy.criteria)
        return copy
    }

    private static func matching(_ pairs: [(AttributeName, String?)]) -> Self {
        var query = Query()
        for case (let name, let value?) in pairs { query.criteria.attributes[name] = .string(value) }
        return query
    }
}

extension Query where Result == GenericPassword {
    /// Generic passwords of a service and an account.
    public static func genericPassword(service: String? = nil, account: String? = nil, label: String? = nil) -> Query {
        matching([(.service, service), (.account, account), (.label, label)])
    }

    /// All generic passwords.
    public static var genericPasswords: Query { Query() }
}

extension Query where Result == InternetPassword {
    /// Internet passwords of a server and an account.
    public static func internetPassword(
        server: String? = nil, account: String? = nil, protocol: InternetProtocol? = nil, port: Int? = nil,
        path: String? = nil
    ) -> Query {
        let query = matching([(.server, server), (.account, account), (.protocol, `protocol`?.rawValue), (.path, path)])
        guard let port else { return query }
        return query.having(.port, .number(Int64(port)))
    }

    /// All internet passwords.
    public static var internetPasswords: Query { Query() }
}

extension Query where Result == CertificateItem {
    /// Certificates with a label.
    public static func certificate(label: String? = nil) -> Query { matching([(.label, label)]) }
    /// All certificates.
    public static var certificates: Query { Query() }
}

extension Query where Result == KeyItem {
    /// Keys with a label.
    public static func key(label: String? = nil) -> Query { matching([(.label, label)]) }
    /// All keys.
    public static var keys: Query { Query() }

    /// Only keys of this half.
    public func keyClass(_ keyClass: KeyClass) -> Query { having(.keyClass, .number(keyClass.rawValue)) }
}

extension Query where Result == Identity {
    /// Identities with a label.
    public static func identity(label: String? = nil) -> Query { matching([(.label, label)]) }
    /// All identities.
    public static var identities: Query { Query() }
}

/// Results that have a certificate.
public protocol CertifiedItem: KeychainItem {}

extension Query where Result: CertifiedItem {
    /// The common name contains `text`.
    public func subjectContains(_ text: String, ignoringCase: Bool = false) -> Self {
        changing {
            $0.subjectContains = text
            $0.ignoresCase = ignoringCase
        }
    }

    /// The certificate was issued by this name, directly or through authorities in the keychain; DER.
    public func issuer(_ name: Data) -> Self { changing { $0.issuers = [name] } }

    /// The certificate is valid at `date`.
    public func validOn(_ date: Date) -> Self { changing { $0.validOn = date } }

    /// The certificate is good for a DNS name.
    public func host(_ name: String) -> Self { changing { $0.hostName = name } }
}

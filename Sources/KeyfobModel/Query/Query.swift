public import Foundation

/// A typed search.
///
/// ```swift
/// let logins = try keychain.find(.internetPassword(server: "example.org"))
/// let expiring = try keychain.find(.identities.validOn(.now).limit(10))
/// ```
///
/// A missing argument matches any value.
public struct Query<Result: KeychainItem>: Sendable {
    /// The untyped form of the query.
    public var criteria: Criteria

    /// Creates a query from criteria, which must be of the result's class.
    public init(_ criteria: Criteria) {
        precondition(
            criteria.itemClass == Result.itemClass, "the criteria ask for another class than the query returns")
        self.criteria = criteria
    }

    /// Creates a query for all items of the class.
    public init() { criteria = Criteria(Result.itemClass) }

    /// Requires an attribute to have exactly this value.
    public func having(_ name: AttributeName, _ value: AttributeValue) -> Self {
        changing { $0.attributes[name] = value }
    }

    /// Limits the results to `count` items, after all other conditions.
    public func limit(_ count: Int) -> Self { changing { $0.limit = count } }

    /// Sorts the results in this order.
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
    /// Generic passwords with a service and an account.
    public static func genericPassword(service: String? = nil, account: String? = nil, label: String? = nil) -> Query {
        matching([(.service, service), (.account, account), (.label, label)])
    }

    /// All generic passwords.
    public static var genericPasswords: Query { Query() }
}

extension Query where Result == InternetPassword {
    /// Internet passwords with a server and an account.
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

    /// Requires keys of this class: public, private or symmetric.
    public func keyClass(_ keyClass: KeyClass) -> Query { having(.keyClass, .number(keyClass.rawValue)) }
}

extension Query where Result == Identity {
    /// Identities with a label.
    public static func identity(label: String? = nil) -> Query { matching([(.label, label)]) }
    /// All identities.
    public static var identities: Query { Query() }
}

extension Query where Result: CertifiedItem {
    /// Requires the common name to contain `text`.
    public func subjectContains(_ text: String, ignoringCase: Bool = false) -> Self {
        changing {
            $0.subjectContains = text
            $0.ignoresCase = ignoringCase
        }
    }

    /// Requires the certificate to be issued by this name in DER, directly or through authorities in the keychain.
    public func issuer(_ name: Data) -> Self { changing { $0.issuers = [name] } }

    /// Requires the certificate to be valid on a date.
    public func validOn(_ date: Date) -> Self { changing { $0.validOn = date } }

    /// Requires the certificate to match a DNS name.
    public func host(_ name: String) -> Self { changing { $0.hostName = name } }
}

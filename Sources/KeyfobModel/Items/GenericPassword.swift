public import Foundation

/// A secret under a service and an account; `kSecClassGenericPassword`.
///
/// ```swift
/// try keychain.add(GenericPassword(service: "db/prod", account: "app"), secret: SecretBytes(utf8: "correct horse"))
/// ```
///
/// The primary key is the service and the account, with access group, synchronizability and token. Adding a second item
/// with the same key is an error. A missing account equals the empty account.
public struct GenericPassword: PasswordItem {
    /// `genp`.
    public static var itemClass: ItemClass { .genericPassword }
    /// The underlying item.
    public var item: Item

    /// Wraps an item of this class.
    public init(item: Item) { self.item = item }

    /// Creates a password that is not stored yet. The default label is the service.
    public init(service: String, account: String = "", label: String? = nil) {
        item = Item(.genericPassword)
        self.service = service
        self.account = account
        self.label = label ?? service
    }

    /// The service; `kSecAttrService`.
    public var service: String {
        get { attributes[.service]?.text ?? "" }
        set { attributes[.service] = .string(newValue) }
    }

    /// The account; `kSecAttrAccount`.
    public var account: String {
        get { attributes[.account]?.text ?? "" }
        set { attributes[.account] = .string(newValue) }
    }

    /// Application-defined bytes; `kSecAttrGeneric`.
    public var generic: Data? {
        get { attributes[.generic]?.bytes }
        set { attributes[.generic] = newValue.map { .data($0) } }
    }

    /// A description of the kind of item; `kSecAttrDescription`.
    public var kind: String? {
        get { attributes[.kind]?.text }
        set { attributes[.kind] = newValue.map { .string($0) } }
    }
}

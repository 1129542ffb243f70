public import Foundation

/// A secret under a service and an account; `kSecClassGenericPassword`.
///
/// ```swift
/// try keychain.add(GenericPassword(service: "db/prod", account: "app"), secret: SecretBytes(utf8: "correct horse"))
/// ```
///
/// Service and account (with access group, synchronizability and token) are the primary key: adding a
/// second item with the same ones is an error, and "no account" is the same as the empty account.
public struct GenericPassword: KeychainItem {
    /// `genp`.
    public static var itemClass: ItemClass { .genericPassword }
    /// The item underneath.
    public var item: Item

    /// The typed face of an item of this class.
    public init(item: Item) { self.item = item }

    /// A password that is not stored yet. Without a label the service is its label.
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

    /// Bytes of the application's own; `kSecAttrGeneric`.
    public var generic: Data? {
        get { attributes[.generic]?.bytes }
        set { attributes[.generic] = newValue.map { .data($0) } }
    }

    /// The kind of item in words; `kSecAttrDescription`.
    public var kind: String? {
        get { attributes[.kind]?.text }
        set { attributes[.kind] = newValue.map { .string($0) } }
    }
}

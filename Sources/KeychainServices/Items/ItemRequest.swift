import Foundation
import Keyfob
import KeyfobPrimitives

/// The dictionary of one call in typed form: what SecItemAdd, -CopyMatching, -Update and -Delete were asked for.
///
/// Made by ``init(parsing:for:)``, which is, with ``NamedItem``, the only place that looks at keys and types.
struct ItemRequest {
    /// The function that was called.
    enum Purpose {
        case add, search, update, delete
    }

    /// What `kSecValueRef` holds.
    enum ValueReference {
        case key(SecKey)
        case certificate(SecCertificate)
        case identity(SecIdentity)

        /// The class of items that it is one of.
        var itemClass: ItemClass {
            switch self {
            case .key: .key
            case .certificate: .certificate
            case .identity: .identity
            }
        }

        /// Makes the next addition of it a duplicate, whether an import or the caller has added it.
        func claimImported() {
            switch self {
            case .key(let key): _ = key.imported?.claim()
            case .certificate(let certificate): _ = certificate.imported?.claim()
            case .identity(let identity):
                _ = identity.certificate.imported?.claim()
                _ = identity.privateKey.imported?.claim()
            }
        }
    }

    /// What `kSecUseAuthenticationUI` allows.
    enum AuthenticationUI {
        case allow, fail, skip
    }

    /// The function that was called.
    var purpose: Purpose = .search
    /// The class, from `kSecClass` or from a reference.
    var itemClass: ItemClass
    /// The attributes that the dictionary has, in their stored form; those of a reference are not among them.
    var attributes = ItemAttributes()
    /// `kSecAttrAccessControl`.
    var accessControl: SecAccessControl?
    /// Whether nobody said how the item is protected, so that it has the default of its class.
    var isAccessibilityDefault = false
    /// Whether `kSecAttrSynchronizable` is `kSecAttrSynchronizableAny`.
    var matchesAnySynchronizable = false
    /// `kSecAttrSHA1`.
    var digest: Data?
    /// Whether the request names a record of a synchronisation that does not exist here.
    var namesSyncRecord = false
    /// What is to be returned.
    var returns: ReturnKinds = []
    /// `kSecMatchLimit`; `nil` without one.
    var limit: MatchLimit?
    /// The other match keys; `nil` without one.
    var filters: ItemFilters?
    /// `kSecValueData`.
    var data: SecretBytes?
    /// `kSecValueRef`.
    var reference: ValueReference?
    /// `kSecValuePersistentRef`.
    var persistentReference: PersistentReference?
    /// Whether the persistent reference has the old form, which no item here ever had.
    var isOldReference = false
    /// `kSecUseAuthenticationUI`.
    var authenticationUI: AuthenticationUI = .allow
    /// `kSecUseCredentialReference`: the password of items that ask for one.
    var credential: SecretBytes?
    /// `kSecUseTombstones`: whether removed items leave one.
    var leavesTombstones = false
    /// `kSecUseSystemKeychain`.
    var usesSystemKeychain = false

    /// Whether a change reaches only what this program stored, among the items without an access group: its query
    /// names neither a group nor an item.
    var isBoundToProgram: Bool {
        guard purpose == .update || purpose == .delete else { return false }
        let namesItem = reference != nil || persistentReference != nil || filters?.items != nil
            || PrimaryKeyMembers.of(itemClass).areNamed(in: attributes)
        return !namesItem && attributes[.accessGroup] == nil
    }

    /// Whether items are looked at one by one that a search of Keyfob's has found.
    var hasOwnFilters: Bool { digest != nil || filters?.items != nil || authenticationUI != .allow }
}

/// The kinds of results, `kSecReturn…`.
struct ReturnKinds: OptionSet {
    let rawValue: Int
    /// `kSecReturnData`.
    static let data = ReturnKinds(rawValue: 1)
    /// `kSecReturnAttributes`.
    static let attributes = ReturnKinds(rawValue: 2)
    /// `kSecReturnRef`.
    static let reference = ReturnKinds(rawValue: 4)
    /// `kSecReturnPersistentRef`.
    static let persistentReference = ReturnKinds(rawValue: 8)

    /// Whether more than one kind is asked for, so that every item comes as a dictionary.
    var isCombined: Bool { rawValue.nonzeroBitCount > 1 }
}

/// How many items are to be returned, `kSecMatchLimit`.
enum MatchLimit: Equatable {
    /// One, by itself.
    case one
    /// As many as there are, or at most a number, in an array.
    case several(Int?)
    /// None, which nothing can match.
    case none

    /// The limit of a search.
    var count: Int? {
        switch self {
        case .one: 1
        case .several(let count): count
        case .none: 0
        }
    }
}

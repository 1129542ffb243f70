import Foundation
import Keyfob
import KeyfobPrimitives

/// The dictionary of one call to SecItemAdd, -CopyMatching, -Update or -Delete in typed form.
///
/// Only ``init(parsing:for:)`` and ``NamedItem`` read the keys and types of the dictionary.
struct ItemRequest {
    /// The function that was called.
    enum Purpose {
        case add, search, update, delete
    }

    /// The object in `kSecValueRef`.
    enum ValueReference {
        case key(SecKey)
        case certificate(SecCertificate)
        case identity(SecIdentity)

        /// The class of the item that the object refers to.
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

    /// The values of `kSecUseAuthenticationUI`.
    enum AuthenticationUI {
        case allow, fail, skip
    }

    /// The function that was called.
    var purpose: Purpose = .search
    /// The class, from `kSecClass` or from a reference.
    var itemClass: ItemClass
    /// The attributes in the dictionary, in their stored form, without those of a reference.
    var attributes = ItemAttributes()
    /// `kSecAttrAccessControl`.
    var accessControl: SecAccessControl?
    /// Whether the caller gave no accessibility, so that the default of the class applies.
    var isAccessibilityDefault = false
    /// Whether `kSecAttrSynchronizable` is `kSecAttrSynchronizableAny`.
    var matchesAnySynchronizable = false
    /// `kSecAttrSHA1`.
    var digest: Data?
    /// Whether the request names a synchronisation record, which do not exist here.
    var namesSyncRecord = false
    /// The kinds of results to return.
    var returns: ReturnKinds = []
    /// `kSecMatchLimit`; `nil` if absent.
    var limit: MatchLimit?
    /// The other match keys; `nil` if there are none.
    var filters: ItemFilters?
    /// `kSecValueData`.
    var data: SecretBytes?
    /// `kSecValueRef`.
    var reference: ValueReference?
    /// `kSecValuePersistentRef`.
    var persistentReference: PersistentReference?
    /// Whether the persistent reference has Apple's old form, which no item here has.
    var isOldReference = false
    /// `kSecUseAuthenticationUI`.
    var authenticationUI: AuthenticationUI = .allow
    /// `kSecUseCredentialReference`: the password for items that require one.
    var credential: SecretBytes?
    /// `kSecUseTombstones`: whether removed items leave a tombstone.
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

    /// Whether several kinds are requested, so that every item is returned as a dictionary.
    var isCombined: Bool { rawValue.nonzeroBitCount > 1 }
}

/// `kSecMatchLimit`: how many items to return.
enum MatchLimit: Equatable {
    /// One item, without an array around it.
    case one
    /// All items or at most the given number, in an array.
    case several(Int?)
    /// No item, so that nothing matches.
    case none

    /// The limit as a number; `nil` for no limit.
    var count: Int? {
        switch self {
        case .one: 1
        case .several(let count): count
        case .none: 0
        }
    }
}

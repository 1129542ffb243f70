import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// Reads the dictionaries of the four SecItem functions; only `NamedItem` reads them too.
extension ItemRequest {
    /// Reads the dictionary of a call.
    ///
    /// - Throws: `StatusError` for the first error found.
    init(parsing dictionary: NSDictionary, for purpose: Purpose) throws(StatusError) {
        let entries = try RequestEntry.all(of: dictionary)
        let named = try NamedItem(entries)
        self.init(itemClass: try named.itemClass(entries, for: purpose))
        self.purpose = purpose
        reference = named.reference
        persistentReference = named.persistentReference
        isOldReference = named.isOldReference
        try Self.checkCount(entries, itemClass)
        var uses = Uses()
        for entry in entries {
            if entry.key.utf16.count != 4 {
                try takeOther(entry.key, entry.value, &uses)
            } else if entry.key != "nleg" {
                try takeAttribute(entry.key, entry.value, for: purpose)
            }
        }
        guard !uses.itemList else { throw .parameter("kSecUseItemList is not available") }
        guard uses.contexts < 2 else { throw .parameter("a context and a credential exclude each other") }
        try check(purpose)
    }

    /// Use keys that are refused after the whole dictionary was read.
    private struct Uses {
        var itemList = false
        var contexts = 0
    }

    /// Enforces Apple's limit of 128 on the attributes of the class and the other keys of the dictionary together.
    private static func checkCount(_ entries: [RequestEntry], _ itemClass: ItemClass) throws(StatusError) {
        guard entries.count > 128 - AttributeCoding.most else { return }
        let others = entries.count { !AttributeCoding.isAttribute(AttributeName(rawValue: $0.key), of: itemClass) }
        guard AttributeCoding.count(of: itemClass) + others <= 128 else { throw .parameter("too many keys") }
    }

    // MARK: Attributes

    /// Reads one attribute of the dictionary.
    private mutating func takeAttribute(
        _ key: String, _ given: RequestEntry.Value, for purpose: Purpose
    ) throws(StatusError) {
        let name = AttributeName(rawValue: key)
        guard name.code != nil else { throw StatusError(errSecNoSuchAttr, "no such attribute") }
        if case .other(let object) = given, type(of: object) == NSNull.self, name != .multiUser {
            throw .parameter("\(name) has no value")
        }
        switch key {
        case "clip": throw .parameter("clip is internal")
        case "accc":
            guard let control = given.object as? SecAccessControl else {
                throw .parameter("kSecAttrAccessControl takes an access control")
            }
            accessControl = control
        case "sync":
            if given.text == "syna" {
                if purpose == .add { attributes[name] = 0 } else { matchesAnySynchronizable = true }
            } else {
                attributes[name] = try Self.synchronizable(given.object)
            }
        case "pdmn": attributes[name] = .string(try Self.accessibility(given.object))
        case "musr": try Self.checkUser(given.object)
        case "sha1":
            guard let data = given.object as? Data, data.count == 20 else { throw .parameter("sha1 takes 20 bytes") }
            digest = data
        case "UUID":
            guard given.text != nil || given.object is UUID else { throw .parameter("UUID takes a string") }
            namesSyncRecord = true
        default:
            var typed = try AttributeCoding.value(given, for: name, of: itemClass)
            if name == .issuer || name == .subject, let data = typed.bytes { typed = .data(Self.normalizedName(data)) }
            attributes[name] = typed
        }
    }

    /// Returns 0 or 1 for a truth value or a number.
    static func synchronizable(_ value: Any) throws(StatusError) -> AttributeValue {
        guard let number = value as? NSNumber else { throw .parameter("kSecAttrSynchronizable takes a truth value") }
        return .number(number.int64Value == 0 ? 0 : 1)
    }

    /// Returns a value of `kSecAttrAccessible`.
    static func accessibility(_ value: Any) throws(StatusError) -> String {
        guard let text = value as? String, SecAccessControl.protections.contains(text) else {
            throw .parameter("kSecAttrAccessible has no such value")
        }
        return text
    }

    /// Checks the type of `kSecAttrMultiUser`. The value is ignored: `kSecUseSystemKeychain` selects the user.
    static func checkUser(_ value: Any) throws(StatusError) {
        switch value {
        case is NSNull, is UUID: break
        case let data as Data where data.isEmpty || data.count == 16: break
        default: throw .parameter("kSecAttrMultiUser takes 16 bytes or none")
        }
    }

    /// Returns Apple's normalised form of a name in complete DER, and any other bytes unchanged.
    private static func normalizedName(_ data: Data) -> Data {
        do { return try DistinguishedName(der: data).normalized } catch { return data }
    }

    // MARK: Other keys

    /// Reads one match, return, value or use key.
    private mutating func takeOther(
        _ key: String, _ value: RequestEntry.Value, _ uses: inout Uses
    ) throws(StatusError) {
        switch Self.family(of: key) {
        case "m" where key == "m_Limit": limit = try Self.limit(value)
        case "m":
            if filters == nil { filters = ItemFilters() }
            try filters?.take(key, value.object as AnyObject, itemClass)
        case "r":
            let isWanted = try value.requiredTruth(key)
            let kind: ReturnKinds
            switch key {
            case "r_Data": kind = .data
            case "r_Attributes": kind = .attributes
            case "r_Ref": kind = .reference
            case "r_PersistentRef": kind = .persistentReference
            default: throw .parameter("no such kind of result")
            }
            if isWanted { returns.insert(kind) } else { returns.remove(kind) }
        case "v":
            switch key {
            case "v_Data":
                guard let data = value.object as? Data else { throw .parameter("kSecValueData takes data") }
                self.data = SecretBytes(data)
            // `NamedItem` has read these.
            case "v_Ref", "v_PersistentRef": break
            default: throw .parameter("no such key")
            }
        case "u": try takeUse(key, value, &uses)
        default: if key != "class", key.utf8.first != UInt8(ascii: "f") { throw .parameter("no such key") }
        }
    }

    /// Returns the letter before the underscore of a key such as `m_Limit`; `nil` for other keys.
    private static func family(of key: String) -> Unicode.Scalar? {
        var bytes = key.utf8.makeIterator()
        guard let letter = bytes.next(), bytes.next() == UInt8(ascii: "_") else { return nil }
        return Unicode.Scalar(letter)
    }

    private static func limit(_ value: RequestEntry.Value) throws(StatusError) -> MatchLimit {
        if let text = value.text {
            switch text {
            case "m_LimitOne": return .one
            case "m_LimitAll": return .several(nil)
            default: throw .parameter("kSecMatchLimit has no such value")
            }
        }
        guard Boolean.value(value.object) == nil, let object = value.object as? NSNumber,
            let number = AttributeCoding.whole(object)
        else {
            throw .parameter("kSecMatchLimit takes a whole number")
        }
        switch number {
        case 0: return .none
        case 1: return .one
        case -1: return .several(nil)
        case 2...: return .several(Int(number))
        default: throw .parameter("kSecMatchLimit is negative")
        }
    }

    /// Reads one use key. Keys without a meaning here are accepted.
    private mutating func takeUse(
        _ key: String, _ value: RequestEntry.Value, _ uses: inout Uses
    ) throws(StatusError) {
        switch key {
        case "u_ItemList": uses.itemList = true
        case "u_AuthCtx": uses.contexts += 1
        case "u_CredRef":
            guard let value = value.object as? Data else { throw .parameter("kSecUseCredentialReference takes data") }
            credential = SecretBytes(value)
            uses.contexts += 1
        case "u_AuthUI":
            guard let text = value.text else { throw .parameter("kSecUseAuthenticationUI takes a string") }
            switch text {
            case "u_AuthUIA": authenticationUI = .allow
            case "u_AuthUIF": authenticationUI = .fail
            case "u_AuthUIS": authenticationUI = .skip
            default: throw .parameter("kSecUseAuthenticationUI has no such value")
            }
        case "u_NoAuthUI":
            if try value.requiredTruth(key) { authenticationUI = .fail }
        case "u_Tomb": leavesTombstones = try value.requiredTruth(key)
        case "u_SystemKeychain", "u_SystemKeychainAlways":
            if try value.requiredTruth(key) { usesSystemKeychain = true }
        default: break
        }
    }

    // MARK: Rules

    /// Checks the combination of keys for the function that was called.
    private func check(_ purpose: Purpose) throws(StatusError) {
        let isSynchronizable = attributes[.synchronizable]?.number == 1
        if isSynchronizable, usesSystemKeychain || attributes[.sharingGroup] != nil {
            throw .parameter("a synchronizable item can be neither the system's nor a sharing group's")
        }
        // In an update or deletion, attributes narrow the match of a current reference. An old one matches nothing.
        if persistentReference != nil, purpose == .search || isOldReference {
            guard attributes.count == 0, accessControl == nil, digest == nil, !namesSyncRecord else {
                throw .parameter("a persistent reference needs no attributes")
            }
        }
        switch purpose {
        case .search: break
        case .add:
            guard persistentReference == nil else { throw .parameter("an item is not added by a reference") }
            guard filters == nil, limit == nil else { throw .parameter("match keys are for searches") }
            guard authenticationUI != .skip else { throw .parameter("nothing can be skipped") }
            try Self.check(accessControl, attributes)
        case .update:
            guard filters?.isForSearches != true, limit == nil else { throw .parameter("match keys are for searches") }
            guard authenticationUI != .skip else { throw .parameter("nothing can be skipped") }
            guard returns.isEmpty else { throw .parameter("an update returns nothing") }
        case .delete:
            guard filters?.isForSearches != true else { throw .parameter("match keys are for searches") }
            // Apple refuses every limit on iOS. On macOS deleting all matches requires `kSecMatchLimitAll`, and
            // libraries pass it on every system except iOS. A smaller limit would promise that some items stay, so only
            // a limit of one for one listed item is allowed.
            let isOfOne = limit == .one && filters?.items?.count == 1
            guard isOfOne || limit ?? .several(nil) == .several(nil) else {
                throw .parameter("all that match are removed")
            }
            guard authenticationUI != .skip else { throw .parameter("nothing can be skipped") }
        }
    }

    /// Checks that an access control agrees with the attributes beside it.
    static func check(_ control: SecAccessControl?, _ attributes: ItemAttributes) throws(StatusError) {
        guard let control else { return }
        guard SecAccessControl.protections.contains(control.protection) else {
            throw .parameter("the access control has an unknown protection")
        }
        if let accessible = attributes[.accessible]?.text, accessible != control.protection {
            throw .parameter("accessibility and access control disagree")
        }
        if control.isConstrained, attributes[.synchronizable]?.number == 1 {
            throw .parameter("a synchronizable item cannot have constraints")
        }
    }
}

extension SecAccessControl {
    /// The values of `kSecAttrAccessible` that items can have.
    static let protections: Set<String> = ["ak", "ck", "dk", "aku", "cku", "dku", "akpu"]

    /// Checks that items of a class can have the access control: key usage constraints do not apply to passwords.
    ///
    /// - Throws: `StatusError` (`errSecAuthFailed`) if they cannot.
    func check(isFor itemClass: ItemClass) throws(StatusError) {
        guard itemClass.livesOnToken || !flags.contains(.privateKeyUsage) else {
            throw StatusError(errSecAuthFailed, "a password is not a private key")
        }
    }
}

import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// Builds the results of calls in the shape that the kSecReturn… keys request.
struct ItemResults {
    private let keychain: Keychain
    private let returns: ReturnKinds
    private let credential: SecretBytes?

    /// Creates the results of a request.
    init(keychain: Keychain, request: ItemRequest) {
        self.keychain = keychain
        returns = request.returns
        credential = request.credential
    }

    /// Returns the result for an item; `nil` if its data fails the integrity check, so that it counts as absent.
    func undamaged(_ item: Item) throws -> (value: AnyObject?, Void)? {
        // As with Apple, even a query that returns nothing needs the password of a protected item.
        let isOpened = returns.contains(.data)
            || returns.isEmpty && item.asksForPassword && !item.itemClass.livesOnToken
        do { return (try result(item, data: isOpened ? data(of: item) : nil), ()) } catch
            let error as KeychainError where error.code == .vaultDamaged || error.code == .itemNotFound
        { return nil }
    }

    /// Returns the result for an item that was just added. If only data is requested and there is none, it is empty.
    func added(_ item: Item, data: Data?) throws -> AnyObject? {
        let isDataAlone = returns == .data
        return try result(item, data: data ?? (isDataAlone ? Data() : nil), digestsData: true)
    }

    /// Returns the result for an item and its data.
    func result(_ item: Item, data: Data?, digestsData: Bool = false) throws -> AnyObject? {
        guard returns.isCombined || returns == .attributes else {
            switch returns {
            case .data: return data.map { NSData(data: $0) }
            case .reference: return try reference(to: item)
            case .persistentReference: return Self.persistentReference(to: item)
            default: return nil
            }
        }
        let isRecent = returns == .attributes && !digestsData
        if isRecent, let dictionary = RecentAttributes.dictionary(of: item) { return dictionary }
        var members = Members()
        members.append("class", NSString(string: item.itemClass.rawValue))
        if returns.contains(.attributes) {
            add(attributesOf: item, to: &members, withData: returns.contains(.data))
            if digestsData || returns.contains(.data) {
                members.append("sha1", NSData(data: Self.digest(of: item, data)))
            }
        }
        if returns.contains(.data), let data { members.append("v_Data", NSData(data: data)) }
        if returns.contains(.reference), let reference = try reference(to: item) { members.append("v_Ref", reference) }
        if returns.contains(.persistentReference), let reference = Self.persistentReference(to: item) {
            members.append("v_PersistentRef", reference)
        }
        let dictionary = members.dictionary
        if isRecent { RecentAttributes.keep(dictionary, of: item) }
        return dictionary
    }

    /// The members of a dictionary in the making. Setting them one by one takes four times as long.
    private struct Members {
        private var keys: [NSObject] = []
        private var values: [AnyObject] = []

        init() {
            keys.reserveCapacity(16)
            values.reserveCapacity(16)
        }

        mutating func append(_ key: NSString, _ value: AnyObject) {
            keys.append(key)
            values.append(value)
        }

        var dictionary: NSDictionary {
            unsafe keys.withUnsafeBufferPointer { keys in
                unsafe values.withUnsafeBufferPointer { values in
                    unsafe NSDictionary(objects: values.baseAddress, forKeys: keys.baseAddress, count: keys.count)
                }
            }
        }
    }

    // MARK: Attributes

    private func add(attributesOf item: Item, to members: inout Members, withData: Bool) {
        // Passwords have no attributes but those of their class and the program; what the token tells of others may be
        // more.
        let isChecked = item.itemClass.livesOnToken
        let isFiltered = !withData && item.itemClass == .internetPassword
        var missing = ImpliedMembers.all
        let primaryKey = PrimaryKeyMembers.of(item.itemClass)
        var given = PrimaryKeyMembers.Given()
        var protection: String?
        var isConstrained = false
        for (name, value) in item.attributes {
            if isChecked, !AttributeCoding.isAttribute(name, of: item.itemClass) { continue }
            if name == .program { continue }
            if isFiltered, Self.withData.contains(name) { continue }
            switch name {
            case .accessible:
                protection = value.text
                missing.remove(.accessible)
            case .accessControl: isConstrained = true
            case .accessGroup: missing.remove(.accessGroup)
            case .synchronizable: missing.remove(.synchronizable)
            case .multiUser: missing.remove(.multiUser)
            case .tombstone: missing.remove(.tombstone)
            default: break
            }
            primaryKey.note(name, in: &given)
            members.append(AttributeCoding.key(name), AttributeCoding.object(value, for: name))
        }
        for (name, value) in primaryKey.empty(but: given) {
            members.append(AttributeCoding.key(name), AttributeCoding.object(value, for: name))
        }
        for (name, value) in ItemOperations.defaults(of: item.itemClass) {
            guard let member = ImpliedMembers(name), missing.contains(member) else { continue }
            if name == .accessible { protection = value.text }
            members.append(AttributeCoding.key(name), AttributeCoding.object(value, for: name))
        }
        if missing.contains(.synchronizable) {
            members.append(AttributeCoding.key(.synchronizable), AttributeCoding.object(0, for: .synchronizable))
        }
        if missing.contains(.multiUser) {
            members.append(AttributeCoding.key(.multiUser), AttributeCoding.object(.data(Data()), for: .multiUser))
        }
        guard !isConstrained, let protection else { return }
        members.append(AttributeCoding.key(.accessControl), SecAccessControl(protection: protection, flags: []))
    }

    /// Attributes that every item has, stored or not.
    private struct ImpliedMembers: OptionSet {
        let rawValue: UInt8
        static let synchronizable = ImpliedMembers(rawValue: 1)
        static let multiUser = ImpliedMembers(rawValue: 2)
        static let accessGroup = ImpliedMembers(rawValue: 4)
        static let accessible = ImpliedMembers(rawValue: 8)
        static let tombstone = ImpliedMembers(rawValue: 16)
        static let all: ImpliedMembers = [.synchronizable, .multiUser, .accessGroup, .accessible, .tombstone]

        init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Creates the member for an attribute with a default; `nil` for other attributes.
        init?(_ name: AttributeName) {
            switch name {
            case .accessGroup: self = .accessGroup
            case .accessible: self = .accessible
            case .tombstone: self = .tombstone
            default: return nil
            }
        }
    }

    /// Attributes that are returned only together with the data.
    static let withData: Set<AttributeName> = [
        .extraNotes, .extraHistory, .clientDefined0, .clientDefined1, .clientDefined2, .clientDefined3,
    ]

    /// Returns `kSecAttrSHA1`, computed over all attributes and the data.
    ///
    /// It is never stored, because a stored digest would help an attacker to test guesses of the secret.
    static func digest(of item: Item, _ data: Data?) -> Data {
        var attributes = item.attributes
        attributes[.program] = nil
        if item.itemClass.livesOnToken {
            for name in attributes.names where !AttributeCoding.isAttribute(name, of: item.itemClass) {
                attributes[name] = nil
            }
        }
        return Digest.sha1(Data(item.itemClass.rawValue.utf8) + Data(attributes.encoded) + (data ?? Data()))
    }

    /// Returns the digest of an item, reading its data.
    func digest(of item: Item) throws -> Data { Self.digest(of: item, try data(of: item)) }

    // MARK: Data and references

    /// Returns the first 20 bytes of the reference, which identify the item. The rest, its place on a token, may
    /// change.
    static func persistentReference(to item: Item) -> NSData? {
        item.reference.map { NSData(data: Data($0.itemClass.rawValue.utf8) + $0.identity) }
    }

    /// Returns the data of an item: a secret, a certificate's DER, or the key in the form of
    /// SecKeyCopyExternalRepresentation.
    ///
    /// - Returns: `nil` for an item without data, and for a key that cannot leave its token.
    func data(of item: Item) throws -> Data? {
        guard item.isOnToken else {
            return item.hasSecret ? try item.opened(keychain.secret(of: item), with: credential)?.copyData() : nil
        }
        switch item.itemClass {
        case .certificate: return item.certificateDER
        case .key: return try KeyMaterial.data(of: item, in: keychain)
        default: return nil
        }
    }

    /// Returns the object for an item; `nil` for passwords, for bytes that are not a key or certificate, and for
    /// unusable keys.
    func reference(to item: Item) throws -> AnyObject? {
        switch item.itemClass {
        case .genericPassword, .internetPassword: return nil
        case .certificate: return try certificate(item)
        case .key: return try KeyMaterial.reference(to: item, in: keychain)
        case .identity:
            guard let certificate = try certificate(item) else { return nil }
            let identity = Identity(item: item)
            return try KeyMaterial.ofUsableKey { () throws -> SecIdentity? in
                let key = SecKey(.token(try keychain.keys.tokenKey(for: identity)), item: identity.key.item)
                return SecIdentity(certificate: certificate, privateKey: key, item: item)
            }
        }
    }

    private func certificate(_ item: Item) throws -> SecCertificate? {
        if item.certificateDER != nil {
            let certificate = item.itemClass == .identity
                ? try Identity(item: item).certificate() : try CertificateItem(item: item).certificate()
            return SecCertificate(certificate, item: item)
        }
        guard let data = try data(of: item) else { return nil }
        // An item of class certificate may hold bytes that are not a certificate.
        return (try? Certificate(der: data)).map { SecCertificate($0, item: item) }
    }
}

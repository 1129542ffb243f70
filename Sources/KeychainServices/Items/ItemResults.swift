import Foundation
import Keyfob
import KeyfobPrimitives
import OpenSSL

/// What calls give back of items, in the shape that the kSecReturn… keys ask for (apple-secitem 2.8).
struct ItemResults {
    private let keychain: Keychain
    private let returns: ReturnKinds
    private let credential: SecretBytes?

    /// What a request asks for.
    init(keychain: Keychain, request: ItemRequest) {
        self.keychain = keychain
        returns = request.returns
        credential = request.credential
    }

    /// The result of one item; `nil` for an item whose data fails its integrity check, which counts as not there.
    func undamaged(_ item: Item) throws -> (value: AnyObject?, Void)? {
        // Who asks for nothing but whether it is there must know the password that it is under, as with Apple.
        let isOpened = returns.contains(.data)
            || returns.isEmpty && item.asksForPassword && !item.itemClass.livesOnToken
        do { return (try result(item, data: isOpened ? data(of: item) : nil), ()) } catch
            let error as KeychainError where error.code == .vaultDamaged || error.code == .itemNotFound
        { return nil }
    }

    /// The result of an item that was just added; empty data where it has none.
    func added(_ item: Item, data: Data?) throws -> AnyObject? {
        let isDataAlone = returns == .data
        return try result(item, data: data ?? (isDataAlone ? Data() : nil), digestsData: true)
    }

    /// The result of one item with its data.
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

    /// What becomes a dictionary: to set its members one by one costs four times as much.
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

    /// What every item has, whether it was stored or not.
    private struct ImpliedMembers: OptionSet {
        let rawValue: UInt8
        static let synchronizable = ImpliedMembers(rawValue: 1)
        static let multiUser = ImpliedMembers(rawValue: 2)
        static let accessGroup = ImpliedMembers(rawValue: 4)
        static let accessible = ImpliedMembers(rawValue: 8)
        static let tombstone = ImpliedMembers(rawValue: 16)
        static let all: ImpliedMembers = [.synchronizable, .multiUser, .accessGroup, .accessible, .tombstone]

        init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The member of an attribute that has a default; `nil` for one that is not told unless it was given.
        init?(_ name: AttributeName) {
            switch name {
            case .accessGroup: self = .accessGroup
            case .accessible: self = .accessible
            case .tombstone: self = .tombstone
            default: return nil
            }
        }
    }

    /// Attributes that come only together with the data.
    static let withData: Set<AttributeName> = [
        .extraNotes, .extraHistory, .clientDefined0, .clientDefined1, .clientDefined2, .clientDefined3,
    ]

    /// `kSecAttrSHA1`: made of all attributes and the data when it is asked for, and kept nowhere, so that nothing
    /// in the vault helps somebody who guesses secrets.
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

    /// The digest of an item whose data is read for it.
    func digest(of item: Item) throws -> Data { Self.digest(of: item, try data(of: item)) }

    // MARK: Data and references

    /// The first 20 bytes of a reference are all that names an item; where on a token it is, may change.
    static func persistentReference(to item: Item) -> NSData? {
        item.reference.map { NSData(data: Data($0.itemClass.rawValue.utf8) + $0.identity) }
    }

    /// The data of an item: a secret, a certificate's DER, what SecKeyCopyExternalRepresentation gives of a key. `nil`
    /// for an item without data, and for a key that cannot leave its token.
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

    /// The object that stands for an item; `nil` for passwords, for what is no key or certificate, and for a key of no
    /// use.
    func reference(to item: Item) throws -> AnyObject? {
        switch item.itemClass {
        case .genericPassword, .internetPassword: return nil
        case .certificate: return try certificate(item)
        case .key: return try KeyMaterial.reference(to: item, in: keychain)
        case .identity:
            guard let certificate = try certificate(item) else { return nil }
            let identity = Identity(item: item)
            return try KeyMaterial.ofUsableKey { () throws -> SecIdentity? in
                let key = SecKey(.token(try keychain.tokenKey(for: identity)), item: identity.key.item)
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
        // Bytes that are no certificate were stored by somebody all the same.
        return (try? Certificate(der: data)).map { SecCertificate($0, item: item) }
    }
}

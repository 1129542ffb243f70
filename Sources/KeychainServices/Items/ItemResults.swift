import Foundation
import Keyfob
import KeyfobPrimitives
import OpenSSL

/// What calls give back of items, in the shape that the kSecReturn… keys ask for (apple-secitem 2.8).
struct ItemResults {
    let keychain: Keychain
    let request: ItemRequest

    /// The result of one item; `nil` for an item whose data fails its integrity check, which counts as not there.
    func undamaged(_ item: Item) throws -> (value: AnyObject?, Void)? {
        do { return (try result(item, data: request.returns.contains(.data) ? data(of: item) : nil), ()) } catch
            let error as KeychainError where error.code == .vaultDamaged || error.code == .itemNotFound
        { return nil }
    }

    /// The result of an item that was just added; empty data where it has none.
    func added(_ item: Item, data: Data?) throws -> AnyObject? {
        let isDataAlone = request.returns == .data
        return try result(item, data: data ?? (isDataAlone ? Data() : nil), digestsData: true)
    }

    /// The result of one item with its data.
    private func result(_ item: Item, data: Data?, digestsData: Bool = false) throws -> AnyObject? {
        let returns = request.returns
        guard returns.isCombined || returns == .attributes else {
            switch returns {
            case .data: return data.map { NSData(data: $0) }
            case .reference: return try reference(to: item)
            case .persistentReference: return Self.persistentReference(to: item)
            default: return nil
            }
        }
        let dictionary = NSMutableDictionary()
        if returns.contains(.attributes) {
            add(attributesOf: item, to: dictionary, withData: returns.contains(.data))
            if digestsData || returns.contains(.data) {
                dictionary.setObject(NSData(data: Self.digest(of: item, data)), forKey: NSString(string: "sha1"))
            }
        }
        dictionary.setObject(NSString(string: item.itemClass.rawValue), forKey: NSString(string: "class"))
        if returns.contains(.data), let data {
            dictionary.setObject(NSData(data: data), forKey: NSString(string: "v_Data"))
        }
        if returns.contains(.reference), let reference = try reference(to: item) {
            dictionary.setObject(reference, forKey: NSString(string: "v_Ref"))
        }
        if returns.contains(.persistentReference), let reference = Self.persistentReference(to: item) {
            dictionary.setObject(reference, forKey: NSString(string: "v_PersistentRef"))
        }
        return dictionary
    }

    // MARK: Attributes

    private func add(attributesOf item: Item, to dictionary: NSMutableDictionary, withData: Bool) {
        var attributes = ItemOperations.defaults(of: item.itemClass)
        attributes.merge([.synchronizable: 0, .multiUser: .data(Data())])
        attributes.merge(item.attributes)
        for (name, value) in attributes where AttributeCoding.isAttribute(name, of: item.itemClass) {
            guard withData || !Self.withData.contains(name) else { continue }
            dictionary.setObject(AttributeCoding.object(value, for: name), forKey: NSString(string: name.rawValue))
        }
        guard attributes[.accessControl] == nil, let protection = attributes[.accessible]?.text else { return }
        dictionary.setObject(
            SecAccessControl(protection: protection, flags: []),
            forKey: NSString(string: AttributeName.accessControl.rawValue))
    }

    /// Attributes that come only together with the data.
    private static let withData: Set<AttributeName> = [
        .extraNotes, .extraHistory, .clientDefined0, .clientDefined1, .clientDefined2, .clientDefined3,
    ]

    /// `kSecAttrSHA1`: made of all attributes and the data when it is asked for, and kept nowhere, so that nothing
    /// in the vault helps somebody who guesses secrets.
    static func digest(of item: Item, _ data: Data?) -> Data {
        Digest.sha1(Data(item.itemClass.rawValue.utf8) + Data(item.attributes.encoded) + (data ?? Data()))
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
        guard item.isOnToken else { return item.hasSecret ? try keychain.secret(of: item)?.copyData() : nil }
        switch item.itemClass {
        case .certificate: return item.certificateDER
        case .key: return try KeyMaterial.data(of: item, in: keychain)
        default: return nil
        }
    }

    /// The object that stands for an item; `nil` for passwords, and for what is no key or certificate.
    func reference(to item: Item) throws -> AnyObject? {
        switch item.itemClass {
        case .genericPassword, .internetPassword: return nil
        case .certificate: return try certificate(item)
        case .key: return try KeyMaterial.reference(to: item, in: keychain)
        case .identity:
            guard let certificate = try certificate(item) else { return nil }
            let key = SecKey(.token(try keychain.tokenKey(for: Identity(item: item))), item: Identity(item: item).key.item)
            return SecIdentity(certificate: certificate, privateKey: key, item: item)
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

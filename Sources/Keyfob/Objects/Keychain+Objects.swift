import Foundation
import KeyfobPrimitives
import OpenSSL
public import PKCS11

/// The keychain's token as other programs see it: what it shows to everybody, and the URIs of its objects.
extension Keychain {
    /// The certificates that the token shows to everybody, in no particular order; nobody is logged in.
    ///
    /// Where the vault's index is still true the token is not opened either, so that a thousand certificates
    /// cost one look at the database. What only the vault knows (comments, dates) is missing, and certificates
    /// that need a login are: ``find(_:)`` has both.
    ///
    /// - Parameter label: Only certificates with this label; nothing else is parsed then.
    /// - Throws: `KeychainError` where the vault, or the token where it is needed, cannot be read.
    @available(*, noasync, message: "use the asynchronous form")
    public func publicCertificates(label: String? = nil) throws -> [CertificateItem] {
        let label = label.map { AttributeValue.string($0) }
        return try items(.certificate, index.objects(nil), nil) { object in
            label.map { object.label?.matches($0) ?? false } ?? true
        }.map { CertificateItem(item: $0) }
    }

    /// The RFC 7512 URI of a certificate or key, by which other programs find it on the token.
    ///
    /// Of an identity it is the private key's. With a PIN that lies in a file the URI names the file, so that a
    /// program which knows `pin-source` needs nothing else; the PIN itself is never part of it. A file in which a
    /// newline follows the PIN is not named: others would send that to the token too. Does not touch the token.
    ///
    /// - Throws: `KeychainError` with code `invalidArgument` for an item that is not on a token.
    public func uri(of item: some KeychainItem) throws -> PKCS11URI {
        guard let object = item.item.object else {
            throw KeychainError(.invalidArgument, "only certificates and keys on a token have a PKCS#11 URI.")
        }
        var uri = PKCS11URI()
        uri.token = token.uri.token
        uri.serial = token.uri.serial
        uri.object = object.label?.text
        uri.id = object.id.isEmpty ? nil : [UInt8](object.id)
        uri.type = object.objectClass
        if object.objectClass == .privateKey || object.objectClass == .secretKey {
            uri.pinSource = plainPINFile.map { "file:" + $0 }
        }
        return uri
    }

    /// The label of the keychain's token.
    public var tokenLabel: String { token.label }

    /// Whether a URI names an item of this keychain: token, and what it says of label, id and class.
    ///
    /// The class is not compared for identities, which are a certificate and a key at once.
    public func matches(_ uri: PKCS11URI, _ item: some KeychainItem) -> Bool {
        guard let object = item.item.object, uri.unrecognizedAttributes.isEmpty else { return false }
        let own = token.uri
        func fits(_ wanted: String?, _ actual: String?) -> Bool {
            guard let wanted, let actual else { return true }
            return wanted.isIdentical(to: actual)
        }
        guard fits(uri.token, own.token), fits(uri.serial, own.serial), fits(uri.manufacturer, own.manufacturer),
            fits(uri.model, own.model)
        else { return false }
        if let label = uri.object {
            let labels = [object.label, item.item.certificateObject?.label].compactMap { $0?.text }
            guard labels.contains(where: { $0.isIdentical(to: label) }) else { return false }
        }
        if let id = uri.id, Data(id) != object.id { return false }
        if let type = uri.type, item.item.itemClass != .identity, type != object.objectClass { return false }
        return true
    }

    /// The names of the keys on the token that seal this keychain; no search finds them, and none may be removed.
    ///
    /// - Throws: `KeychainError` where the vault cannot be read.
    public func wrappingKeyNames() throws -> [String] { try wrappingKeyRows().map(\.keyID) }

    /// Adds certificates to the token, all or none: for many at once, in one step.
    ///
    /// - Throws: As for one certificate; `duplicateItem` where the token has one of them.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func add(contentsOf certificates: [CertificateItem]) throws -> [CertificateItem] {
        guard !certificates.isEmpty else { return [] }
        return try addCertificates(certificates.map(\.item)).map { CertificateItem(item: $0) }
    }
}

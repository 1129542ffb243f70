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
        return try items(.certificate, publicObjects(), nil) { object in
            label.map { object.nameWithoutRow?.matches($0) ?? false } ?? true
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
        try uri(of: item.item.object)
    }

    /// The RFC 7512 URI of the certificate of an identity, which may have another label and identifier than the key.
    ///
    /// - Parameter identity: An identity that was found in this keychain.
    /// - Returns: The URI of the certificate object.
    /// - Throws: As `uri(of:)`.
    public func certificateURI(of identity: Identity) throws -> PKCS11URI {
        try uri(of: identity.item.certificateObject)
    }

    private func uri(of object: TokenObject?) throws -> PKCS11URI {
        guard let object else {
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

    /// Whether a URI names an item of this keychain: every attribute of the URI must fit (RFC 7512, section 2.5).
    ///
    /// An identity is a certificate and a key, and the URI of either names it. Asks the token where the URI says
    /// something that the keychain's configuration does not know, such as a slot.
    ///
    /// - Parameters:
    ///   - uri: The URI.
    ///   - item: An item that was found in this keychain.
    /// - Returns: `false` also for an item that is not on the token.
    /// - Throws: `KeychainError` where the token has to be asked and is not there.
    public func matches(_ uri: PKCS11URI, _ item: some KeychainItem) throws -> Bool {
        let objects = [item.item.object, item.item.certificateObject].compactMap(\.self)
        guard uri.unrecognizedAttributes.isEmpty, objects.contains(where: { $0.isNamed(by: uri) }) else { return false }
        return try isOnToken(uri)
    }

    /// Whether the token attributes of a URI, and those of slot and module, fit the keychain's token.
    private func isOnToken(_ uri: PKCS11URI) throws -> Bool {
        let parts: [KeyPath<PKCS11URI, String?>] = [\.token, \.serial, \.manufacturer, \.model]
        let unknown = parts.filter { part in
            guard let wanted = uri[keyPath: part] else { return false }
            guard let own = token.uri[keyPath: part] else { return true }
            return !wanted.isIdentical(to: own)
        }
        if unknown.contains(where: { token.uri[keyPath: $0] != nil }) { return false }
        guard !unknown.isEmpty || uri.namesSlotOrModule else { return true }
        let slot = try slot()
        do throws(PKCS11Error) {
            guard try uri.matches(slot.tokenInfo()) else { return false }
            return try uri.matches(slot)
        } catch {
            throw KeychainError.token(error, .read, token: token.label, serial: token.uri.serial)
        }
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

extension TokenObject {
    /// Whether the object attributes of a URI fit the object.
    fileprivate func isNamed(by uri: PKCS11URI) -> Bool {
        if let wanted = uri.object {
            guard let own = label == nil ? "" : label?.text, own.isIdentical(to: wanted) else { return false }
        }
        return (uri.id.map { Data($0) == id } ?? true) && (uri.type.map { $0 == objectClass } ?? true)
    }
}

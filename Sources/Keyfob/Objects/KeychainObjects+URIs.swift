import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
public import PKCS11

/// The URIs by which other programs find the objects on the token.
extension KeychainObjects {
    /// The RFC 7512 URI by which other programs find a certificate or key on the token.
    ///
    /// For an identity, this is the URI of the private key. If the PIN is in a file, the URI names the file, so that a
    /// program that supports `pin-source` needs nothing else. The PIN itself is never part of the URI. A PIN file that
    /// ends in a newline is not named, because other programs would send the newline to the token. Does not access the
    /// token.
    ///
    /// - Throws: `KeychainError` with code `invalidArgument` for an item that is not on a token.
    public func uri(of item: some KeychainItem) throws -> PKCS11URI {
        try uri(of: item.item.object)
    }

    /// The RFC 7512 URI of an identity's certificate, which may have another label and identifier than the key.
    ///
    /// - Parameter identity: An identity that was found in this keychain.
    /// - Returns: The URI of the certificate object.
    /// - Throws: `KeychainError` with code `invalidArgument` for an identity that is not on a token.
    public func certificateURI(of identity: Identity) throws -> PKCS11URI {
        try uri(of: identity.item.certificateObject)
    }

    private func uri(of object: TokenObject?) throws -> PKCS11URI {
        guard let object else {
            throw KeychainError(.invalidArgument, "only certificates and keys on a token have a PKCS#11 URI.")
        }
        var uri = PKCS11URI()
        uri.token = keychain.token.currentURI.token
        uri.serial = keychain.token.uri.serial
        uri.object = object.label?.text
        uri.id = object.id.isEmpty ? nil : [UInt8](object.id)
        uri.type = object.objectClass
        if object.objectClass == .privateKey || object.objectClass == .secretKey {
            uri.pinSource = plainPINFile.map { "file:" + $0 }
        }
        return uri
    }

    /// Whether a URI matches an item of this keychain: every attribute of the URI must match (RFC 7512, section 2.5).
    ///
    /// The URI of the certificate and that of the key both match an identity. The token is accessed if the URI has an
    /// attribute that the configuration does not know, such as a slot.
    ///
    /// - Parameters:
    ///   - uri: The URI.
    ///   - item: An item that was found in this keychain.
    /// - Returns: `false` also for an item that is not on the token.
    /// - Throws: `KeychainError` if the token must be accessed and is not available.
    public func matches(_ uri: PKCS11URI, _ item: some KeychainItem) throws -> Bool {
        try keychain.withDeadline { [self] in
            let objects = [item.item.object, item.item.certificateObject].compactMap(\.self)
            guard uri.unrecognizedAttributes.isEmpty, objects.contains(where: { $0.isNamed(by: uri) }) else {
                return false
            }
            return try isOnToken(uri)
        }
    }

    /// Whether the token, slot and module attributes of a URI match the keychain's token.
    private func isOnToken(_ uri: PKCS11URI) throws -> Bool {
        let parts: [KeyPath<PKCS11URI, String?>] = [\.token, \.serial, \.manufacturer, \.model]
        let known = keychain.token.currentURI
        let unknown = parts.filter { part in
            guard let wanted = uri[keyPath: part] else { return false }
            guard let own = known[keyPath: part] else { return true }
            return !wanted.isIdentical(to: own)
        }
        if unknown.contains(where: { known[keyPath: $0] != nil }) { return false }
        guard !unknown.isEmpty || uri.namesSlotOrModule else { return true }
        let slot = try slot()
        do throws(PKCS11Error) {
            guard try uri.matches(slot.tokenInfo()) else { return false }
            return try uri.matches(slot)
        } catch {
            throw KeychainError.token(error, .read, token: keychain.token.label, serial: keychain.token.uri.serial)
        }
    }

    /// The names of the wrapping keys on the token that seal this keychain. No search returns them, and they must not
    /// be removed.
    ///
    /// - Throws: `KeychainError` if the vault cannot be read.
    public func wrappingKeyNames() throws -> [String] { try keychain.vaultRows.wrappingKeyRows().map(\.keyID) }
}

extension TokenObject {
    /// Whether the object attributes of a URI match the object.
    func isNamed(by uri: PKCS11URI) -> Bool {
        if let wanted = uri.object {
            guard let own = label == nil ? "" : label?.text, own.isIdentical(to: wanted) else { return false }
        }
        return (uri.id.map { Data($0) == id } ?? true) && (uri.type.map { $0 == objectClass } ?? true)
    }
}

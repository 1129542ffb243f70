package import KeyfobPrimitives
package import PKCS11

/// `A256KW` (RFC 7518 section 4.4): the token wraps the key with `CKM_AES_KEY_WRAP` (RFC 3394).
///
/// The key passes through a session object, because tokens wrap objects and not bytes. SoftHSM silently zero-pads keys
/// whose length is not a multiple of eight bytes; row keys have 32 bytes.
package struct AESKeyWrapSuite: SecretKeyWrapSuite {
    package var name: String { "A256KW" }

    package var mechanisms: [MechanismType] { [.aesKeyGeneration, .aesKeyWrap] }

    package func generateKey(
        label: String, id: [UInt8], in session: borrowing Session
    ) throws -> (key: ObjectHandle, publicKey: ObjectHandle?) {
        let template = AttributeTemplate.wrappingKey(label: label, id: id, wrapsObjects: true)
        return (try session.generateKey(Mechanism(.aesKeyGeneration), template: template), nil)
    }

    private static let carrier: AttributeTemplate = [
        .objectClass(.secretKey), .keyType(.genericSecret), .token(false), .isPrivate(true), .sensitive(false),
        .extractable(true),
    ]

    package func wrap(
        _ key: SecretBytes, with wrappingKey: WrappingKey, in session: borrowing Session
    ) throws -> [UInt8] {
        var template = Self.carrier
        template.append(.secret(.value, key))
        let object = try session.create(template)
        let wrapped: [UInt8]
        do { wrapped = try session.wrap(object, with: wrappingKey.handle, using: Mechanism(.aesKeyWrap)) } catch {
            try session.destroy(object)
            throw error
        }
        try session.destroy(object)
        return wrapped
    }

    package func unwrap(
        _ bytes: [UInt8], with wrappingKey: WrappingKey, in session: borrowing Session
    ) throws -> SecretBytes {
        let object = try session.unwrap(
            bytes, with: wrappingKey.handle, using: Mechanism(.aesKeyWrap), template: Self.carrier)
        let value = try session.secretAttribute(.value, of: object)
        try session.destroy(object)
        guard let value else {
            throw PKCS11Error(
                function: .getAttributeValue, returnValue: .attributeSensitive, detail: "an unwrapped key")
        }
        return value
    }
}

import KeyfobOpenSSL
import KeyfobPrimitives
package import PKCS11

/// The suites that this version knows.
package enum WrapSuites {
    /// All suites, the preferred one first.
    ///
    /// The secret-key suites are the fastest. Among the others, key agreement is faster than RSA, and RSA works on
    /// nearly every token.
    package static let all: [any WrapSuite] = [
        AESGCMKeyWrap(), AESKeyWrapSuite(), ECDHKeyWrap(), RSAOAEPKeyWrap(hash: .sha256), RSAOAEPKeyWrap(hash: .sha1),
    ]

    /// Returns the suite with a JOSE name.
    ///
    /// - Throws: `KeychainError` with code `vaultTooNew` for an unknown name.
    package static func named(_ name: String) throws(KeychainError) -> any WrapSuite {
        guard let suite = all.first(where: { $0.name == name }) else {
            throw KeychainError(
                .vaultTooNew, "the keychain wraps its keys with \(name), which this program does not know.",
                hint: "Update keyfob. Nothing was changed.")
        }
        return suite
    }

    /// Checks that the token wraps and unwraps with a key, and notices a changed byte if the key is secret.
    ///
    /// - Throws: `PKCS11Error`; `KeychainError` if the token's results do not have the form of the suite.
    static func prove(_ suite: any WrapSuite, _ key: WrappingKey, in session: borrowing Session) throws {
        let sample = try RandomBytes.secret(count: 32)
        var wrapped = try suite.wrap(sample, with: key, in: session)
        guard try suite.unwrap(wrapped, with: key, in: session) == sample, wrapped.count > 32 else {
            throw KeychainError(.tokenContractViolation, "a wrapped key came back changed")
        }
        // Any program can wrap with a public key, so nothing depends on it.
        guard suite is any SecretKeyWrapSuite else { return }
        wrapped[wrapped.count - 1] ^= 1
        if try isAccepted(wrapped, suite, key, in: session) {
            throw KeychainError(.tokenContractViolation, "a changed byte was not noticed")
        }
    }

    private static func isAccepted(
        _ bytes: [UInt8], _ suite: any WrapSuite, _ key: WrappingKey, in session: borrowing Session
    ) throws -> Bool {
        do { _ = try suite.unwrap(bytes, with: key, in: session) } catch { return false }
        return true
    }
}

extension ReturnValue {
    /// `CKR_VENDOR_DEFINED`, the first of the values that vendors define.
    fileprivate static let firstOfVendors: UInt = 0x8000_0000
}

extension PKCS11Error {
    /// Whether the token lacks something that a suite needs; other errors do not answer this question.
    package var isRefusalOfSuite: Bool {
        [
            .mechanismInvalid, .mechanismParameterInvalid, .argumentsBad, .functionNotSupported, .actionProhibited,
            .templateInconsistent, .templateIncomplete, .attributeTypeInvalid,
            .attributeValueInvalid, .attributeReadOnly, .attributeSensitive, .keySizeRange, .keyTypeInconsistent,
            .keyFunctionNotPermitted, .keyNotWrappable, .keyUnextractable, .keyNotNeeded, .wrappingKeySizeRange,
            .wrappingKeyTypeInconsistent, .unwrappingKeySizeRange, .unwrappingKeyTypeInconsistent, .wrappedKeyInvalid,
            .wrappedKeyLengthRange, .dataInvalid, .dataLengthRange, .encryptedDataInvalid, .encryptedDataLengthRange,
            .aeadDecryptFailed,
        ].contains(returnValue)
    }

    /// Whether the error says that something failed, but not why.
    var isUninformative: Bool {
        [.generalError, .functionFailed].contains(returnValue)
            || returnValue.rawValue >= ReturnValue.firstOfVendors
    }
}

extension AttributeTemplate {
    /// An AES-256 key that seals a vault: sensitive, not extractable, and permitted for one use.
    ///
    /// - Parameters:
    ///   - label: The label of the key.
    ///   - id: The `CKA_ID` of the key.
    ///   - wrapsObjects: Whether the key wraps and unwraps objects; otherwise it encrypts and decrypts bytes.
    package static func wrappingKey(label: String, id: [UInt8], wrapsObjects: Bool) -> AttributeTemplate {
        [
            .objectClass(.secretKey), .keyType(.aes), .ulong(.valueLength, 32), .label(label), .id(id),
            .token(true), .isPrivate(true), .sensitive(true), .extractable(false),
            .bool(.encrypt, !wrapsObjects), .bool(.decrypt, !wrapsObjects), .bool(.wrap, wrapsObjects),
            .bool(.unwrap, wrapsObjects), .bool(.sign, false), .bool(.verify, false), .bool(.derive, false),
        ]
    }

    /// One half of a key pair that seals a vault.
    ///
    /// Only the uses that are permitted are in the template: tpm2-pkcs11 fails if another one is there as false.
    ///
    /// - Parameters:
    ///   - half: The class of the half.
    ///   - label: The label of both halves.
    ///   - id: The `CKA_ID` of both halves.
    ///   - other: The attributes of the algorithm.
    static func wrappingKey(
        _ half: ObjectClass, label: String, id: [UInt8], adding other: AttributeTemplate
    ) -> AttributeTemplate {
        var template: AttributeTemplate = [.objectClass(half), .token(true), .label(label), .id(id)]
        if half == .privateKey {
            template.append(contentsOf: [.isPrivate(true), .sensitive(true), .extractable(false)])
        } else {
            template.append(.isPrivate(false))
        }
        template.append(contentsOf: other)
        return template
    }
}

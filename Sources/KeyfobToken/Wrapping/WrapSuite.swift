package import KeyfobPrimitives
package import PKCS11

/// A way to wrap 32-byte keys under a key on the token.
///
/// Suites have their JOSE names (RFC 7518 section 4.1), so that a row can be printed as a JWE that any JOSE tool opens.
/// A new keychain tries the suites to choose one, because a listed mechanism may not work. An asymmetric suite would
/// fit the same calls; its `wrap` could use only the public key.
package protocol WrapSuite: Sendable {
    /// The name of the suite: `alg` of JOSE.
    var name: String { get }

    /// Makes a wrapping key on the token that is sensitive, not extractable, and usable only for wrapping.
    func generateKey(
        label: String, id: [UInt8], isPermanent: Bool, in session: borrowing Session
    ) throws -> ObjectHandle

    /// Wraps a key with one call of the token.
    func wrap(_ key: SecretBytes, with wrappingKey: ObjectHandle, in session: borrowing Session) throws -> [UInt8]

    /// Unwraps a key with one call of the token.
    func unwrap(_ bytes: [UInt8], with wrappingKey: ObjectHandle, in session: borrowing Session) throws -> SecretBytes

    /// Returns the members of a JWE recipient for a wrapped key: the header parameters beside `alg` and `kid`, and
    /// `encrypted_key`.
    func members(of bytes: [UInt8]) -> (header: [(name: String, value: String)], encryptedKey: [UInt8])
}

/// The suites that this version knows.
package enum WrapSuites {
    /// All suites, the preferred one first.
    package static let all: [any WrapSuite] = [AESGCMKeyWrap(), AESKeyWrapSuite()]

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

    /// Returns the first suite that the token carries out: generate, wrap, unwrap, compare, and reject a changed byte.
    ///
    /// The probe uses only session keys, so nothing stays on the token. A keychain keeps its suite for its lifetime, so
    /// transient errors and errors of the device do not decide against a suite.
    ///
    /// - Throws: `KeychainError` with code `mechanismUnsupported`, which names the failures; `PKCS11Error` for an error
    ///   that does not show what the token supports.
    package static func choose(in session: borrowing Session) throws -> any WrapSuite {
        var failures: [String] = []
        for suite in all {
            do {
                try prove(suite, attempts: 3, in: session)
                return suite
            } catch let error as PKCS11Error {
                guard error.isRefusalOfSuite || error.isUninformative else { throw error }
                failures.append("\(suite.name) (\(error.function.rawValue): \(error.returnValue.name))")
            } catch let error as KeychainError {
                // The token's result does not have the form of the suite.
                failures.append("\(suite.name) (\(error.message))")
            }
        }
        throw KeychainError(
            .mechanismUnsupported,
            "this token can wrap keys in no way that Keyfob knows: \(failures.joined(separator: ", ")).",
            hint: "Every keychain needs one of them, for the key that seals its passwords. Use another token.")
    }

    /// Tries a suite, and tries it again after an error that gives no reason.
    ///
    /// Some tokens return such an error for an unsupported mechanism, and most return it for transient failures.
    private static func prove(_ suite: any WrapSuite, attempts: Int, in session: borrowing Session) throws {
        do { try prove(suite, in: session) } catch
            let error as PKCS11Error where error.isUninformative && attempts > 1
        {
            try prove(suite, attempts: attempts - 1, in: session)
        }
    }

    private static func prove(_ suite: any WrapSuite, in session: borrowing Session) throws {
        let id = try session.random(count: 20)
        let key = try suite.generateKey(label: "keyfob-probe", id: id, isPermanent: false, in: session)
        // A key that is not destroyed here ends with the session.
        defer { try? session.destroy(key) }
        let sample = SecretBytes(try session.random(count: 32))
        var wrapped = try suite.wrap(sample, with: key, in: session)
        guard try suite.unwrap(wrapped, with: key, in: session) == sample, wrapped.count > 32 else {
            throw KeychainError(.tokenContractViolation, "a wrapped key came back changed")
        }
        wrapped[wrapped.count - 1] ^= 1
        do { _ = try suite.unwrap(wrapped, with: key, in: session) } catch { return }
        throw KeychainError(.tokenContractViolation, "a changed byte was not noticed")
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
    fileprivate var isUninformative: Bool {
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
    ///   - isPermanent: Whether the key is a token object; otherwise it is a session object.
    ///   - wrapsObjects: Whether the key wraps and unwraps objects; otherwise it encrypts and decrypts bytes.
    package static func wrappingKey(
        label: String, id: [UInt8], isPermanent: Bool, wrapsObjects: Bool
    ) -> AttributeTemplate {
        [
            .objectClass(.secretKey), .keyType(.aes), .ulong(.valueLength, 32), .label(label), .id(id),
            .token(isPermanent), .isPrivate(true), .sensitive(true), .extractable(false),
            .bool(.encrypt, !wrapsObjects), .bool(.decrypt, !wrapsObjects), .bool(.wrap, wrapsObjects),
            .bool(.unwrap, wrapsObjects), .bool(.sign, false), .bool(.verify, false), .bool(.derive, false),
        ]
    }
}

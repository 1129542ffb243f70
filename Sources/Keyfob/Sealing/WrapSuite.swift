import KeyfobPrimitives
import PKCS11

/// A way to wrap 32-byte keys under a key that lives on the token.
///
/// Named as in JOSE (RFC 7518 section 4.1), so that a row can be printed as a JWE that any JOSE tool
/// opens. Which suite a keychain uses is chosen by trying, when it is made: a listed mechanism proves
/// nothing. An asymmetric suite fits the same calls; its `wrap` may use the public half alone.
protocol WrapSuite: Sendable {
    /// `alg` of JOSE.
    var name: String { get }

    /// Makes a wrapping key on the token: sensitive, not extractable, its usage limited to wrapping.
    func generateKey(
        label: String, id: [UInt8], isPermanent: Bool, in session: borrowing Session
    ) throws -> ObjectHandle

    /// Wraps a key. One token operation.
    func wrap(_ key: SecretBytes, with wrappingKey: ObjectHandle, in session: borrowing Session) throws -> [UInt8]

    /// Unwraps a key. One token operation.
    func unwrap(_ bytes: [UInt8], with wrappingKey: ObjectHandle, in session: borrowing Session) throws -> SecretBytes

    /// The members of a JWE recipient for a wrapped key: header parameters beside `alg` and `kid`, and `encrypted_key`.
    func members(of bytes: [UInt8]) -> (header: [(name: String, value: String)], encryptedKey: [UInt8])
}

/// The suites this version knows.
enum WrapSuites {
    /// In order of preference.
    static let all: [any WrapSuite] = [AESGCMKeyWrap(), AESKeyWrapSuite()]

    /// The suite of a JOSE name.
    static func named(_ name: String) throws(KeychainError) -> any WrapSuite {
        guard let suite = all.first(where: { $0.name == name }) else {
            throw KeychainError(
                .vaultTooNew, "the keychain wraps its keys with \(name), which this program does not know.",
                hint: "Update keyfob. Nothing was changed.")
        }
        return suite
    }

    /// The first suite that the token really carries out: generate, wrap, unwrap, compare, refuse a changed byte.
    ///
    /// Session keys only: nothing stays on the token. What goes wrong for a moment, or with the device, decides
    /// nothing: a keychain keeps its suite for good.
    ///
    /// - Throws: `KeychainError` with code `mechanismUnsupported` that names what is missing; `PKCS11Error` for what
    ///   says nothing of what the token can do.
    static func choose(in session: borrowing Session) throws -> any WrapSuite {
        var failures: [String] = []
        for suite in all {
            do {
                try prove(suite, attempts: 3, in: session)
                return suite
            } catch let error as PKCS11Error {
                guard error.isRefusalOfSuite || error.isUninformative else { throw error }
                failures.append("\(suite.name) (\(error.function.rawValue): \(error.returnValue.name))")
            } catch let error as KeychainError {
                // What came back has not the form of the suite.
                failures.append("\(suite.name) (\(error.message))")
            }
        }
        throw KeychainError(
            .mechanismUnsupported,
            "this token can wrap keys in no way that Keyfob knows: \(failures.joined(separator: ", ")).",
            hint: "Every keychain needs one of them, for the key that seals its passwords. Use another token.")
    }

    /// Tries a suite, and again where the token only says that something failed: some say no more of a mechanism that
    /// they do not have, and most say it of what goes wrong for a moment.
    private static func prove(_ suite: any WrapSuite, attempts: Int, in session: borrowing Session) throws {
        do { try prove(suite, in: session) } catch let error as PKCS11Error where error.isUninformative && attempts > 1 {
            try prove(suite, attempts: attempts - 1, in: session)
        }
    }

    private static func prove(_ suite: any WrapSuite, in session: borrowing Session) throws {
        let id = try session.random(count: 20)
        let key = try suite.generateKey(label: "keyfob-probe", id: id, isPermanent: false, in: session)
        // It ends with the session at the latest.
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
    /// `CKR_VENDOR_DEFINED`: from here on each vendor has names of its own.
    fileprivate static let firstOfVendors: UInt = 0x8000_0000
}

extension PKCS11Error {
    /// Whether the token does not know or cannot do what a suite needs; nothing else is an answer to the question.
    var isRefusalOfSuite: Bool {
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

    /// Whether the token says that something failed, and not what.
    fileprivate var isUninformative: Bool {
        [.generalError, .functionFailed].contains(returnValue)
            || returnValue.rawValue >= ReturnValue.firstOfVendors
    }
}

extension AttributeTemplate {
    /// An AES-256 key that seals a vault: sensitive, not extractable, and good for one use only.
    ///
    /// - Parameter wrapsObjects: Whether it wraps and unwraps objects, or else encrypts and decrypts bytes.
    static func wrappingKey(label: String, id: [UInt8], isPermanent: Bool, wrapsObjects: Bool) -> AttributeTemplate {
        [
            .objectClass(.secretKey), .keyType(.aes), .ulong(.valueLength, 32), .label(label), .id(id),
            .token(isPermanent), .isPrivate(true), .sensitive(true), .extractable(false),
            .bool(.encrypt, !wrapsObjects), .bool(.decrypt, !wrapsObjects), .bool(.wrap, wrapsObjects),
            .bool(.unwrap, wrapsObjects), .bool(.sign, false), .bool(.verify, false), .bool(.derive, false),
        ]
    }
}

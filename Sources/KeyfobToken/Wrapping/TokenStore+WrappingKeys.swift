import Foundation
package import KeyfobOpenSSL
import KeyfobPrimitives
package import PKCS11

/// Making and choosing the keys that wrap.
extension TokenStore {
    /// Makes a wrapping key of the first suite that the token carries out with it.
    ///
    /// A keychain keeps its suite for its lifetime, so transient errors and errors of the device do not decide against
    /// a suite. A listed mechanism may not work, so each key is used before it is chosen; a key that does not work is
    /// destroyed.
    ///
    /// - Parameters:
    ///   - label: The label of the key.
    ///   - id: The `CKA_ID` of the key, which no other object has.
    ///   - session: A session of the token.
    /// - Returns: The suite and the key.
    /// - Throws: `KeychainError` with code `mechanismUnsupported`, which names the failures; `PKCS11Error` for an error
    ///   that does not show what the token supports.
    package func makeWrappingKey(
        label: String, id: [UInt8], in session: borrowing Session
    ) throws -> (suite: any WrapSuite, key: WrappingKey) {
        let listed = Set(try session.slot.mechanisms())
        var failures: [String] = []
        var isCertain = true
        for suite in WrapSuites.all {
            if let missing = suite.mechanisms.first(where: { !listed.contains($0) }) {
                failures.append("\(suite.name) (no \(missing))")
                continue
            }
            do {
                return (suite, try makeWrappingKey(of: suite, attempts: 3, label: label, id: id, in: session))
            } catch {
                failures.append("\(suite.name) (\(try Self.reason(against: error)))")
                if (error as? PKCS11Error)?.isUninformative == true { isCertain = false }
                // A second key of this id could be taken for the first.
                guard try session.findObjects([.id(id), .token(true)]).isEmpty else { throw error }
            }
        }
        throw Self.noSuite(failures, isCertain: isCertain)
    }

    /// Makes a key and proves it, and does so again after an error without a reason.
    ///
    /// Some tokens return such an error for an unsupported mechanism, and most return it for transient failures.
    private func makeWrappingKey(
        of suite: any WrapSuite, attempts: Int, label: String, id: [UInt8], in session: borrowing Session
    ) throws -> WrappingKey {
        do {
            let made = try suite.generateKey(label: label, id: id, in: session)
            do {
                try AttributeReadBack.check(
                    made.key, [.token(true), .isPrivate(true), .sensitive(true), .extractable(false), .id(id)],
                    in: session, token: self.label)
            } catch {
                // By its handle: the token may have given it another id.
                if let half = made.publicKey { try? session.destroy(half) }
                throw error
            }
            var half: PublicKey?
            if let handle = made.publicKey { half = try publicKey(of: handle, in: session) }
            let key = WrappingKey(handle: made.key, publicKey: half)
            try WrapSuites.prove(suite, key, in: session)
            return key
        } catch {
            // The first error is the one to report, also if the key cannot be destroyed.
            let isGone = (try? destroyWrappingKey(id, label: label, in: session)) != nil
            guard isGone, attempts > 1, let failure = error as? PKCS11Error, failure.isUninformative else {
                throw error
            }
        }
        return try makeWrappingKey(of: suite, attempts: attempts - 1, label: label, id: id, in: session)
    }

    /// Destroys all objects of a wrapping key.
    ///
    /// Class, id and label of each object are read back first: a token may answer a search with other objects.
    ///
    /// - Throws: `PKCS11Error`.
    package func destroyWrappingKey(_ id: [UInt8], label: String, in session: borrowing Session) throws {
        for objectClass in [ObjectClass.secretKey, .privateKey, .publicKey] {
            for handle in try session.findObjects([.objectClass(objectClass), .id(id), .token(true)]) {
                let values = try session.attributes([.objectClass, .id, .label], of: handle)
                guard values.objectClass == objectClass, values[.id] == id, values[.label] == Array(label.utf8) else {
                    continue
                }
                try session.destroy(handle)
            }
        }
    }

    /// Returns the best suite for a key that is on the token already. Nothing on the token changes.
    ///
    /// - Parameters:
    ///   - object: The key.
    ///   - publicKey: The key's public half; `nil` for a secret key.
    ///   - session: A session of the token.
    /// - Returns: The suite and the key.
    /// - Throws: `KeychainError` with code `mechanismUnsupported` if no suite works with the key; `PKCS11Error` for an
    ///   error that does not show what the token supports.
    package func wrappingKey(
        _ object: TokenObject, publicKey: PublicKey?, in session: borrowing Session
    ) throws -> (suite: any WrapSuite, key: WrappingKey) {
        // Found as for every later use.
        guard let handle = try handle(ofWrappingKey: object.id, object.objectClass, in: session) else { throw gone() }
        let key = WrappingKey(handle: handle, publicKey: publicKey)
        var failures: [String] = []
        for suite in WrapSuites.all where suite.fits(object) {
            do {
                try WrapSuites.prove(suite, key, in: session)
                return (suite, key)
            } catch {
                failures.append("\(suite.name) (\(try Self.reason(against: error)))")
            }
        }
        throw Self.noSuite(failures, isCertain: true)
    }

    private func publicKey(of handle: ObjectHandle, in session: borrowing Session) throws -> PublicKey {
        guard let information = try publicHalf(handle, in: session)?.publicKeyInfo else {
            throw KeychainError(.tokenContractViolation, "the token does not show the public half of a new key")
        }
        return try PublicKey(subjectPublicKeyInfo: information)
    }

    /// Returns why a suite does not work.
    ///
    /// - Throws: `error` if it does not show what the token supports.
    private static func reason(against error: any Error) throws -> String {
        switch error {
        case let error as PKCS11Error where error.isRefusalOfSuite || error.isUninformative:
            "\(error.function.rawValue): \(error.returnValue.name)"
        case let error as KeychainError: error.message
        case let error where error.isAboutContent: "\(error)"
        default: throw error
        }
    }

    /// Returns the error for a token without a suite.
    ///
    /// - Parameters:
    ///   - failures: The suites with the reasons against them.
    ///   - isCertain: Whether the token gave all reasons. A general error may also mean that the device fails.
    private static func noSuite(_ failures: [String], isCertain: Bool) -> KeychainError {
        KeychainError(
            .mechanismUnsupported,
            "this token can wrap keys in no way that Keyfob knows: \(failures.joined(separator: ", ")).",
            remedies: [
                "A keychain needs one of them for the key that seals its passwords.",
                Remedy("Name a key on this token that can decrypt", .change(.wrappingKey)),
                Remedy("Or make a keychain for keys and certificates only", .change(.noPasswords)),
            ],
            details: isCertain ? [:] : ["uncertain": "true"])
    }
}

import Foundation
import KeyfobOpenSSL
import KeyfobPrimitives
import PKCS11

/// The key that seals a new keychain.
extension Keychain {
    /// Makes the wrapping key and the metadata key, and leaves the keychain unlocked.
    ///
    /// - Parameters:
    ///   - pin: The token's PIN.
    ///   - id: The key's `CKA_ID`.
    /// - Returns: The row of the wrapping key.
    /// - Throws: `KeychainError`, and errors of the token.
    func createWrappingKey(pin: SecretBytes, id: Data) throws -> WrappingKeyRow {
        try setPIN(pin)
        let keyID = configuration.wrappingKeyLabel
        let metadataKey = try RandomBytes.secret(count: 32)
        let row = try token.writingObjects {
            let row = try token.withSession(.generate, idempotent: false) { session in
                let (suite, key) = try token.makeWrappingKey(label: keyID, id: [UInt8](id), in: session)
                return try self.row(keyID, id, suite, key, metadataKey, in: session)
            }
            // Losing the key loses every password. `nil` makes the whole token durable: Keyfob's own token is as new as
            // the key.
            try token.changeDetector?.makeDurable()
            return row
        }
        return try record(row, metadataKey)
    }

    /// Takes a key on the token as the wrapping key, makes the metadata key, and leaves the keychain unlocked.
    ///
    /// Nothing on the token changes.
    ///
    /// - Parameters:
    ///   - uri: Names the key.
    ///   - pin: The token's PIN.
    /// - Returns: The row of the wrapping key.
    /// - Throws: `KeychainError`; `itemNotFound`, `ambiguous`, `mechanismUnsupported`; errors of the token.
    func adoptWrappingKey(_ uri: PKCS11URI, pin: SecretBytes) throws -> WrappingKeyRow {
        try setPIN(pin)
        let metadataKey = try RandomBytes.secret(count: 32)
        let objects = try token.withSession(.read) { try token.list(in: $0).objects }
        let found = objects.filter { object in
            [.secretKey, .privateKey].contains(object.objectClass) && object.isNamed(by: uri)
        }
        guard let object = found.first else {
            throw KeychainError(
                .itemNotFound, "no private or secret key on token \"\(token.label)\" matches \(uri).",
                remedies: [Remedy("See what is there", .listObjects(token: token.label))])
        }
        let twins = objects.count { $0.objectClass == object.objectClass && $0.id == object.id }
        guard found.count == 1, twins == 1, !object.id.isEmpty else {
            throw KeychainError(
                .ambiguous, "\(uri) does not name one key with an id on token \"\(token.label)\".",
                hint: "Name the key by its id: pkcs11:id=%01;type=private")
        }
        guard object.flags.contains(.isPrivate), !object.flags.contains(.extractable) else {
            throw KeychainError(
                .invalidArgument, "a key that can be copied, or used without the PIN, does not protect a keychain.",
                hint: "Name a key with CKA_PRIVATE and without CKA_EXTRACTABLE.")
        }
        let row = try token.withSession(.wrap) { session in
            let (suite, key) = try token.wrappingKey(
                object, publicKey: publicKey(of: object, among: objects), in: session)
            let name = object.label?.text ?? object.id.hexadecimal
            return try self.row(name, object.id, suite, key, metadataKey, in: session)
        }
        return try record(row, metadataKey)
    }

    /// Destroys the objects of the wrapping key of a keychain that was not completed.
    ///
    /// - Parameter pin: The token's PIN.
    /// - Throws: The errors of the token.
    func destroyWrappingKey(_ id: Data, pin: SecretBytes) throws {
        try setPIN(pin)
        try token.writingObjects {
            try token.withSession(.destroy) { session in
                try token.destroyWrappingKey([UInt8](id), label: configuration.wrappingKeyLabel, in: session)
            }
        }
        token.forgetHandles()
    }

    private func setPIN(_ pin: SecretBytes) throws {
        let source = try pinSource().source
        lockState.withLock { ($0.pin, $0.pinSource) = (pin, source.isInteractive ? nil : source) }
    }

    /// The public half of a private key; `nil` for a secret key.
    private func publicKey(of object: TokenObject, among objects: [TokenObject]) throws -> PublicKey? {
        guard object.objectClass == .privateKey else { return nil }
        if let half = try object.publicHalf(among: objects) { return half }
        throw KeychainError(
            .invalidArgument, "token \"\(token.label)\" does not show the public half of the key.",
            hint: "Store the key's certificate or public key on the token under the same id.")
    }

    private func row(
        _ keyID: String, _ objectID: Data, _ suite: any WrapSuite, _ key: WrappingKey, _ metadataKey: SecretBytes,
        in session: borrowing Session
    ) throws -> WrappingKeyRow {
        let sealed = try suite.sealMetadataKey(metadataKey, of: store.identity, with: key, in: session)
        guard try suite.openMetadataKey(sealed, of: store.identity, with: key, in: session) == metadataKey else {
            throw KeychainError(
                .tokenContractViolation, "token \"\(token.label)\" does not open what it sealed; nothing was made.")
        }
        return WrappingKeyRow(
            keyID: keyID, suite: suite.name, objectID: objectID, encryptedMetadataKey: sealed,
            publicKey: key.publicKey?.subjectPublicKeyInfo, created: SealedRow.now(), isActive: true)
    }

    /// Writes the row of the wrapping key, and unlocks the keychain.
    private func record(_ unauthenticated: WrappingKeyRow, _ metadataKey: SecretBytes) throws -> WrappingKeyRow {
        let keys = try VaultKeys(metadataKey: metadataKey, vault: store.identity)
        var row = unauthenticated
        if row.publicKey != nil { row.publicKeyCode = try keys.code(of: row) }
        row.id = try store.write(keys.tree) { [row] writer in
            try writer.beginRecord()
            return try writer.insert(row)
        }
        lockState.withLock { [row] state in
            state.keys = keys
            state.wrappingKeys = [row]
            state.ownWrappingKeys = [row]
        }
        return row
    }
}

import Foundation
public import KeyfobPrimitives
import OpenSSL
public import PKCS11

/// Making and removing keychains.
extension Keychains {
    /// How the PIN of a token that Keyfob makes is protected.
    public enum Protection: Sendable {
        /// A passphrase seals it; somebody must give the passphrase to unlock.
        case passphrase(SecretBytes, source: PINSource?)
        /// It lies in a file that only the owner can read; nobody has to give anything.
        case file
    }

    /// Which token a new keychain is on.
    public enum TokenChoice: Sendable {
        /// A SoftHSM token of its own, made with it.
        case new(Protection)
        /// A token that is there, with the source of its PIN.
        case existing(PKCS11URI, KeychainConfiguration.ModuleLocation, pin: SecretBytes, pinSource: PINSource?)
    }

    /// What making a keychain made.
    public struct Creation: Sendable {
        /// The keychain, unlocked.
        public let keychain: Keychain
        /// Unlocks the keychain when the passphrase is lost. Shown once; the caller puts it in a safe place.
        public let recoveryCode: RecoveryCode?
        /// The wrapping key's name.
        public let wrappingKey: String
        /// The wrap suite, by its JOSE name.
        public let suite: String
    }

    /// Makes a keychain: token, wrapping key and vault.
    ///
    /// Blocks for up to a second. A failure at any step removes what the steps before have made.
    ///
    /// - Parameters:
    ///   - name: The keychain's name. One called `login` is the default one unless another was chosen.
    ///   - choice: The token.
    ///   - makesDefault: Whether it becomes the default keychain where there is none. Not unless the user expects it:
    ///     what is stored later without naming a keychain goes into it.
    /// - Throws: `KeychainError`; `duplicateKeychain`, `invalidArgument` for the name, `moduleNotLoaded`,
    ///   `mechanismUnsupported` where the token can wrap in no way, and what the token refuses.
    public func create(
        _ name: String, on choice: TokenChoice, options: Keychain.Options = .init(), makesDefault: Bool = false
    ) throws -> Creation {
        if case .new = choice { try Self.validate(name, asToken: true) } else { try Self.validate(name) }
        try PrivateFile.createDirectory(directories.configuration)
        let deadline = Deadline.after(options.timeout)
        return try withLock(until: deadline) {
            guard try !listing().names.contains(name) else {
                throw KeychainError(
                    .duplicateKeychain, "a keychain \"\(name)\" exists already.", details: ["keychain": name])
            }
            let left = try KeychainDraft(name, in: directories).leftKeys()
            try clearRemains(for: name, until: deadline)
            return try createLocked(name, choice, options, makesDefault, deadline, left)
        }
    }

    private func createLocked(
        _ name: String, _ choice: TokenChoice, _ options: Keychain.Options, _ makesDefault: Bool, _ deadline: Deadline,
        _ left: KeychainDraft.LeftKeys?
    ) throws -> Creation {
        let uuid = UUID()
        let uuidText = uuid.uuidString.lowercased()
        let vaults = directories.data.appendingPathComponent("vaults", isDirectory: true)
        try PrivateFile.createDirectory(directories.data)
        try PrivateFile.createDirectory(vaults)
        var configuration = KeychainConfiguration(
            schema: KeychainConfiguration.schema, name: name, uuid: uuid, token: "", module: .softHSM,
            vault: KeychainDraft.vault(of: uuid, in: directories).path, pinSource: nil, sealedPIN: nil,
            recoverySeal: nil, unlockTimeout: 8 * 3600, created: Date())
        var undo: [() throws -> Void] = []
        var (mayLeaveKeys, left) = (false, left)
        var draft = KeychainDraft(name, in: directories)
        do {
            try draft.begin(uuid, left)
            undo.append {
                // Without the note nobody would know of them.
                guard !mayLeaveKeys else { return }
                if let left { return try draft.note(left) }
                try draft.abandon()
            }
            let pin: SecretBytes
            var recovery: RecoveryCode?
            switch choice {
            case .new(let protection):
                let token = try softHSM.createToken(label: name, deadline: deadline)
                // No caller's deadline is so short that a token should stay behind of which nobody knows.
                undo.append {
                    try softHSM.destroyToken(token.uri, deadline: .after(max(options.timeout, .seconds(2))))
                }
                try draft.note(token: token.uri)
                pin = token.pin
                configuration.token = token.uri.description
                switch protection {
                case .passphrase(let passphrase, let source):
                    let code = try RecoveryCode()
                    configuration.sealedPIN = try PassphraseSeal(
                        pin, under: passphrase, keychain: uuidText, purpose: .passphrase)
                    configuration.recoverySeal = try PassphraseSeal(
                        pin, under: code.text, keychain: uuidText, purpose: .recovery)
                    configuration.pinSource = source?.description
                    recovery = code
                case .file:
                    let file = KeychainConfiguration.pinFile(of: uuid, in: directories)
                    try PrivateFile.createDirectory(file.deletingLastPathComponent())
                    try PrivateFile.write(pin, to: file)
                    undo.append { try PrivateFile.remove(file) }
                    configuration.pinSource = PINSource.file(file.path).description
                }
            case .existing(let uri, let module, let given, let source):
                pin = given
                configuration.token = uri.description
                configuration.module = module
                configuration.pinSource = source?.description
            }
            let identity = Data(try RandomBytes.bytes(count: 16))
            let vault = configuration.vault
            // Before it is made: SQLite's other files stay where the disk is too full for the vault.
            undo.append { try SQLiteStore.remove(path: vault) }
            try SQLiteStore.create(path: vault, identity: identity)
            let keychain = try open(configuration, options: options)
            let id = Data(try RandomBytes.bytes(count: 20))
            // What an earlier attempt has left on the same token goes with this one, whose PIN opens it.
            let old = left.map { $0.token == configuration.token ? $0.ids : [] } ?? []
            let row = try keychain.createWrappingKey(pin: pin, id: id) {
                guard !mayLeaveKeys, configuration.module != .softHSM else { return }
                try draft.note(KeychainDraft.LeftKeys(token: configuration.token, ids: old + [id]))
                mayLeaveKeys = true
                undo.append {
                    for id in old + [id] { try keychain.destroyWrappingKeys(id) }
                    mayLeaveKeys = false
                    if !old.isEmpty { left = nil }
                }
            }
            for id in old { try keychain.destroyWrappingKeys(id) }
            try write(configuration, to: draft.configuration)
            // Asked before it is there: one that is called login is the default one as soon as it is.
            let becomesDefault = try makesDefault && defaultName() == nil
            try draft.finish()
            if becomesDefault {
                undo.append { try PrivateFile.remove(defaultFile) }
                try setDefault(name)
            }
            draft.close()
            return Creation(keychain: keychain, recoveryCode: recovery, wrappingKey: row.keyID, suite: row.suite)
        } catch {
            // The first error is the one to report; what cannot be removed stays behind.
            guard draft.takeNameBack() else { throw error }
            for step in undo.reversed() { try? step() }
            throw error
        }
    }
}

extension Keychain {
    /// Makes the first wrapping key and the metadata key, and leaves the keychain unlocked.
    ///
    /// - Parameters:
    ///   - id: The key's `CKA_ID`.
    ///   - willGenerate: Called when the token has been found to take the PIN and to wrap, before the key is made.
    func createWrappingKey(
        pin: SecretBytes, id: Data, willGenerate: () throws -> Void
    ) throws -> WrappingKeyRow {
        let source = try pinSource().source
        lockState.withLock { ($0.pin, $0.pinSource) = (pin, source.isInteractive ? nil : source) }
        let metadataKey = try RandomBytes.secret(count: 32)
        let keyID = configuration.wrappingKeyLabel
        let (suite, wrapped) = try token.writingObjects {
            let made = try token.withSession(.generate, idempotent: false) { session in
                let suite = try WrapSuites.choose(in: session)
                try willGenerate()
                let key = try suite.generateKey(label: keyID, id: [UInt8](id), isPermanent: true, in: session)
                try AttributeReadBack.check(
                    key, [.token(true), .isPrivate(true), .sensitive(true), .extractable(false), .id([UInt8](id))],
                    in: session, token: token.label)
                return (suite, try suite.wrap(metadataKey, with: key, in: session))
            }
            // Every password is lost with the key. A token of ours is as new as it.
            try token.changeDetector?.makeDurable(since: nil)
            return made
        }
        var row = WrappingKeyRow(
            keyID: keyID, suite: suite.name, objectID: id, encryptedMetadataKey: wrapped, created: Self.now(),
            isActive: true)
        let keys = try VaultKeys(metadataKey: metadataKey, vault: store.identity)
        row.id = try store.write(keys.tree) { writer in
            try writer.beginRecord()
            return try writer.insert(row)
        }
        lockState.withLock { state in
            state.keys = keys
            state.wrappingKeys = [row]
            state.ownWrappingKeys = [row]
        }
        return row
    }

    /// Destroys the secret keys of an identifier that is this keychain's own making.
    func destroyWrappingKeys(_ id: Data) throws {
        try token.writingObjects {
            try token.withSession(.destroy) { session in
                for handle in try session.findObjects([.objectClass(.secretKey), .id([UInt8](id)), .token(true)]) {
                    try session.destroy(handle)
                }
            }
        }
        token.forgetHandles()
    }
}

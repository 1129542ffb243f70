import Foundation
import Glibc
public import KeyfobPrimitives
import KeyfobOpenSSL
public import PKCS11

/// Making keychains.
extension Keychains {
    /// The protection of the PIN of a token that Keyfob makes.
    public enum Protection: Sendable {
        /// A passphrase seals the PIN; unlocking requires the passphrase.
        case passphrase(SecretBytes, source: PINSource?)
        /// The PIN is in a file that only the owner can read; unlocking requires no input.
        case file
    }

    /// The token of a new keychain.
    public enum TokenChoice: Sendable {
        /// A SoftHSM token that is made with the keychain.
        case new(Protection)
        /// An existing token, with the source of its PIN.
        case existing(PKCS11URI, ModuleLocation, pin: SecretBytes, pinSource: PINSource?)
    }

    /// The results of making a keychain.
    public struct Creation: Sendable {
        /// The keychain, unlocked.
        public let keychain: Keychain
        /// A code that unlocks the keychain if the passphrase is lost.
        ///
        /// It is available only here; the caller stores it in a safe place.
        public let recoveryCode: RecoveryCode?
        /// The wrapping key's name; `nil` for a keychain that takes no passwords.
        public let wrappingKey: String?
        /// The wrap suite, by its JOSE name; `none` for a keychain that takes no passwords.
        public let suite: String
        /// The reason why the keychain takes no passwords; `nil` if it takes them, or the caller wanted none.
        public let obstacle: KeychainError?
    }

    /// Makes a keychain: token, wrapping key and vault.
    ///
    /// The call blocks for up to a second. It makes the keychain in a directory with a temporary name, which gets its
    /// final name last, so that a kill leaves either a complete keychain or none. A kill may leave a token without a
    /// keychain. If a step fails, the call removes what the earlier steps made.
    ///
    /// - Parameters:
    ///   - name: The keychain's name. A keychain called `login` is the default one unless the user chooses another.
    ///   - choice: The token.
    ///   - wrappingKey: The URI of the key on an existing token that seals the keychain; `nil` to make one. Keyfob
    ///     never changes or destroys a key that it did not make.
    ///   - takesPasswords: Whether to look for a way to seal passwords. With `false`, or if an existing token has none,
    ///     the keychain holds only keys, certificates and identities.
    ///   - options: The options of the open keychain.
    ///   - makesDefault: Whether the keychain becomes the default one if there is none. Pass `true` only if the user
    ///     expects it, because items stored later without naming a keychain go into it.
    /// - Returns: The keychain, unlocked.
    /// - Throws: `KeychainError` with code `duplicateKeychain`, `invalidArgument` for an invalid name,
    ///   `moduleNotLoaded`, `itemNotFound` or `ambiguous` if `wrappingKey` does not name one key,
    ///   `mechanismUnsupported` if the token cannot wrap keys with it, `tokenReadOnly` if the token is write-protected
    ///   and no key is made on it, or the code of an error of the token.
    public func create(
        _ name: String, on choice: TokenChoice, wrappingKey: PKCS11URI? = nil, takesPasswords: Bool = true,
        options: Keychain.Options = .init(), makesDefault: Bool = false
    ) throws -> Creation {
        let isOwn = if case .new = choice { true } else { false }
        return try options.withDeadline(isInProcess: isOwn) { [self] in
            try make(name, on: choice, wrappingKey, takesPasswords, options, makesDefault)
        }
    }

    private func make(
        _ name: String, on choice: TokenChoice, _ wrappingKey: PKCS11URI?, _ takesPasswords: Bool,
        _ options: Keychain.Options, _ makesDefault: Bool
    ) throws -> Creation {
        if case .new = choice { try Self.validate(name, asToken: true) } else { try Self.validate(name) }
        let deadline = Deadline.after(options.timeout)
        try PrivateFile.createDirectory(folder)
        guard !exists(name) else { throw KeychainError.duplicateKeychain(name) }
        try clearRemains(for: name, until: deadline)
        let draft = try KeychainDraft(name, in: folder)
        let folder = draft.url
        var configuration = KeychainConfiguration(
            directory: folder, schema: KeychainConfiguration.schema, name: name, uuid: UUID(), token: "",
            module: .softHSM, pinSource: nil, sealedPIN: nil, recoverySeal: nil, unlockTimeout: 8 * 3600,
            created: Date())
        // The time for undoing does not depend on the caller's timeout, because no token and no key may stay behind.
        var patient = options
        patient.timeout = max(options.timeout, .seconds(2))
        var undo: [() throws -> Void] = [{ try KeychainDirectory.remove(folder) }]
        var isNamed = false
        do {
            var recovery: RecoveryCode?
            let pin: SecretBytes
            switch choice {
            case .new(let protection):
                let token = try softHSM.createToken(label: freeLabel(for: name, until: deadline), deadline: deadline)
                undo.append { try softHSM.destroyToken(token.uri, deadline: .after(patient.timeout)) }
                pin = token.pin
                configuration.token = token.uri.description
                recovery = try protect(pin, as: protection, &configuration)
            case .existing(let uri, let module, let given, let source):
                pin = given
                configuration.token = uri.description
                configuration.module = module
                configuration.pinSource = source?.description
            }
            try write(configuration)
            try SQLiteStore.create(path: configuration.vault, identity: Data(RandomBytes.bytes(count: 16)))
            let id = Data(try RandomBytes.bytes(count: 20))
            var unnamed = try open(configuration, options: options)
            var row: WrappingKeyRow?
            var obstacle: KeychainError?
            if let wrappingKey {
                row = try unnamed.adoptWrappingKey(wrappingKey, pin: pin)
            } else if takesPasswords {
                if configuration.module != .softHSM {
                    undo.append { [configuration] in
                        try open(configuration, options: patient).destroyWrappingKey(id, pin: pin)
                    }
                }
                do { row = try unnamed.createWrappingKey(pin: pin, id: id) } catch let error as KeychainError
                    where error.code == .mechanismUnsupported && configuration.module != .softHSM
                {
                    // A token whose device fails may be able to wrap keys, so the user has to decide.
                    guard error.details["uncertain"] == nil else { throw error }
                    obstacle = error
                }
            }
            configuration.wrappingKeyID = row?.objectID.hexadecimal
            configuration.wrapSuite = row?.suite ?? KeychainConfiguration.noWrapSuite
            try write(configuration)
            if row == nil {
                unnamed = try open(configuration, options: options)
                try unnamed.startWithoutWrappingKey(pin: pin)
            }
            // Asked before publication: a keychain called login is the default one as soon as it exists.
            let becomesDefault = try makesDefault && defaultName() == nil
            try draft.publish(as: directory(name))
            isNamed = true
            let keychain = try open(self.configuration(name), options: options)
            try keychain.takeOver(unnamed)
            if becomesDefault {
                undo.append { try PrivateFile.remove(defaultFile) }
                try setDefault(name)
            }
            return Creation(
                keychain: keychain, recoveryCode: recovery, wrappingKey: row?.keyID,
                suite: row?.suite ?? KeychainConfiguration.noWrapSuite, obstacle: obstacle)
        } catch {
            // A keychain that keeps its name keeps all its parts.
            if isNamed, unsafe rename(directory(name).filePath, folder.filePath) != 0 { throw error }
            // The first error is the one to report. Parts that cannot be removed stay behind.
            for step in undo.reversed() { try? step() }
            throw error
        }
    }

    /// Returns the label of a new token: the keychain's name, with a number if another token has that label.
    ///
    /// A token of that label without a keychain may be left from a killed creation.
    ///
    /// - Throws: `KeychainError` if the tokens cannot be read.
    private func freeLabel(for name: String, until deadline: Deadline) throws -> String {
        // A token that a killed creation left with an incomplete file has a label once the file is restored.
        try softHSM.heal(deadline: deadline)
        // Making a token replaces one of the same label that has no PIN.
        let taken = Set(try softHSM.tokens().filter(\.hasUserPIN).map(\.label))
        var (label, number) = (name, 1)
        while taken.contains(label) {
            number += 1
            var stem = name
            while "\(stem)-\(number)".utf8.count > SoftHSMDirectory.longestLabel { stem.removeLast() }
            label = "\(stem)-\(number)"
        }
        return label
    }

    /// Protects the PIN of a new token.
    ///
    /// - Returns: The recovery code for a passphrase; otherwise `nil`.
    /// - Throws: `KeychainError` if the PIN cannot be sealed or its file cannot be written.
    private func protect(
        _ pin: SecretBytes, as protection: Protection, _ configuration: inout KeychainConfiguration
    ) throws -> RecoveryCode? {
        let uuid = configuration.uuid.uuidString.lowercased()
        switch protection {
        case .passphrase(let passphrase, let source):
            let code = try RecoveryCode()
            configuration.sealedPIN = try PassphraseSeal(pin, under: passphrase, keychain: uuid, purpose: .passphrase)
            configuration.recoverySeal = try PassphraseSeal(pin, under: code.text, keychain: uuid, purpose: .recovery)
            configuration.pinSource = source?.description
            return code
        case .file:
            try PrivateFile.write(pin, to: configuration.pinFile)
            configuration.pinSource = configuration.resolved(pinSource: KeychainConfiguration.ownPINSource)
            return nil
        }
    }
}

extension Keychain {
    /// Takes the lock state of `other`, which is the same keychain under a temporary name.
    ///
    /// - Throws: `KeychainError` if the PIN source cannot be read.
    fileprivate func takeOver(_ other: Keychain) throws {
        let source = try pinSource().source
        var state = other.lockState.withLock { $0 }
        state.pinSource = source.isInteractive ? nil : source
        lockState.withLock { $0 = state }
    }
}

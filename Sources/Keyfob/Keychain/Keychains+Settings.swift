import Foundation
import Glibc
import KeyfobPrimitives

/// The settings of a keychain that can be changed at any time.
public struct KeychainSettings: Sendable, Hashable {
    /// The seconds until an unlocked keychain locks itself, up to ``UnlockedState/longestTimeout``; 0 for never.
    public var unlockTimeout: Int

    /// Whether a passphrase or PIN that a person enters for one command keeps the keychain unlocked for the next ones.
    ///
    /// `nil` for the default: true if a passphrase seals the PIN, and false for the PIN of another token.
    public var unlocksOnUse: Bool?

    /// The source of the PIN or passphrase; `nil` asks the user.
    public var pinSource: PINSource?

    /// The access groups of programs that use Apple's functions and choose none; `nil` for the group without a name.
    public var accessGroups: [String]?
}

extension KeychainConfiguration {
    /// The settings that can be changed at any time.
    public var settings: KeychainSettings {
        KeychainSettings(
            unlockTimeout: unlockTimeout, unlocksOnUse: unlockOnUse,
            // An unreadable source stays in the file until another one replaces it.
            pinSource: pinSource.flatMap { try? PINSource(parsing: $0) }, accessGroups: accessGroups)
    }

    /// Whether a secret that a person enters for one command keeps the keychain unlocked.
    public var unlocksOnUse: Bool { unlockOnUse ?? (sealedPIN != nil) }

    /// Whether the PIN is in a file of the keychain's own directory.
    var hasOwnPINFile: Bool { pinSource != nil && pinSource == resolved(pinSource: Self.ownPINSource) }
}

/// Changes of the configuration.
extension Keychains {
    /// Changes settings of a keychain.
    ///
    /// Blocks while another process changes the same configuration. The file is replaced at once, so a kill leaves the
    /// old settings or the new ones. Open keychains keep the old settings.
    ///
    /// - Parameters:
    ///   - name: The keychain; `nil` for the default one.
    ///   - timeout: How long to wait for another process.
    ///   - change: Changes the settings.
    /// - Returns: The new configuration.
    /// - Throws: `KeychainError` with code `noSuchKeychain`, `invalidArgument` for an invalid timeout, `refused` for
    ///   another PIN source than the file with the random PIN of an unattended keychain, `timedOut`; errors of
    ///   `change`.
    @discardableResult
    public func changeSettings(
        of name: String? = nil, timeout: Duration = .seconds(10), _ change: (inout KeychainSettings) throws -> Void
    ) throws -> KeychainConfiguration {
        try changeConfiguration(name, until: .after(timeout)) { configuration in
            let former = configuration.settings
            var settings = former
            try change(&settings)
            try UnlockedState.check(settings.unlockTimeout)
            if settings.pinSource != former.pinSource {
                guard !configuration.hasOwnPINFile else {
                    throw KeychainError(
                        .refused,
                        "the PIN of keychain \"\(configuration.name)\" is random and only in its file; nothing was "
                            + "changed.",
                        remedies: [Remedy("Protect it by a passphrase", .setPassphrase(keychain: configuration.name))],
                        details: ["keychain": configuration.name])
                }
                configuration.pinSource = settings.pinSource?.description
            }
            configuration.unlockTimeout = settings.unlockTimeout
            configuration.unlockOnUse = settings.unlocksOnUse
            configuration.accessGroups = settings.accessGroups
        }
    }

    /// Gives a keychain another name.
    ///
    /// Its token keeps its label. Programs that read the PIN of an unattended keychain from its file need the new path.
    /// A kill leaves the keychain complete under one of the two names, and the default keychain stays the default one.
    ///
    /// - Parameters:
    ///   - name: The keychain.
    ///   - newName: The new name.
    ///   - timeout: How long to wait for another process.
    /// - Returns: The new configuration.
    /// - Throws: `KeychainError` with code `noSuchKeychain`, `duplicateKeychain`, `invalidArgument` for an invalid
    ///   name, `timedOut`.
    @discardableResult
    public func changeName(
        of name: String, to newName: String, timeout: Duration = .seconds(10)
    ) throws -> KeychainConfiguration {
        try requireRenamable(name, to: newName)
        let deadline = Deadline.after(timeout)
        try clearRemains(for: newName, until: deadline)
        let isDefault = try defaultName() == name
        try holdingConfiguration(name, until: deadline) { former in
            var configuration = former
            configuration.newName = newName
            try write(configuration)
            // The name that exists counts.
            if isDefault { try writeDefault([newName, name]) }
            let target = directory(newName).filePath
            guard unsafe rename(directory(name).filePath, target) == 0 else {
                let number = errno
                try write(former)
                if isDefault { try writeDefault([name]) }
                guard [EEXIST, ENOTEMPTY, ENOTDIR].contains(number) else {
                    throw KeychainError.file("create", target, number)
                }
                throw KeychainError.duplicateKeychain(newName)
            }
            try PrivateFile.synchronizeDirectory(folder)
        }
        // The file has the new name alone, so that a copy of the directory under the old name is refused.
        let configuration = try changeConfiguration(newName, until: deadline) { _ in }
        if isDefault { try setDefault(newName) }
        return configuration
    }

    /// Checks the names of a renaming, without changing anything.
    ///
    /// - Throws: `KeychainError`; the errors of `changeName(of:to:timeout:)`, except `timedOut`.
    package func requireRenamable(_ name: String, to newName: String) throws {
        _ = try configuration(name)
        try Self.validate(newName)
        guard !exists(newName) else { throw KeychainError.duplicateKeychain(newName) }
    }

    /// Changes the configuration of a keychain and writes it, while no other process does so.
    ///
    /// - Parameters:
    ///   - name: The keychain; `nil` for the default one.
    ///   - deadline: The end of the wait for another process.
    ///   - change: Changes the configuration.
    /// - Returns: The new configuration.
    /// - Throws: `KeychainError` with code `timedOut`; errors of reading and writing it and of `change`.
    @discardableResult
    func changeConfiguration(
        _ name: String?, until deadline: Deadline, _ change: (inout KeychainConfiguration) throws -> Void
    ) throws -> KeychainConfiguration {
        try holdingConfiguration(name, until: deadline) { former in
            var configuration = former
            try change(&configuration)
            try write(configuration)
            return configuration
        }
    }

    /// Runs `body` with the configuration of a keychain while no other process changes it.
    ///
    /// - Throws: `KeychainError` with code `timedOut`; errors of reading the configuration and of `body`.
    func holdingConfiguration<Result>(
        _ name: String?, until deadline: Deadline, _ body: (KeychainConfiguration) throws -> Result
    ) throws -> Result {
        let former = try configuration(name)
        let lock = try FileLock(former.configurationLock, deadline: deadline)
        // Read again: another process may have changed, renamed or removed the keychain in the meantime.
        let result = Swift.Result { try body(configuration(former.name)) }
        lock.release()
        return try result.get()
    }
}

import Foundation
import KeyfobPrimitives
public import PKCS11

/// The PINs that Keyfob stores for the keychains on a token.
extension TokenAdministration {
    /// The effect of a new PIN on the keychains on the token.
    public struct PINChange: Sendable {
        /// The keychains that open with the new PIN without a further step.
        public let updated: [String]
        /// The keychains whose PIN source is not Keyfob's, with that source: its owner puts the new PIN there.
        public let outdated: [(keychain: String, source: String)]
    }

    /// Returns the keychains of this user on the token.
    ///
    /// - Parameter info: The token's description.
    /// - Throws: `KeychainError` if the directory of keychains cannot be read.
    public func keychains(on info: TokenInfo) throws -> [KeychainConfiguration] {
        try keychains.all().filter { configuration in
            // A keychain whose token URI is invalid is on no token.
            guard (configuration.module == .softHSM) == isOwn, let uri = try? PKCS11URI(configuration.token) else {
                return false
            }
            // Without a serial number of its own, a token of the same label may be in another module.
            return uri.namesOrNamed(info) && (uri.ignoringLabel != nil || isInSameModule(configuration.module))
        }
    }

    private func isInSameModule(_ location: ModuleLocation) -> Bool {
        func resolved(_ path: String) -> String { URL(fileURLWithPath: path).resolvingSymlinksInPath().path }
        return switch location {
        case .softHSM: isOwn
        case .path(let path, _): resolved(path) == resolved(slot.module.path)
        case .registered(let name): slot.module.name == name
        }
    }

    /// Changes the PIN by `body`, and stores the new one where Keyfob stored the former one.
    ///
    /// The new PIN is first written beside each PIN file that Keyfob made, as `pin.new`. So a kill after the change
    /// does not lose the only copy of it.
    func changing(
        to pin: SecretBytes, _ info: TokenInfo, _ body: () throws -> Void
    ) throws -> PINChange {
        let files = try keychains(on: info).filter { $0.written.pinSource == KeychainConfiguration.ownPINSource }
            .map { $0.pinFile.appendingPathExtension("new") }
        for file in files { try PrivateFile.write(pin, to: file) }
        do { try body() } catch {
            // The first error is the one to report.
            for file in files { _ = try? PrivateFile.remove(file) }
            throw error
        }
        do {
            let change = try didChangePIN(to: pin, info)
            for file in files { try PrivateFile.remove(file) }
            return change
        } catch let error as KeychainError {
            throw error.with(
                message: "the PIN of token \"\(info.label)\" was changed, and not everywhere stored: \(error.message)")
        }
    }

    /// Stores the new PIN where Keyfob stored the former one.
    private func didChangePIN(to pin: SecretBytes, _ info: TokenInfo) throws -> PINChange {
        var updated: [String] = []
        var outdated: [(keychain: String, source: String)] = []
        for configuration in try keychains(on: info) {
            if configuration.written.pinSource == KeychainConfiguration.ownPINSource {
                try PrivateFile.write(pin, to: configuration.pinFile)
                updated.append(configuration.name)
            } else if let source = configuration.pinSource, !["prompt", "pinentry"].contains(source) {
                outdated.append((configuration.name, source))
            } else {
                updated.append(configuration.name)
            }
            try replacePIN(in: configuration, with: pin)
        }
        if isOwn {
            let identifiers = try keychains.softHSM.tokens().filter { $0.serial == info.serialNumber }
            try keychains.softHSM.holdingLock(until: .after(options.timeout)) { () throws(KeychainError) in
                for token in identifiers {
                    try keychains.softHSM.refreshCopyLocked(token.directory.lastPathComponent)
                }
            }
        }
        try forgetRefusedPINs(of: info)
        return PINChange(updated: updated, outdated: outdated)
    }

    /// Replaces the PIN in the state that an earlier unlocking left, which stays until its time.
    private func replacePIN(in configuration: KeychainConfiguration, with pin: SecretBytes) throws {
        let state = UnlockedState(directories: keychains.directories)
        let name = configuration.uuid.uuidString.lowercased()
        guard let (_, metadataKey, vault) = try state.load(name).flatMap(Keychain.decode) else { return }
        let seconds = try state.expiry(of: name).map { max(1, Int($0.timeIntervalSinceNow)) } ?? 0
        try state.store(
            Keychain.encode(pin: pin, metadataKey: metadataKey, vault: vault), for: name, timeout: seconds)
    }

    /// Forgets the PINs that the token refused: one of them may be right now.
    func forgetRefusedPINs(of info: TokenInfo) throws(KeychainError) {
        try WrongPINMemory(directories: keychains.directories).forget(
            serial: info.serialNumber, label: info.label, until: .after(options.timeout))
    }
}

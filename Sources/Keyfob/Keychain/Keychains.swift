import Foundation
import KeyfobPrimitives
import PKCS11

/// The keychains of a user, and the choice of the default one.
///
/// Each keychain is one directory below `Directories.data`, which gets its name once it is complete.
public struct Keychains: Sendable {
    /// The directories of the keychains.
    public let directories: Directories

    /// Takes the directories of the keychains.
    public init(_ directories: Directories = Directories()) {
        self.directories = directories
    }

    /// The directory of all keychains.
    var folder: URL { directories.keychains }
    var defaultFile: URL {
        directories.configuration.appendingPathComponent("default-keychain", isDirectory: false)
    }

    /// Returns the directory of a keychain.
    func directory(_ name: String) -> URL { folder.appendingPathComponent(name, isDirectory: true) }

    private func file(_ name: String) -> URL {
        directory(name).appendingPathComponent(KeychainConfiguration.fileName, isDirectory: false)
    }

    /// The directory of Keyfob's own SoftHSM tokens.
    public var softHSM: SoftHSMDirectory { SoftHSMDirectory(directories: directories) }

    /// Returns the readable configurations, sorted by name.
    ///
    /// The unreadable ones are in `listing()`.
    ///
    /// - Throws: `KeychainError` if the directory of keychains cannot be read.
    public func all() throws -> [KeychainConfiguration] { try listing().keychains }

    /// All keychains, including those with a damaged configuration.
    public struct Listing: Sendable {
        /// The readable configurations, sorted by name.
        public let keychains: [KeychainConfiguration]
        /// The names of the other keychains, with the error of reading each.
        public let damaged: [(name: String, error: KeychainError)]

        /// The names of all keychains, including those with a damaged configuration.
        public var names: [String] { (keychains.map(\.name) + damaged.map(\.name)).sorted() }
    }

    /// Returns all keychains, sorted by name.
    ///
    /// - Throws: `KeychainError` if the directory of keychains cannot be read.
    public func listing() throws -> Listing {
        var keychains: [KeychainConfiguration] = []
        var damaged: [(name: String, error: KeychainError)] = []
        for name in try names() {
            do { keychains.append(try configuration(name)) } catch let error as KeychainError {
                // Removed since the directory was read, or not the directory of a keychain.
                guard ![.noSuchKeychain, .notInitialized, .invalidArgument].contains(error.code) else { continue }
                damaged.append((name, error))
            }
        }
        return Listing(keychains: keychains, damaged: damaged)
    }

    /// Returns the names of the directories that can be keychains, sorted.
    ///
    /// - Throws: `KeychainError` with code `refused` or `fileUnavailable` if the directory of keychains cannot be read.
    private func names() throws(KeychainError) -> [String] {
        try OpenDirectory.names(in: folder).filter { !$0.hasPrefix(".") }.sorted()
    }

    /// Returns whether a keychain has the name, including one with a damaged configuration.
    func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: directory(name).filePath) }

    /// Returns the name of the keychain to use if the caller names none.
    ///
    /// It is the keychain that the user chose, or else `login` if that exists. The caller handles `KEYFOB_KEYCHAIN`.
    ///
    /// - Throws: `KeychainError` with code `unsafeFile` if other users can write the file of the choice or its
    ///   directory, or `fileUnavailable` if the file cannot be read.
    public func defaultName() throws -> String? {
        if let name = try chosenName() { return name }
        return exists(Self.usualName) ? Self.usualName : nil
    }

    /// The name of the default keychain unless the user chooses another, and of the one that `init` makes without a
    /// name.
    package static let usualName = "login"

    /// The first name in the file that a keychain has, else the last one. A renaming that was killed leaves two names.
    private func chosenName() throws -> String? {
        try PrivateFile.requireOwnDirectory(directories.configuration)
        guard let bytes = try PrivateFile.read(defaultFile, limit: 4096) else { return nil }
        let names = (bytes.copyString() ?? "").split(separator: "\n").map { String($0).trimmingBlanks }
            .filter { !$0.isEmpty }
        // The text in the file may be no name at all.
        return names.first { (try? Self.validate($0)) != nil && exists($0) } ?? names.last
    }

    /// Makes a keychain the default one.
    ///
    /// - Throws: `KeychainError` with code `noSuchKeychain` if there is no such keychain.
    public func setDefault(_ name: String) throws {
        _ = try configuration(name)
        try writeDefault([name])
    }

    /// Writes the names of the default keychain, of which the first one that exists counts.
    func writeDefault(_ names: [String]) throws {
        try PrivateFile.createDirectory(directories.configuration)
        try PrivateFile.write(SecretBytes(utf8: names.map { $0 + "\n" }.joined()), to: defaultFile)
    }

    /// Returns the configuration of a keychain.
    ///
    /// - Parameter name: The keychain; `nil` for the default one.
    /// - Throws: `KeychainError` with code `noSuchKeychain`, `notInitialized` if there is no keychain at all,
    ///   `invalidConfiguration` if the file is not valid, or `unsafeFile` if other users can write it or its directory.
    public func configuration(_ name: String? = nil) throws -> KeychainConfiguration {
        let wanted = try name ?? defaultName() ?? Self.usualName
        do { try Self.validate(wanted) } catch where name == nil {
            // The user did not type this name.
            throw KeychainError(
                .invalidConfiguration, "\(defaultFile.filePath) does not hold the name of a keychain.",
                remedies: [Remedy("Choose one again", .setDefaultKeychain), Remedy("All keychains", .listKeychains)],
                cause: error)
        }
        // The configuration names a library to load and a command that prints the PIN, so other users must not write
        // it.
        for url in [directories.data, folder, directory(wanted)] { try PrivateFile.requireOwnDirectory(url) }
        guard let bytes = try PrivateFile.read(file(wanted), limit: 1 << 20) else {
            guard exists(wanted) else { throw try missing(wanted, isNamed: name != nil) }
            throw unreadable(wanted)
        }
        guard var configuration = KeychainConfiguration(json: bytes.copyBytes(), in: directory(wanted)) else {
            throw unreadable(wanted)
        }
        // A renaming may have been killed after it renamed the directory.
        if configuration.newName == wanted { configuration.name = wanted }
        configuration.newName = nil
        guard configuration.schema == KeychainConfiguration.schema, configuration.name == wanted else {
            throw unreadable(
                wanted, cause: KeychainError(.invalidConfiguration, "the form \(configuration.schema) is not known."))
        }
        return configuration
    }

    private func unreadable(_ name: String, cause: (any Error)? = nil) -> KeychainError {
        KeychainError(
            .invalidConfiguration, "the configuration of keychain \"\(name)\" cannot be read: \(file(name).filePath).",
            hint: "Restore the file from a backup; the vault and the token are not affected.",
            details: ["keychain": name, "path": file(name).filePath], cause: cause)
    }

    private func missing(_ name: String, isNamed: Bool) throws -> KeychainError {
        let others = try names()
        if try !unfinishedRemovals(of: name).isEmpty {
            return KeychainError(
                others.isEmpty ? .notInitialized : .noSuchKeychain,
                "there is no keychain \"\(name)\": its removal has not finished.",
                remedies: [Remedy("Remove the rest", .removeKeychain(name))], details: ["keychain": name])
        }
        if others.isEmpty {
            return KeychainError(
                .notInitialized, "there is no keychain yet.", remedies: [Remedy("Make one", .createKeychain)],
                details: ["keychain": name])
        }
        guard isNamed || name != Self.usualName else {
            return KeychainError(
                .noSuchKeychain, "there is no keychain \"\(name)\", and no other is the default one.",
                remedies: [
                    Remedy("Name one", .change(.keychain)), Remedy("Make one the default", .setDefaultKeychain),
                    Remedy("There are: \(others.joined(separator: ", "))"),
                ],
                details: ["keychain": name])
        }
        guard isNamed else {
            // The user did not type this name, so the message says where it comes from and how to change it.
            return KeychainError(
                .noSuchKeychain, "there is no keychain \"\(name)\", which is the default one.",
                remedies: [
                    Remedy("Choose another", .setDefaultKeychain),
                    Remedy("There are: \(others.joined(separator: ", "))"),
                ],
                details: ["keychain": name])
        }
        return KeychainError(
            .noSuchKeychain, "there is no keychain \"\(name)\".", hint: "There are: \(others.joined(separator: ", "))",
            details: ["keychain": name])
    }

    /// Opens a keychain.
    ///
    /// - Parameters:
    ///   - name: The keychain; `nil` for the default one.
    ///   - options: The options of the open keychain.
    /// - Throws: `KeychainError` with code `noSuchKeychain`, `notInitialized`, `invalidConfiguration`, `unsafeFile`,
    ///   `vaultUnavailable`, `vaultDamaged` or `vaultTooNew`.
    public func open(_ name: String? = nil, options: Keychain.Options = .init()) throws -> Keychain {
        let expected = options.warmsUpToken ? TokenWarmUp(expecting: softHSM) : nil
        let configuration: KeychainConfiguration
        do { configuration = try self.configuration(name) } catch {
            expected?.takeBack()
            throw error
        }
        return try open(configuration, options: options, expected: expected)
    }

    /// Opens a keychain by its configuration.
    ///
    /// - Parameters:
    ///   - configuration: The keychain.
    ///   - options: The options of the open keychain.
    /// - Throws: `KeychainError` with code `invalidConfiguration` if the token's URI cannot be read or `unlockTimeout`
    ///   is invalid, or `unsafeFile`, `vaultUnavailable`, `vaultDamaged` or `vaultTooNew` for the vault.
    public func open(_ configuration: KeychainConfiguration, options: Keychain.Options = .init()) throws -> Keychain {
        try open(configuration, options: options, expected: nil)
    }

    private func open(
        _ configuration: KeychainConfiguration, options: Keychain.Options, expected: TokenWarmUp?
    ) throws -> Keychain {
        do throws(KeychainError) { try UnlockedState.check(configuration.unlockTimeout) } catch {
            expected?.takeBack()
            let path = file(configuration.name).filePath
            throw KeychainError(
                .invalidConfiguration,
                "keychain \"\(configuration.name)\" is to stay unlocked for \(configuration.unlockTimeout) seconds.",
                hint: "Correct \"unlockTimeout\" in \(path). \(error.hint ?? "")",
                details: ["keychain": configuration.name, "path": path], cause: error)
        }
        let uri: PKCS11URI
        do { uri = try tokenURI(of: configuration) } catch {
            expected?.takeBack()
            throw error
        }
        let opening = options.warmsUpToken ? try opening(of: configuration, expected: expected) : nil
        // Withheld now, because an unlocked keychain never reads its source and may still start programs.
        EnvironmentVariable.withhold(namedBy: uri.pinSource)
        EnvironmentVariable.withhold(namedBy: configuration.pinSource)
        let state = Lock(Keychain.LockState())
        let token = token(of: configuration, uri, options) { state.withLock { $0.tokenPIN } }
        if let opening {
            token.beginOpening(opening) { [directories] in
                guard let pin = Self.unlockedPIN(configuration, directories) else { return }
                state.withLock { state in
                    // Another thread that has unlocked or locked the keychain in the meantime takes precedence.
                    guard state.pin == nil, state.lockings == 0 else { return }
                    state.pin = pin
                    state.isRestored = true
                }
            }
        }
        let store: SQLiteStore
        do {
            store = try SQLiteStore(
                path: configuration.vault, keychain: configuration.name, use: options.isOneShot ? .oneShot : .server,
                busyTimeout: options.timeoutInSeconds, explain: { [self] in explanation(of: $0, configuration) })
        } catch {
            token.awaitOpening()
            throw error
        }
        return Keychain(
            configuration: configuration, directories: directories, options: options, store: store, token: token,
            lockState: state)
    }

    /// Returns the PIN that `keyfob unlock` stored; `nil` if there is none.
    private static func unlockedPIN(
        _ configuration: KeychainConfiguration, _ directories: Directories
    ) -> SecretBytes? {
        do {
            let name = configuration.uuid.uuidString.lowercased()
            return try UnlockedState(directories: directories).load(name).flatMap(Keychain.decode)?.pin
        } catch {
            // The code that needs the state reads it again and reports the error.
            return nil
        }
    }

    /// Returns the warm-up of the expected module if the keychain uses that module, or else a new one.
    private func opening(
        of configuration: KeychainConfiguration, expected: TokenWarmUp?
    ) throws -> TokenWarmUp {
        if let expected, expected.module == configuration.module { return expected }
        expected?.takeBack()
        return try TokenWarmUp(configuration.module, softHSM: softHSM)
    }

    /// Loads the module of a keychain.
    static func module(
        _ location: ModuleLocation, softHSM: SoftHSMDirectory, deadline: Deadline
    ) throws -> Module {
        switch location {
        case .softHSM:
            try softHSM.activate()
            _ = try softHSM.heal(deadline: deadline)
            return try softHSM.module()
        case .path(let path, let parameters):
            return try Module.load(path: path, initializationArguments: parameters)
        case .registered(let name):
            guard let module = try Module.registered(named: name) else {
                throw KeychainError(
                    .moduleNotLoaded, "PKCS#11 module \"\(name)\" is not configured.",
                    remedies: [Remedy("Registered modules", .listTokens)])
            }
            return module
        }
    }

    /// Throws for names that are not safe as part of a path, or that a person could not type.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - asToken: Whether a token of that name is to be made, because labels of tokens are shorter.
    /// - Throws: `KeychainError` with code `invalidArgument`.
    package static func validate(_ name: String, asToken: Bool = false) throws {
        if asToken, name.utf8.count > SoftHSMDirectory.longestLabel {
            throw KeychainError(
                .invalidArgument,
                "a keychain with a token of its own has a name of at most \(SoftHSMDirectory.longestLabel) bytes; this "
                    + "one has \(name.utf8.count).",
                remedies: [
                    "The token is called like the keychain.", Remedy("To use a token that exists", .change(.token)),
                ])
        }
        let isFine = !name.isEmpty && name.utf8.count <= 64 && !name.hasPrefix(".") && !name.hasPrefix("-")
            && name.unicodeScalars.allSatisfy { scalar in
                switch scalar {
                case "a"..."z", "A"..."Z", "0"..."9", "-", "_", ".": true
                default: !scalar.isASCII && CharacterSet.alphanumerics.contains(scalar)
                }
            }
        guard isFine else {
            throw KeychainError(
                .invalidArgument, "that is not a name for a keychain.",
                hint: "Up to 64 bytes of letters, digits, \"-\", \"_\" and \".\", not beginning with \"-\" or \".\".")
        }
    }

    /// Writes the configuration into the keychain's directory.
    ///
    /// - Throws: `KeychainError` with code `fileUnavailable`, `refused` or `diskFull`.
    func write(_ configuration: KeychainConfiguration) throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        var written = configuration.written
        // A year has four digits in the file, but a wrong clock can show any year.
        let years = Date(timeIntervalSince1970: -62_135_596_800)...Date(timeIntervalSince1970: 253_402_300_799)
        written.created = min(max(written.created, years.lowerBound), years.upperBound)
        try PrivateFile.write(SecretBytes(encoder.encode(written)), to: configuration.configurationFile)
    }

    /// Removes the choice of the default keychain if it names a keychain that was removed.
    ///
    /// - Throws: `KeychainError` if the file that names the default keychain cannot be read or removed.
    func clearDefault(_ name: String) throws {
        if !exists(name), try chosenName() == name { try PrivateFile.remove(defaultFile) }
    }
}

import Foundation
import KeyfobOpenSSL
import KeyfobPrimitives
public import PKCS11

/// Tokens without a keychain.
extension Keychains {
    /// Opens a token that has no keychain, for its keys and certificates.
    ///
    /// The result finds, makes, imports, uses and removes objects on the token like a keychain. It stores nothing
    /// outside the token: it takes no passwords, does not stay unlocked for other processes, and an item has the name
    /// that is the label of its object. A changed name, a trust decision or a preference is lost when the process ends.
    ///
    /// Blocks for making a vault in memory; the token is not accessed.
    ///
    /// - Parameters:
    ///   - token: Identifies the token, best with all attributes of `TokenInfo.uri`; `pin-source` is used too.
    ///   - module: The location of the token's module.
    ///   - options: The options of the open token.
    /// - Returns: The token, as a keychain with `hasVault` false and the token's label as its name.
    /// - Throws: `KeychainError` with code `invalidArgument` if the PIN source of the URI cannot be read.
    public func open(
        token: PKCS11URI, in module: ModuleLocation, options: Keychain.Options = .init()
    ) throws -> Keychain {
        let configuration = KeychainConfiguration(
            // No file is read or written there.
            directory: URL(fileURLWithPath: "/dev/null"), schema: KeychainConfiguration.schema,
            name: token.token ?? token.serial ?? "token", uuid: UUID(), token: token.description, module: module,
            pinSource: nil, sealedPIN: nil, recoverySeal: nil, unlockTimeout: 0, accessGroups: nil, wrappingKeyID: nil,
            wrapSuite: KeychainConfiguration.noWrapSuite, created: Date())
        EnvironmentVariable.withhold(namedBy: token.pinSource)
        let state = Lock(Keychain.LockState())
        let store = try SQLiteStore(inMemory: Data(RandomBytes.bytes(count: 16)), title: "the vault in memory")
        let keychain = Keychain(
            configuration: configuration, directories: directories, options: options, store: store,
            token: self.token(of: configuration, token, options, keychain: nil) { state.withLock { $0.tokenPIN } },
            lockState: state, hasVault: false)
        try keychain.recordBareMetadataKey()
        return keychain
    }
}

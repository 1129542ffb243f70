import Foundation
import Glibc
import KeychainServices
import Keyfob
import KeyfobTesting
import TestSupport

/// A keychain for one test in this process's SoftHSM directory.
enum TestKeychain {
    /// Creates a keychain.
    static func make(_ options: Keychain.Options = .init()) throws -> ThrowawayKeychain {
        let tokens = URL(filePath: TestToken.configurationPath).deletingLastPathComponent()
        return try TestToken.retrying { try ThrowawayKeychain(options: options, tokens: tokens) }
    }

    /// Runs `body` with Apple's functions using a new keychain.
    static func use<Result>(accessGroups: [String]? = nil, _ body: () throws -> Result) throws -> Result {
        let throwaway = try make()
        return try SecKeychainUse(throwaway.keychain, accessGroups: accessGroups, during: body)
    }
}

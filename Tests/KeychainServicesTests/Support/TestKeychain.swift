import Foundation
import Glibc
import KeychainServices
import Keyfob
import KeyfobTesting
import TestSupport

/// A keychain of a test's own on this process' SoftHSM directory.
enum TestKeychain {
    /// Makes one.
    static func make(_ options: Keychain.Options = .init()) throws -> ThrowawayKeychain {
        let tokens = URL(filePath: TestToken.configurationPath).deletingLastPathComponent()
        return try TestToken.retrying { try ThrowawayKeychain(options: options, tokens: tokens) }
    }

    /// Runs `body` with Apple's functions working on a keychain of its own.
    static func use<Result>(accessGroups: [String]? = nil, _ body: () throws -> Result) throws -> Result {
        let throwaway = try make()
        return try SecKeychainUse(throwaway.keychain, accessGroups: accessGroups, during: body)
    }
}

import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import Keyfob

/// Exportable keys, on tokens that wrap in different ways.
@Suite struct KeyExportTests {
    private static func exported(saying words: String, _ algorithm: KeyAlgorithm) throws -> (made: PrivateKey, PrivateKey) {
        let directory = try TemporaryDirectory()
        let token = try TestToken.make(label: "wrapping")
        let module = try FaultyModule(in: directory)
        _ = try token.behind(module)
        let pin = try directory.write(Array(TestToken.pinText.utf8), to: "pin")
        let keychain = try Keychains(Directories(root: directory.url("keyfob"))).create(
            token.label, on: .existing(token.uri, .path(module.path), pin: token.pin, pinSource: .file(pin))).keychain
        let key = try PrivateKey.generate(algorithm)
        let item = try keychain.keys.importKey(key, label: "mine", isExtractable: true).item
        try module.say(words)
        return (key, try keychain.keys.export(item))
    }

    // `unlisted`: a session needs no list of slots, and making the list may initialise the module under the session.
    @Test(arguments: ["", "kwp", "answer=C_GetSlotList,5"], [KeyAlgorithm.rsa(bits: 2048), .ec(.p256)])
    func `an extractable key is exported unchanged`(words: String, algorithm: KeyAlgorithm) throws {
        let (made, exported) = try Self.exported(saying: words, algorithm)
        #expect(exported.publicKey == made.publicKey)
    }

    @Test func `a token that wraps keys in a vendor-specific way is reported as such`() throws {
        let error = #expect(throws: KeychainError.self) { try Self.exported(saying: "own-wrap", .ec(.p256)) }
        #expect(error?.code == .mechanismUnsupported)
        #expect(error?.message.contains("wraps keys in a way of its own") == true)
    }
}

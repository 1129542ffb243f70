import Foundation
import KeyfobOpenSSL
import KeyfobPrimitives
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// The calls of the module that the use of a known key takes.
@Suite struct HandleCallTests {
    private static let functions = [
        "C_FindObjectsInit", "C_FindObjects", "C_FindObjectsFinal", "C_GetAttributeValue", "C_OpenSession", "C_Login",
        "C_GetSessionInfo", "C_SignInit", "C_Sign",
    ]

    /// SoftHSM uses no handle twice. With another token, the signature is verified in software instead.
    @Test(arguments: ["", "stranger"])
    func `a signature with a known handle takes no other call of the module`(maker: String) throws {
        let directory = try TemporaryDirectory()
        let module = try FaultyModule(in: directory, saying: maker)
        let token = try TestToken.make(label: "calls").behind(module)
        let pin = try directory.write(Array(TestToken.pinText.utf8), to: "pin")
        let keychain = try Keychains(Directories(root: directory.url("keyfob"))).create(
            token.label,
            on: .existing(PKCS11URI("pkcs11:token=\(token.label)"), .path(module.path), pin: token.pin, pinSource: .file(pin))
        ).keychain
        let key = try keychain.keys.tokenKey(for: keychain.keys.generate(.p256, label: "k"))
        _ = try key.signDigest([UInt8](repeating: 1, count: 32), using: .ecdsa(.sha256))
        // Each of these words answers no call, and counts all of them.
        try module.say(maker + " " + Self.functions.map { "answer=\($0),0,0" }.joined(separator: " "))
        _ = try key.signDigest([UInt8](repeating: 2, count: 32), using: .ecdsa(.sha256))
        var counts: [String: Int] = [:]
        for function in Self.functions {
            guard let data = FileManager.default.contents(atPath: module.path + "." + function) else { continue }
            counts[function] = data.count
        }
        #expect(counts == ["C_SignInit": 1, "C_Sign": 1])
    }
}

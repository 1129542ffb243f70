import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// Asynchronous calls of a keychain whose module does not return.
@Suite struct HangingCallTests {
    @Test func `an asynchronous call ends at its deadline, and the keychain works again when the module returns`() async throws {
        let directory = try TemporaryDirectory()
        let module = try FaultyModule(in: directory)
        let token = try TestToken.make(label: "hangs").behind(module)
        let pin = try directory.write(Array(TestToken.pinText.utf8), to: "pin")
        let directories = Directories(root: directory.url("keyfob"))
        let made = try Keychains(directories).create(
            token.label, on: .existing(token.uri, .path(module.path), pin: token.pin, pinSource: .file(pin))).keychain
        var options = Keychain.Options()
        options.timeout = .seconds(2)
        let keychain = try Keychain.open(made.name, in: directories, options: options)
        let key = try await keychain.keys.generate(.p256, label: "k")
        let signer = try await keychain.keys.tokenKey(for: key)
        try module.say("hold")
        let error = await #expect(throws: KeychainError.self) {
            _ = try await signer.sign([1, 2, 3], using: .ecdsa(.sha256))
        }
        #expect(error?.code == .timedOut)
        #expect(error?.details["function"] == "C_Sign")
        #expect(error?.message.contains("has not returned") == true)
        // Calls that do not need the hanging call work in the meantime.
        try await keychain.add(GenericPassword(service: "s"), secret: SecretBytes(utf8: "x"))
        try module.say("")
        #expect(try await !signer.sign([1, 2, 3], using: .ecdsa(.sha256)).isEmpty)
        // The abandoned thread must leave the module before its library is removed.
        let deadline = Deadline.after(.seconds(60))
        while PendingCalls.all.contains(where: { $0.module == module.path }), !deadline.hasPassed {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(!deadline.hasPassed)
    }
}

import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// Asynchronous calls of a keychain whose module does not return.
@Suite struct HangingCallTests {
    /// The operations of a keychain, in which any of the functions may hang.
    enum Operation: String, Sendable {
        case sign, secret, find, generate, importing, delete
    }

    /// Calls that make a key may take minutes, so they are not among these.
    static let calls: [(function: String, operation: Operation)] = [
        ("C_SignInit", .sign), ("C_Sign", .sign), ("C_DecryptInit", .secret), ("C_Decrypt", .secret),
        ("C_FindObjectsInit", .find), ("C_FindObjects", .find), ("C_FindObjectsFinal", .find),
        ("C_GetAttributeValue", .find), ("C_GetSessionInfo", .find),
        ("C_SetAttributeValue", .generate), ("C_CreateObject", .importing), ("C_DestroyObject", .delete),
        ("C_GetSlotList", .sign), ("C_GetTokenInfo", .sign), ("C_OpenSession", .sign), ("C_Login", .sign),
    ]

    @Test(arguments: calls)
    func `an asynchronous call ends at its deadline, and the keychain works again when the module returns`(
        function: String, operation: Operation
    ) async throws {
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
        let item = try await keychain.add(GenericPassword(service: "first"), secret: SecretBytes(utf8: "x"))
        // Calls that concern slots are made for a new session only.
        if ["C_GetSlotList", "C_GetTokenInfo", "C_OpenSession", "C_Login"].contains(function) {
            try keychain.token.pool().module.reinitialize()
        }
        try module.say("hold=\(function)")
        let error = await #expect(throws: KeychainError.self) {
            switch operation {
            case .sign: _ = try await signer.sign([1, 2, 3], using: .ecdsa(.sha256))
            case .secret: _ = try await keychain.secret(of: item)
            case .find: _ = try await keychain.find(.keys)
            case .generate: _ = try await keychain.keys.generate(.p256, label: "other")
            case .importing: _ = try await keychain.keys.importKey(PrivateKey.generate(.ec(.p256)), label: "other")
            case .delete: try await keychain.delete(key)
            }
        }
        #expect(error?.code == .timedOut, "\(error as Any)")
        #expect(error?.details["function"] == function)
        #expect(error?.message.contains("has not returned") == true)
        if operation == .sign, function.hasPrefix("C_Sign") {
            // Calls that do not need the hanging call work in the meantime.
            try await keychain.add(GenericPassword(service: "s"), secret: SecretBytes(utf8: "x"))
        }
        try module.say("")
        // The abandoned thread must leave the module before its library is removed.
        let deadline = Deadline.after(.seconds(60))
        while PendingCalls.all.contains(where: { $0.module == module.path }), !deadline.hasPassed {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(!deadline.hasPassed)
        #expect(try await keychain.secret(of: item) == SecretBytes(utf8: "x"))
        let signed = operation == .delete ? [1] : try await signer.sign([1, 2, 3], using: .ecdsa(.sha256))
        #expect(!signed.isEmpty)
    }
}

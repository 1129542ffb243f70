import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// Calls of a keychain whose module does not return.
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

    /// A keychain on a token whose module stops at a function.
    private struct Household {
        let directory: TemporaryDirectory
        let module: FaultyModule
        let token: TestToken
        let keychain: Keychain
        let key: KeyItem
        let signer: TokenKey
        let item: GenericPassword

        init() throws {
            directory = try TemporaryDirectory()
            // The calls of SoftHSM itself are not watched.
            module = try FaultyModule(in: directory, saying: "foreign")
            token = try TestToken.make(label: "hangs").behind(module)
            let pin = try directory.write(Array(TestToken.pinText.utf8), to: "pin")
            let directories = Directories(root: directory.url("keyfob"))
            let made = try Keychains(directories).create(
                token.label, on: .existing(token.uri, .path(module.path), pin: token.pin, pinSource: .file(pin))
            ).keychain
            var options = Keychain.Options()
            options.timeout = .seconds(2)
            keychain = try Keychain.open(made.name, in: directories, options: options)
            key = try keychain.keys.generate(.p256, label: "k")
            signer = try keychain.keys.tokenKey(for: key)
            item = try keychain.add(GenericPassword(service: "first"), secret: SecretBytes(utf8: "x"))
        }

        func stop(at function: String) throws {
            // Calls that concern slots are made for a new session only.
            if ["C_GetSlotList", "C_GetTokenInfo", "C_OpenSession", "C_Login"].contains(function) {
                try keychain.token.pool().module.reinitialize()
            }
            try module.say("foreign hold=\(function)")
        }

        func goOn(after operation: Operation) throws {
            try module.say("foreign")
            // The abandoned thread must leave the module before its library is removed.
            let deadline = Deadline.after(.seconds(60))
            while PendingCalls.all.contains(where: { $0.module == module.path }), !deadline.hasPassed { usleep(10_000) }
            #expect(!deadline.hasPassed)
            #expect(try keychain.secret(of: item) == SecretBytes(utf8: "x"))
            let signed = operation == .delete ? [1] : try signer.sign([1, 2, 3], using: .ecdsa(.sha256))
            #expect(!signed.isEmpty)
        }
    }

    private func expectTimeout(_ error: KeychainError?, of function: String) {
        #expect(error?.code == .timedOut, "\(error as Any)")
        #expect(error?.details["function"] == function)
        #expect(error?.message.contains("has not returned") == true)
    }

    @Test(arguments: calls)
    func `an asynchronous call ends at its deadline, and the keychain works again when the module returns`(
        function: String, operation: Operation
    ) async throws {
        let household = try Household()
        let keychain = household.keychain
        try household.stop(at: function)
        let error = await #expect(throws: KeychainError.self) {
            switch operation {
            case .sign: _ = try await household.signer.sign([1, 2, 3], using: .ecdsa(.sha256))
            case .secret: _ = try await keychain.secret(of: household.item)
            case .find: _ = try await keychain.find(.keys)
            case .generate: _ = try await keychain.keys.generate(.p256, label: "other")
            case .importing: _ = try await keychain.keys.importKey(PrivateKey.generate(.ec(.p256)), label: "other")
            case .delete: try await keychain.delete(household.key)
            }
        }
        expectTimeout(error, of: function)
        if operation == .sign, function.hasPrefix("C_Sign") {
            // Calls that do not need the hanging call work in the meantime.
            try await keychain.add(GenericPassword(service: "s"), secret: SecretBytes(utf8: "x"))
        }
        try household.goOn(after: operation)
    }

    @Test(arguments: calls)
    func `a blocking call ends at its deadline, and the keychain works again when the module returns`(
        function: String, operation: Operation
    ) throws {
        let household = try Household()
        let keychain = household.keychain
        try household.stop(at: function)
        let error = #expect(throws: KeychainError.self) {
            switch operation {
            case .sign: _ = try household.signer.sign([1, 2, 3], using: .ecdsa(.sha256))
            case .secret: _ = try keychain.secret(of: household.item)
            case .find: _ = try keychain.find(.keys)
            case .generate: _ = try keychain.keys.generate(.p256, label: "other")
            case .importing: _ = try keychain.keys.importKey(PrivateKey.generate(.ec(.p256)), label: "other")
            case .delete: try keychain.delete(household.key)
            }
        }
        expectTimeout(error, of: function)
        if operation == .sign, function.hasPrefix("C_Sign") {
            try keychain.add(GenericPassword(service: "s"), secret: SecretBytes(utf8: "x"))
        }
        try household.goOn(after: operation)
    }

    @Test func `blocking calls of many threads end at their deadlines`() throws {
        let household = try Household()
        try household.stop(at: "C_Sign")
        let codes = Lock<[KeychainError.Code]>([])
        let threads = (0..<80).map { _ in
            let thread = Thread {
                let error = #expect(throws: KeychainError.self) {
                    try household.signer.sign([1, 2, 3], using: .ecdsa(.sha256))
                }
                codes.withLock { $0.append(error?.code ?? .failed) }
                codes.broadcast()
            }
            thread.start()
            return thread
        }
        let all = codes.wait(until: .after(.seconds(60))) { $0.count == threads.count ? $0 : nil }
        #expect(all == Array(repeating: .timedOut, count: threads.count))
        try household.goOn(after: .sign)
    }

    @Test func `the caller's closure runs on the caller's thread`() throws {
        let household = try Household()
        let thread = UInt(pthread_self())
        var found = 0
        try household.keychain.forEach(.genericPasswords) { item in
            #expect(UInt(pthread_self()) == thread)
            // It may use the keychain.
            #expect(try household.keychain.secret(of: item) == SecretBytes(utf8: "x"))
            try household.keychain.write(item, secret: SecretBytes(utf8: "y"))
            found += 1
            return true
        }
        #expect(found == 1)
    }
}

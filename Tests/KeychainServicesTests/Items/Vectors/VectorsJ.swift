import Foundation
import KeyfobOpenSSL
import KeyfobTesting
import GRDB
import Keyfob
import KeyfobPrimitives
import Synchronization
import Testing

@testable import KeychainServices

extension SecItemFixture {
    /// Opens the same keychain as a program without user interaction, so that it stays locked.
    func locked() throws -> Keychain {
        var options = Keychain.Options()
        options.pinSource = try PINSource(parsing: "prompt")
        options.allowsAsking = false
        let keychain = try Keychain.open(self.keychain.name, in: throwaway.directories, options: options)
        try keychain.lock()
        return keychain
    }
}

/// A prompter that gives the same answer to every question, or cancels.
private struct Somebody: Prompter {
    let answer: String?
    func readSecret(prompt: String, confirm: Bool) throws(KeychainError) -> SecretBytes {
        guard let answer else { throw KeychainError(.cancelled, "the user cancelled.") }
        return SecretBytes(utf8: answer)
    }
}

extension Vector {
    /// Locking and authentication.
    static let groupJ: [Vector] = [
        Vector(137, "locked: a duplicate is not reported") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            try SecKeychainUse(bench.locked()) {
                #expect(SecItemAdd(genp("a", "s") as CFDictionary, nil) == -25308)
            }
        },
        Vector(138, "unlocked: a duplicate is reported") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            bench.expect(-25299, bench.add(genp("a", "s")))
        },
        Vector(139, "found unlocked, and not locked") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            bench.expect(0, bench.copy(genp("a", "s")))
            try SecKeychainUse(bench.locked()) {
                #expect(SecItemCopyMatching(genp("a", "s") as CFDictionary, nil) == -25308)
            }
        },
        Vector(141, "an item under a password is added, found and removed with the password") { bench in
            let control = SecAccessControl(protection: "ak", flags: .applicationPassword)
            let password: [String: Any] = ["u_CredRef": Data("password".utf8)]
            bench.expect(0, bench.add(genp("a", "s", ["accc": control, "v_Data": Data("x".utf8)]) + password))
            #expect(bench.copying(genp("a", "s") + wantsData + password).data == Data("x".utf8))
            bench.expect(0, bench.delete(genp("a", "s") + password))
        },
        Vector(142, "without the password, a prompt with a wrong PIN or a cancellation fails") { bench in
            let password = SecAccessControl(protection: "ak", flags: .applicationPassword)
            let sealed = genp("b", "s", ["accc": password, "v_Data": Data("x".utf8), "u_CredRef": Data("password".utf8)])
            bench.expect(0, bench.add(sealed))
            bench.expect(-25293, bench.copying(genp("b", "s") + wantsData).status)
            let control = SecAccessControl(protection: "ak", flags: .userPresence)
            bench.expect(0, bench.add(genp("a", "s", ["accc": control, "v_Data": Data("x".utf8)])))
            let pin = try String(contentsOfFile: #require(bench.keychain.objects.pinFile), encoding: .utf8)
            for (answer, status) in [("another", -25293), (nil, -128)] as [(String?, OSStatus)] {
                var options = Keychain.Options()
                options.pinSource = try PINSource(parsing: "prompt")
                options.prompter = Somebody(answer: answer)
                let keychain = try Keychain.open(bench.keychain.name, in: bench.throwaway.directories, options: options)
                try keychain.unlock(with: SecretBytes(utf8: pin.trimmingCharacters(in: .whitespacesAndNewlines)))
                SecKeychainUse(keychain) {
                    #expect(SecItemCopyMatching(genp("a", "s") + wantsData as CFDictionary, nil) == status)
                    #expect(SecItemCopyMatching(genp("a", "s") + wantsAttributes as CFDictionary, nil) == 0)
                }
            }
        },
        Vector(143, "removing does not ask the user") { bench in
            let control = SecAccessControl(protection: "ak", flags: .userPresence)
            bench.expect(0, bench.add(genp("a", "s", ["accc": control])))
            bench.expect(0, bench.delete(genp("a", "s", ["u_AuthUI": "u_AuthUIF"])))
        },
        Vector(145, "an access control of an unknown kind") { bench in
            let control = SecAccessControl(protection: "xx", flags: [])
            bench.expect(-50, bench.add(genp("a", "s", ["accc": control])))
            bench.expect(-25300, bench.copy(genp("a", "s")))
        },
        Vector(149, "the user may not be asked") { bench in
            let control = SecAccessControl(protection: "ak", flags: .userPresence)
            bench.expect(0, bench.add(genp("a", "s", ["accc": control])))
            bench.expect(-25308, bench.copy(genp("a", "s", ["u_AuthUI": "u_AuthUIF"])))
            bench.expect(-25300, bench.copy(genp("a", "s", ["u_AuthUI": "u_AuthUIS"])))
            bench.expect(-25308, bench.copy(genp("a", "s", ["u_NoAuthUI": true])))
        },
        Vector(150, "a password is not a private key") { bench in
            let control = SecAccessControl(protection: "ak", flags: .privateKeyUsage)
            bench.expect(-25293, bench.add(genp("a", "s", ["accc": control])))
            // An update cannot set the access control either.
            bench.expect(0, bench.add(genp("a", "s")))
            bench.expect(-25293, bench.update(genp("a", "s"), ["accc": control, "labl": "l"]))
            bench.expect(-25300, bench.copy(genp("a", "s", ["labl": "l"])))
        },
        Vector(151, "constraints and synchronizing exclude each other") { bench in
            let control = SecAccessControl(protection: "ak", flags: .userPresence)
            bench.expect(-50, bench.add(genp("a", "s", ["accc": control, "sync": true])))
            bench.expect(-25300, bench.copy(genp("a", "s", ["sync": "syna"])))
        },
    ]

    /// Corruption, concurrency, recovery.
    static let groupK: [Vector] = [
        Vector(153, "a garbled row is not found") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            try bench.sql("UPDATE item SET attributes_ciphertext = X'12345678'")
            bench.expect(-25300, bench.copy(genp("a", "s")))
            bench.expect(-25300, bench.update(genp("a", "s"), ["labl": "x"]))
            bench.expect(0, bench.add(genp("a", "s")))
            bench.expect(0, bench.copy(genp("a", "s")))
        },
        Vector(154, "a port that is taken") { bench in
            for port in [80, 81, 82] { bench.expect(0, bench.add(["class": "inet", "srvr": "h", "port": port])) }
            bench.expect(-25299, bench.update(["class": "inet", "srvr": "h", "port": 81], ["port": 80]))
        },
        Vector(155, "a port that is taken by a damaged row") { bench in
            var references: [Int: Data] = [:]
            for port in [80, 81, 82] {
                references[port] = bench.adding(["class": "inet", "srvr": "h", "port": port] + wantsPersistent).data
            }
            for port in [80, 82] { try bench.damage(try #require(references[port])) }
            bench.expect(0, bench.update(["class": "inet", "srvr": "h", "port": 81], ["port": 80]))
            let found = bench.copying(["class": "inet", "srvr": "h", "port": 80] + wantsPersistent)
            #expect(found.data != nil && found.data == references[81])
        },
        Vector(157, "a hundred damaged rows while others are added") { bench in
            for number in 0..<100 { bench.expect(0, bench.add(genp("dead \(number)", "s"))) }
            try bench.sql("UPDATE item SET attributes_ciphertext = X'12345678'")
            let failures = Atomic(0)
            let keychain = bench.keychain
            let threads = (0..<10).map { thread in
                Thread.running {
                    SecKeychainUse(keychain) {
                        for number in 0..<20 where SecItemAdd(genp("\(thread)", "\(number)") as CFDictionary, nil) != 0 {
                            failures.add(1, ordering: .relaxed)
                        }
                    }
                }
            }
            for number in 0..<100 { bench.expect(-25300, bench.copy(genp("dead \(number)", "s"))) }
            for thread in threads { thread.wait() }
            #expect(failures.load(ordering: .relaxed) == 0)
            #expect(bench.copying(["class": "genp"] + wantsAll + wantsAttributes).array?.count == 200)
        },
        Vector(162, "a duplicate stays one with another accessibility") { bench in
            bench.expect(0, bench.add(genp("a", "s", ["pdmn": "ak"])))
            bench.expect(-25299, bench.add(genp("a", "s", ["pdmn": "cku"])))
            bench.expect(0, bench.add(genp("b", "s", ["pdmn": "cku", "v_Data": Data("x".utf8)])))
            #expect(bench.copying(genp("b", "s", ["pdmn": "cku"]) + wantsData).data == Data("x".utf8))
        },
        Vector(163, "a secret that was moved to another row") { bench in
            for account in ["a", "b"] {
                bench.expect(0, bench.add(genp(account, "s", ["v_Data": Data(account.utf8)])))
            }
            try bench.sql(
                """
                UPDATE item SET (secret_iv, secret_ciphertext, secret_tag) =
                    (SELECT secret_iv, secret_ciphertext, secret_tag FROM item WHERE id = 2) WHERE id = 1
                """)
            bench.expect(-25300, bench.copying(genp("a", "s") + wantsData).status)
            #expect(bench.copying(genp("b", "s") + wantsData).data == Data("b".utf8))
            // If data is requested, the damaged item is skipped and the next one returned.
            #expect(bench.copying(["class": "genp", "svce": "s"] + wantsData).data == Data("b".utf8))
            #expect(bench.copying(["class": "genp", "svce": "s"] + wantsData + wantsAll).array as? [Data] == [Data("b".utf8)])
        },
        Vector(165, "only sealed data decides about a date") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            try bench.sql("UPDATE item SET created = -1")
            bench.expect(0, bench.copy(genp("a", "s")))
        },
        Vector(166, "a garbled vault") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            let path = bench.keychain.configuration.vault
            try Data("not a database".utf8).write(to: URL(fileURLWithPath: path))
            #expect(throws: (any Error).self) {
                do { _ = try Keychain.open(bench.keychain.name, in: bench.throwaway.directories) } catch {
                    #expect(OSStatus(error) == -25291)
                    throw error
                }
            }
        },
        Vector(169, "a vault that cannot be opened") { bench in
            let path = bench.keychain.configuration.vault
            // File permissions do not restrict root, which runs the tests in containers; a directory at the path does.
            try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            #expect(throws: (any Error).self) {
                do { _ = try Keychain.open(bench.keychain.name, in: bench.throwaway.directories) } catch {
                    #expect(OSStatus(error) == -25291)
                    throw error
                }
            }
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
            let keychain = try Keychain.open(bench.keychain.name, in: bench.throwaway.directories)
            SecKeychainUse(keychain) {
                let item = genp("a", "s") as CFDictionary
                #expect([SecItemAdd(item, nil), SecItemAdd(item, nil)] == [0, -25299])
                #expect([SecItemCopyMatching(item, nil), SecItemDelete(item)] == [0, 0])
            }
        },
        Vector(177, "threads that use one item") { bench in
            let unexpected = Lock<[OSStatus]>([])
            let keychain = bench.keychain
            let threads = (0..<8).map { thread in
                Thread.running {
                    SecKeychainUse(keychain) {
                        for number in 0..<25 {
                            let item = genp("a", "s") as CFDictionary
                            let status = switch (number + thread) % 4 {
                            case 0: SecItemAdd(genp("a", "s", ["v_Data": Data([1])]) as CFDictionary, nil)
                            case 1: SecItemUpdate(item, ["v_Data": Data([UInt8(number)])] as CFDictionary)
                            case 2: SecItemDelete(item)
                            default: SecItemCopyMatching(genp("a", "s", ["r_Data": true]) as CFDictionary, nil)
                            }
                            if ![0, -25300, -25299].contains(status) { unexpected.withLock { $0.append(status) } }
                        }
                    }
                }
            }
            for thread in threads { thread.wait() }
            #expect(unexpected.withLock { $0 } == [])
        },
    ]
}

extension SecItemFixture {
    /// Overwrites the attributes in the row of a reference.
    func damage(_ reference: Data) throws {
        try sql(
            "UPDATE item SET attributes_ciphertext = X'12345678' WHERE identity = ?",
            [Data(reference.dropFirst(4).prefix(16))])
    }
}

extension Thread {
    /// Returns a started thread.
    static func running(_ body: @escaping @Sendable () -> Void) -> Running {
        let running = Running()
        let thread = Thread {
            body()
            running.done.signal()
        }
        thread.start()
        return running
    }

    struct Running: Sendable {
        let done = DispatchSemaphore(value: 0)
        func wait() { done.wait() }
    }
}

import Foundation
import KeyfobPrimitives
import KeyfobTesting
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    @Suite struct ConcurrencyTests {
        @Test(.needs(.otherPrograms)) func `exactly one of two processes that add the same item succeeds, in every round`() throws {
            let test = try TestKeychain()
            let children = [try Child(test, ["add", "race"]), try Child(test, ["add", "race"])]
            for child in children { #expect(child.line() == "ready") }
            for round in 0..<50 {
                for child in children { child.send("\(round)") }
                #expect(Set(children.map { $0.line() ?? "" }) == ["added", "duplicate"])
            }
            for child in children { try child.endInput() }
            #expect(try test.keychain.find(.genericPasswords).count == 50)
        }

        @Test(.needs(.otherPrograms)) func `8 threads and 4 processes that add, find and delete leave the correct items`() async throws {
            let test = try TestKeychain(.patient)
            let children = try (0..<4).map { try Child(test, ["mixed", "p\($0)", "25"]) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for thread in 0..<8 {
                    group.addTask {
                        for index in 0..<25 {
                            let service = "t\(thread)-\(index)"
                            let added = try await test.keychain.add(
                                GenericPassword(service: service, account: "a"), secret: SecretBytes(service))
                            let found = try await test.keychain.find(.genericPassword(service: service))
                            #expect(found.count == 1)
                            if index % 2 == 0 { try await test.keychain.delete(added) }
                        }
                    }
                }
                try await group.waitForAll()
            }
            for child in children {
                let end = child.waitForEnd()
                #expect(end.status == 0 && end.lines == ["ready", "done"])
            }
            let names = (0..<8).map { "t\($0)" } + (0..<4).map { "p\($0)" }
            let expected = Set(names.flatMap { name in (0..<25).filter { $0 % 2 == 1 }.map { "\(name)-\($0)" } })
            let left = try await test.keychain.find(.genericPasswords)
            #expect(Set(left.map(\.service)) == expected && left.count == expected.count)
            for item in left { #expect(try await test.keychain.secret(of: item) == SecretBytes(item.service)) }
            #expect(try await test.keychain.integrity.findings().isEmpty)
        }

        @Test func `every one of several concurrent updates of an item succeeds`() throws {
            let test = try TestKeychain(.patient)
            try test.keychain.add(GenericPassword(service: "s", account: "0"), secret: SecretBytes("s"))
            let failures = Lock<[String]>([])
            let threads = (0..<8).map { thread in
                let thread = Thread {
                    for round in 0..<40 {
                        do {
                            let count = try test.keychain.update(
                                .genericPassword(service: "s"), [.account: .string("\(thread)-\(round)")])
                            if count != 1 { failures.withLock { $0.append("\(count) changed") } }
                        } catch { failures.withLock { $0.append("\(error)") } }
                    }
                }
                thread.start()
                return thread
            }
            while !threads.allSatisfy(\.isFinished) { usleep(10_000) }
            #expect(failures.withLock { $0 } == [])
            #expect(try test.keychain.find(.genericPasswords).count == 1)
        }

        @Test func `the body of a walk may read secrets, even with a single connection`() throws {
            for isOneShot in [false, true] {
                var options = Keychain.Options()
                options.isOneShot = isOneShot
                let test = try TestKeychain(options)
                for index in 0..<3 {
                    try test.keychain.add(GenericPassword(service: "s\(index)"), secret: SecretBytes("\(index)"))
                }
                var secrets: [String] = []
                try test.keychain.forEach(.genericPasswords) { item in
                    secrets.append(try test.keychain.secret(of: item)?.copyString() ?? "")
                    return true
                }
                #expect(secrets == ["0", "1", "2"])
            }
        }

        @Test func `the body of a walk may search the same items, even with a single connection`() throws {
            for isOneShot in [false, true] {
                var options = Keychain.Options()
                options.isOneShot = isOneShot
                let test = try TestKeychain(options)
                for index in 0..<3 { try test.keychain.add(GenericPassword(service: "s\(index)"), secret: nil) }
                var services: [String] = []
                try test.keychain.forEach(.genericPasswords) { item in
                    services.append(item.service)
                    let found = try test.keychain.find(.genericPasswords)
                    #expect(found.count == 3)
                    // A walk that restarts again and again must fail and not hang.
                    return services.count < 10
                }
                #expect(services == ["s0", "s1", "s2"])
            }
        }

        @Test(arguments: [false, true])
        func `the body of a walk may change the keychain, and sees every item once`(isOneShot: Bool) throws {
            var options = Keychain.Options()
            options.isOneShot = isOneShot
            let test = try TestKeychain(options)
            // More items than one page of a walk.
            for index in 0..<40 { try test.keychain.add(GenericPassword(service: "s\(index)"), secret: nil) }
            var seen: [String] = []
            try test.keychain.forEach(.genericPasswords) { item in
                seen.append(item.service)
                if seen.count % 2 == 0 {
                    try test.keychain.delete(item)
                } else {
                    try test.keychain.update(.genericPassword(service: item.service), [.comment: "seen"])
                }
                return true
            }
            #expect(seen == (0..<40).map { "s\($0)" })
            let left = try test.keychain.find(.genericPasswords)
            #expect(left.count == 20)
            #expect(left.allSatisfy { $0.comment == "seen" })
        }

        @Test(.needs(.otherPrograms)) func `another process may change the vault during the body of a walk`() throws {
            let test = try TestKeychain()
            try test.keychain.add(GenericPassword(service: "first"), secret: nil)
            let child = try Child(test, ["add", "other"])
            #expect(child.line() == "ready")
            try test.keychain.forEach(.genericPasswords) { _ in
                child.send("1")
                #expect(child.line() == "added")
                return false
            }
            try child.endInput()
        }
    }
}

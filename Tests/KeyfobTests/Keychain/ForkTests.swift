import Foundation
import KeyfobPrimitives
import KeyfobTesting
import TestSupport
import Testing

@testable import Keyfob

/// Processes that fork while they have a keychain open, their pool of sessions included.
@Suite struct ForkTests {
    @Test(arguments: ["same", "anew"])
    func `both sides of a fork use the keychain, the vault and the token`(how: String) throws {
        let test = try TestKeychain()
        let end = try Child(test, ["fork", how]).waitForEnd()
        #expect(end.status == 0 && Set(end.lines) == ["ready", "child done", "parent done"], "\(how): \(end)")
        try check(test, ["warm-up", "parent", "child"])
    }

    @Test func `a child outlives its parent, while others come and go`() throws {
        let test = try TestKeychain()
        let child = try Child(test, ["fork", "orphan"])
        #expect(child.line() == "ready")
        for _ in 0..<200 {
            _ = try test.reopen().find(.genericPasswords)
            usleep(5_000)
        }
        let end = child.waitForEnd()
        #expect(end.status == 0 && end.lines == ["child done"], "\(end)")
        try check(test, ["warm-up", "child"])
    }

    @Test
    func `a child that was forked in the middle of signing works or is refused, and never waits for ever`() throws {
        let test = try TestKeychain()
        var answers: [String: Int] = [:]
        for _ in 0..<8 {
            let end = try Child(test, ["fork", "signing"]).waitForEnd()
            let answer = end.lines.first { $0.hasPrefix("child") }
            answers[answer ?? "nothing", default: 0] += 1
            #expect(end.status == 0 && end.lines.contains("parent done"), "\(end)")
            try test.keychain.delete(.genericPasswords)
            try test.keychain.delete(.keys)
        }
        print("forks while three threads sign: \(answers)")
        #expect(Set(answers.keys).isSubset(of: ["child done", "child: refused"]))
        #expect(try test.keychain.vaultFindings().isEmpty)
    }

    @Test func `none of 300 children that are forked beside threads at work waits for ever`() throws {
        let test = try TestKeychain()
        let end = try Child(test, ["forks", "300"]).waitForEnd()
        let counts = try #require(end.lines.last).split(separator: " ").compactMap { Int($0) }
        try #require(end.status == 0 && counts.count == 3, "\(end)")
        let (done, refused, hung) = (counts[0], counts[1], counts[2])
        print("300 forks beside three threads: \(done) children worked, \(refused) were refused, \(hung) hung")
        #expect(done + refused == 300 && hung == 0)
        // Calls under way are waited for: who is refused was forked in the middle of the vault, which is the more often
        // the busier the machine. Without waiting hardly any child would work.
        #expect(done >= 5)
        #expect(try test.reopen().find(.genericPasswords).count == done + 1)
        #expect(try test.keychain.vaultFindings().isEmpty)
    }

    @Test func `a throwaway keychain that goes in a child that was forked stays its parent's`() async {
        await #expect(processExitsWith: .success) { try ForkTests.letGoInChild() }
    }

    private static func letGoInChild() throws {
        var last: ThrowawayKeychain? = try ThrowawayKeychain()
        let (name, directories) = try (#require(last?.keychain.name), #require(last?.directories))
        let status = ForkedChild.run {
            last = nil
            _exit(0)
        }
        #expect(status == 0)
        // Opened anew, so that token and vault are looked for.
        let key = try Keychain.open(name, in: directories).generateKey(.p256, label: "key")
        #expect(key.label == "key")
        withExtendedLifetime(last) {}
    }

    private func check(_ test: TestKeychain, _ prefixes: [String]) throws {
        let keychain = try test.reopen()
        let expected = Set(prefixes.flatMap { prefix in (0..<20).map { "\(prefix)-\($0)" } } + ["before"])
        let items = try keychain.find(.genericPasswords)
        #expect(Set(items.map(\.service)) == expected && items.count == expected.count)
        for item in items { #expect(try keychain.secret(of: item) == SecretBytes(item.service)) }
        let labels = try keychain.find(.keys.keyClass(.private)).compactMap(\.label)
        #expect(labels.sorted() == (prefixes + ["key"]).sorted())
        #expect(try keychain.vaultFindings().isEmpty)
    }
}

import Foundation
import KeyfobPrimitives
import TestSupport
import Testing

/// Stored PINs of tokens that count tries: a wrong one is sent once, whatever command uses it.
@Suite struct StoredPINTests {
    /// The commands that log in to an existing token.
    enum Way: String, CaseIterable {
        case initialize, create, show, unlock

        func words(_ module: String, _ source: String) -> [String] {
            switch self {
            case .initialize: ["init", "--keychain", "new", "--token", "card", "--module", module, "--pin-source", source]
            case .create: ["keychain", "create", "new", "--token", "card", "--module", module, "--pin-source", source]
            case .show: ["token", "show", "pkcs11:token=card?module-path=\(module)", "--objects", "--pin-source", source]
            case .unlock: ["unlock", "card", "--pin-source", source]
            }
        }
    }

    /// A home with a keychain `card`, and a module that refuses and counts every login from now on.
    ///
    /// - Parameter way: The command to run; `show` is for a token without a keychain.
    private static func refusing(
        _ words: String = "answer=C_Login,160,99", for way: Way = .unlock
    ) throws -> (household: TestHome, module: String, environment: [String: String]) {
        let (household, environment) = try TestHome.withCard()
        _ = try household.directory.write(Array("9999".utf8), to: "bad")
        try #require(try household.keyfob(["lock", "--all"]).status == 0)
        if way == .show {
            let removed = try household.keyfob(["keychain", "rm", "card", "--yes"], environment: environment)
            try #require(removed.status == 0, "\(removed.error)")
        }
        return (household, household.directory.file("faulty.so"), environment.merging(["FAULTY_REFUSE": words]) { $1 })
    }

    private static func count(_ file: String) -> Int { FileManager.default.contents(atPath: file)?.count ?? 0 }

    /// Runs a command several times at once, and returns the codes of the failures.
    private static func together(
        _ number: Int, _ words: [String], _ household: TestHome, _ environment: [String: String]
    ) throws -> [String] {
        let codes = Lock<[String]>([])
        let threads = (0..<number).map { _ in
            POSIXThread.start("command") {
                let code = (try? household.failure(words, environment: environment))?.code ?? "none"
                codes.withLock { $0.append(code) }
            }
        }
        for thread in threads { try #require(thread).join() }
        return codes.withLock { $0 }
    }

    @Test(arguments: Way.allCases, ["file:", "env:"])
    func `a stored PIN that was refused is not sent again by the same command`(way: Way, source: String) throws {
        let (household, module, base) = try Self.refusing(for: way)
        let environment = base.merging(["BAD": "9999"]) { $1 }
        let words = way.words(module, source == "env:" ? "env:BAD" : "file:" + household.directory.file("bad"))
        let failures = try (0..<3).map { _ in try household.failure(words, environment: environment) }
        #expect(failures.map(\.code) == ["pin.incorrect", "pin.known_wrong", "pin.known_wrong"])
        #expect(failures.map(\.status) == [5, 5, 5])
        #expect(Self.count(module + ".C_Login") == 1)
        let remedy = way == .unlock ? "keyfob unlock card --pin-source prompt" : "the same command with --pin-source prompt"
        #expect(failures[1].hint.hasSuffix(remedy), "\(failures[1].hint)")
    }

    @Test(arguments: Way.allCases)
    func `only one of several simultaneous commands sends a wrong stored PIN`(way: Way) throws {
        let (household, module, environment) = try Self.refusing(for: way)
        let words = way.words(module, "file:" + household.directory.file("bad"))
        let codes = try Self.together(6, words, household, environment)
        #expect(codes.sorted() == ["pin.incorrect"] + Array(repeating: "pin.known_wrong", count: 5))
        #expect(Self.count(module + ".C_Login") == 1)
    }

    @Test func `only one of several simultaneous commands sends a wrong PIN of an earlier unlock`() throws {
        let (household, module, environment) = try Self.refusing()
        let right = environment.merging(["FAULTY_REFUSE": ""]) { $1 }
        let set = try household.keyfob(
            ["set", "a", "--stdin", "--pin-source", "env:CARD_PIN"], input: Data("v".utf8), environment: right)
        try #require(set.status == 0, "\(set.error)")
        try #require(try household.keyfob(["unlock", "--pin-source", "env:CARD_PIN"], environment: right).status == 0)
        let codes = Set(try Self.together(6, ["get", "a"], household, environment))
        // After the first failure the unlocked state is gone, so there is no PIN to send.
        #expect(codes.isSubset(of: ["pin.incorrect", "pin.required"]), "\(codes)")
        #expect(codes.contains("pin.incorrect"))
        #expect(Self.count(module + ".C_Login") == 1)
    }

    @Test func `only one of several simultaneous commands sends a wrong PIN for a key that requires it each time`() throws {
        let (household, module, environment) = try Self.refusing("context-login=160")
        let right = environment.merging(["FAULTY_REFUSE": ""]) { $1 }
        let source = ["--pin-source", "env:CARD_PIN"]
        let made = try household.keyfob(["key", "generate", "k", "--type", "rsa"] + source, environment: right)
        try #require(made.status == 0, "\(made.error)")
        let words = ["key", "csr", "k", "--cn", "x"] + source
        let codes = try Self.together(6, words, household, environment)
        #expect(codes.count { $0 == "pin.incorrect" } == 1, "\(codes)")
        #expect(codes.count { $0 == "pin.known_wrong" } == codes.count - 1, "\(codes)")
        #expect(Self.count(module + ".authentications") == 1)
    }
}

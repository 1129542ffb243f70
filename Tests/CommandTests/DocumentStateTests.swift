import Foundation
import TestSupport
import Testing

/// Documents about the same kind of object in different states.
@Suite struct DocumentStateTests {
    private func document(
        _ home: TestHome, _ words: String, environment: [String: String] = [:]
    ) throws -> [String: Any] {
        let words = words.split(separator: " ").map(String.init)
        let result = try home.keyfob(words + ["--json"], environment: environment)
        return try #require(
            try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any],
            "\(words): \(result.error)")
    }

    /// The state of the only keychain in every document that has it.
    private func states(_ home: TestHome, environment: [String: String] = [:]) throws -> Set<String> {
        let documents = try ["status", "keychain ls", "status --all"].map {
            try document(home, $0, environment: environment)
        }
        let listed = documents.dropFirst().compactMap { ($0["keychains"] as? [[String: Any]])?.first }
        let words = ([documents[0]] + listed).compactMap { $0["state"] as? String }
        try #require(words.count == 3)
        return Set(words)
    }

    @Test func `status and lists have one word for a state`() throws {
        let home = try TestHome.withPassphrase("a long passphrase")
        let source = ["KEYFOB_PIN_SOURCE": "env:PASS", "PASS": "a long passphrase"]
        #expect(try states(home) == ["locked"])
        #expect(try states(home, environment: source) == ["unattended"])
        let unlocked = try document(home, "unlock --pin-source env:PASS", environment: source)
        #expect(unlocked["state"] as? String == "unlocked")
        #expect(try states(home) == ["unlocked"])
        _ = try document(home, "lock")
        // The vault cannot be opened, but its PIN is not asked for.
        try FileManager.default.removeItem(atPath: home.vault())
        #expect(try states(home) == ["locked"])
        #expect(try states(home, environment: source) == ["unattended"])
    }

    @Test func `a keychain that opens without asking is unattended, whatever was done with it`() throws {
        let home = try TestHome.unattended()
        #expect(try states(home) == ["unattended"])
        for words in ["secret generate a", "unlock", "lock"] {
            let changed = try document(home, words)
            #expect(["unattended", nil].contains(changed["state"] as? String), "\(words)")
            #expect(try states(home) == ["unattended"], "\(words)")
        }
    }

    @Test func `a token that needs no login gives one word too`() throws {
        let home = try TestHome()
        let module = home.directory.file("faulty.so")
        try FaultyModule.build(module)
        let environment = try home.makeCard().merging(
            ["FAULTY_TARGET": TestToken.modulePath, "FAULTY_REFUSE": "no-login"]) { $1 }
        let made = try home.keyfob(
            ["init", "--keychain", "card", "--token", "card", "--module", module], environment: environment)
        try #require(made.status == 0, "\(made.error)")
        #expect(try states(home, environment: environment) == ["unattended"])
    }

    @Test func `the members of a keychain do not depend on its state`() throws {
        let home = try TestHome.withPassphrase("a long passphrase")
        let environment = ["PASS": "a long passphrase"]
        let kinds = ["status", "keychain show login", "keychain check login", "init"]
        func members(_ words: String) throws -> Set<String> {
            Set(try document(home, words, environment: environment).keys)
        }
        func listed() throws -> Set<String> {
            let lists = try document(home, "keychain ls")["keychains"] as? [[String: Any]]
            return Set(try #require(lists?.first).keys)
        }
        let unlocked = try document(home, "unlock --pin-source env:PASS", environment: environment)
        #expect(unlocked["state"] as? String == "unlocked")
        let open = try kinds.map(members)
        let entry = try listed()
        _ = try document(home, "lock")
        #expect(try members("status") == open[0] && members("keychain show login") == open[1])
        // The token is absent.
        let tokens = home.data + "/tokens"
        try FileManager.default.moveItem(atPath: tokens, toPath: tokens + ".away")
        let absent = try document(home, "status")
        #expect(absent["problem"] is [String: Any] && Set(absent.keys) == open[0])
        #expect(try members("keychain show login") == open[1])
        // The command has made an empty directory.
        try FileManager.default.removeItem(atPath: tokens)
        try FileManager.default.moveItem(atPath: tokens + ".away", toPath: tokens)
        // The configuration is damaged.
        try Data("{".utf8).write(to: URL(fileURLWithPath: home.keychain() + "/keychain.json"))
        #expect(try listed() == entry)
    }

    @Test func `the members of a secret do not depend on its value and attributes`() throws {
        let home = try TestHome.unattended()
        try home.set("plain", "text")
        try home.set("full", "text", ["--comment", "c", "--user", "u", "--protocol", "https", "--port", "1"])
        let binary = try home.keyfob(["set", "binary", "--stdin"], input: Data([0xFF, 0xFE]))
        try #require(binary.status == 0)
        for command in ["get", "secret show", "secret show --reveal"] {
            let all = try ["plain", "full", "binary"].map { Set(try document(home, "\(command) \($0)").keys) }
            #expect(Set(all).count == 1, "\(command): \(all)")
        }
        #expect(try document(home, "get binary")["value"] is NSNull)
        #expect(try document(home, "get plain")["value_b64"] is NSNull)
    }

    @Test func `the members of an identity do not depend on its issuer and version`() throws {
        let home = try IdentityHome()
        try home.makeWeb()
        func document(_ words: String) throws -> [String: Any] {
            let result = try Tool.keyfob(
                words.split(separator: " ").map(String.init) + ["--json"], environment: home.environment
            ).run()
            return try #require(
                try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any], "\(result.error)")
        }
        _ = try document("identity create own --cn own --self-signed")
        _ = try document("identity renew own --force")
        _ = try document("identity import \(home.file("web.p12")) --name web --pass-source file:\(home.file("pass"))")
        let names = try #require(try document("identity ls")["identities"] as? [[String: Any]])
            .compactMap { $0["name"] as? String }
        try #require(names.count == 3)
        for command in ["identity show", "cert show", "identity check"] {
            let all = try names.map { Set(try document("\(command) \($0)").keys) }
            #expect(Set(all).count == 1, "\(command): \(all)")
        }
        let findings = try names.flatMap { name in
            try #require(try document("identity check \(name)")["findings"] as? [[String: Any]])
        }
        #expect(Set(findings.map { Set($0.keys) }).count == 1)
        // The same word in every document.
        for name in names {
            let listed = try #require(try document("identity ls")["identities"] as? [[String: Any]])
                .first { $0["name"] as? String == name }
            let shown = try [document("identity show \(name)"), document("cert show \(name)")]
            #expect(Set((shown + [listed ?? [:]]).compactMap { $0["state"] as? String }).count == 1, "\(name)")
        }
    }
}

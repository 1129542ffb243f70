import Foundation
import TestSupport
import Testing

/// Token objects that were lost, were damaged, or could not be read once: `keychain check` reports each.
@Suite struct LostObjectTests {
    /// The class of an object, as SoftHSM's files store it.
    enum Kind: UInt8, CaseIterable {
        case certificate = 1
        case publicKey = 2
        case privateKey = 3
    }

    enum Damage: String, CaseIterable {
        case emptied, cutToCounter, halved, zeroed, scrambled, unreadable, removed

        func apply(to path: String) throws {
            let url = URL(fileURLWithPath: path)
            let bytes = try Data(contentsOf: url)
            switch self {
            case .emptied: try Data().write(to: url)
            case .cutToCounter: try bytes.prefix(8).write(to: url)
            case .halved: try bytes.prefix(bytes.count / 2).write(to: url)
            case .zeroed: try Data(count: bytes.count).write(to: url)
            case .scrambled: try Data(bytes.map { $0 ^ 0x5A }).write(to: url)
            case .unreadable:
                // Unreadable also for root, who can read any file.
                try FileManager.default.removeItem(at: url)
                try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
            case .removed: try FileManager.default.removeItem(at: url)
            }
        }
    }

    /// A home with the trusted identity `web`, imported from `web.p12`.
    private static func household() throws -> TestHome {
        let household = try TestHome.unattended()
        _ = try household.directory.write(Array("x".utf8), to: "pass")
        for name in ["web", "other"] {
            let made = try Tool(
                "/bin/sh",
                [
                    "-ec",
                    """
                    cd "$2"
                    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.crt" \
                        -subj "/CN=$1" -days 90
                    openssl pkcs12 -export -inkey "$1.key" -in "$1.crt" -passout pass:x -out "$1.p12"
                    """, "sh", name, household.directory.path,
                ]
            ).run()
            try #require(made.status == 0, "\(made.error)")
        }
        try importIdentity("web", household)
        let trusted = try household.keyfob(["trust", "add", "web"])
        try #require(trusted.status == 0, "\(trusted.error)")
        return household
    }

    private static func importIdentity(_ name: String, _ household: TestHome) throws {
        let words = ["identity", "import", household.directory.file(name + ".p12"), "--name", name]
        let result = try household.keyfob(words + ["--pass-source", "file:" + household.directory.file("pass")])
        try #require(result.status == 0, "\(result.error)")
    }

    /// The files of the objects of a kind, or of all objects; without the file of the token.
    private static func files(_ household: TestHome, _ kind: Kind? = nil) throws -> [String] {
        let tokens = household.data + "/tokens"
        let token = tokens + "/" + (try #require(FileManager.default.contentsOfDirectory(atPath: tokens).first))
        return try FileManager.default.contentsOfDirectory(atPath: token).filter {
            $0.hasSuffix(".object") && $0 != "token.object"
        }.map { token + "/" + $0 }.filter { path in
            // The file begins with a counter, followed by the class as the first attribute: type, kind and value, 8
            // bytes each.
            try kind.map { try Data(contentsOf: URL(fileURLWithPath: path)).dropFirst(31).first == $0.rawValue } ?? true
        }
    }

    /// The codes of the findings of a check, and its exit status.
    private static func check(_ household: TestHome, _ options: [String]) throws -> (codes: Set<String>, status: Int32) {
        let result = try household.keyfob(["keychain", "check", "--json"] + options)
        let object = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        let findings = try #require(object?["findings"] as? [[String: Any]], "\(result.error)")
        return (Set(findings.compactMap { $0["code"] as? String }), result.status)
    }

    private static func identities(_ household: TestHome) throws -> [String] {
        let list = try #require(try household.document(["identity", "ls"])["identities"] as? [[String: Any]])
        return list.compactMap { $0["name"] as? String }
    }

    @Test(arguments: Damage.allCases, Kind.allCases)
    func `every check reports an object that is damaged or gone`(damage: Damage, kind: Kind) throws {
        let household = try Self.household()
        try damage.apply(to: #require(try Self.files(household, kind).first))
        guard damage != .halved else {
            // SoftHSM shows the attributes before the cut. It may write the others with default values, which makes the
            // file whole.
            let (codes, status) = try Self.check(household, ["--secrets"])
            #expect(codes.contains("object.unreadable"))
            #expect(status == 9)
            return
        }
        var expected: Set<String> = damage == .removed ? [] : ["object.unreadable"]
        // The public half of a key is not a separate item.
        if kind != .publicKey { expected.insert("object.absent") }
        for options in [[], ["--secrets"], []] {
            let (codes, status) = try Self.check(household, options)
            #expect(codes == expected)
            #expect(status == (expected.isEmpty ? 0 : 9))
            // Other commands read the token as well; afterwards the check still reports the object.
            _ = try household.keyfob(["identity", "ls"])
        }
    }

    @Test func `the object file of a killed program is a finding, and hides no other`() throws {
        let household = try Self.household()
        let stray = URL(fileURLWithPath: try #require(Self.files(household).first)).deletingLastPathComponent()
            .appendingPathComponent("11111111-2222-3333-4444-555555555555.object")
        try Data().write(to: stray)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: stray.path)
        #expect(try Self.check(household, []) == (["object.unreadable"], 9))
        #expect(try Self.identities(household) == ["web"])
        try FileManager.default.removeItem(atPath: #require(try Self.files(household, .privateKey).first))
        #expect(try Self.check(household, []) == (["object.unreadable", "object.absent"], 9))
        let accepted = try household.keyfob(["keychain", "check", "--accept", "--yes"])
        #expect(accepted.status == 9, "\(accepted.output)\(accepted.error)")
        #expect(try Self.check(household, []) == (["object.unreadable"], 9))
    }

    @Test(.enabled(if: Machine.canTrace), arguments: [1, 2], [Kind.certificate, .privateKey])
    func `an object that could not be read once is found the next time, and not made twice`(
        look: Int, kind: Kind
    ) throws {
        let household = try Self.household()
        let victim = try #require(try Self.files(household, kind).first)
        let fail = [
            "strace", "-f", "-qq", "-o", "/dev/null", "-P", victim, "-e", "trace=read", "-e",
            "inject=read:error=EIO:when=\(look)", Tool.keyfob([]).path,
        ]
        // A change of the token, after which the index of its objects is rebuilt.
        let environment = household.environment.merging(["KEYFOB_NO_INPUT": "1"]) { $1 }
        for words in [["key", "generate", "other"], ["identity", "ls"], ["keychain", "check"]] {
            _ = try Tool("/usr/bin/env", fail + words, environment: environment).run()
            #expect(try Self.identities(household) == ["web"])
            #expect(try household.keyfob(["trust", "ls", "--json"]).output.contains("\"web\""))
        }
        try Self.importIdentity("web", household)
        #expect(try Self.files(household, .certificate).count == 1)
        #expect(try Self.check(household, []) == ([], 0))
    }
}

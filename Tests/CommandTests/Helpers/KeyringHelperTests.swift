import Foundation
import TestSupport
import Testing

/// The command of the Python package keyring.
@Suite struct KeyringHelperTests {
    /// A Python whose pip calls the command (pip 23.1 and later).
    private static let python: String? = {
        let home = HelperHome.installations
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: home + "/.pyenv/versions")) ?? []
        let candidates = ["/usr/bin/python3"] + versions.sorted().map { "\(home)/.pyenv/versions/\($0)/bin/python3" }
        return candidates.first { path in
            let help = try? Tool("/usr/bin/env", [path, "-m", "pip", "--help"]).run()
            return help?.output.contains("--keyring-provider") == true
        }
    }()

    private let helpers: HelperHome

    init() throws { helpers = try .linked() }

    private func keyring(_ arguments: String..., input: String = "") throws -> Tool.Result {
        try helpers.call("keyring", arguments, input)
    }

    @Test(.enabled(if: python != nil)) func `pip downloads from an index that asks for a password`() throws {
        let server = try AuthenticatedServer(helpers)
        let python = try #require(Self.python)
        let index = "http://\(server.host)/simple/"
        let pip = "\(python) -m pip --isolated --keyring-provider subprocess download --no-input --no-deps -d got"
            + " --index-url \(index.replacing("://", with: "://ci@")) thing"
        try helpers.shell(
            """
            printf '%s\\n' '\(AuthenticatedServer.basic("ci", "p-w"))' > allowed
            mkdir -p www/simple/thing
            python3 - <<END
            import zipfile
            wheel = zipfile.ZipFile("www/simple/thing/thing-1.0-py3-none-any.whl", "w")
            info = "thing-1.0.dist-info/"
            wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: thing\\nVersion: 1.0\\n")
            wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
            wheel.writestr(info + "RECORD", "")
            wheel.close()
            END
            """)
        #expect(try helpers.run(pip).status != 0)
        #expect(try keyring("set", index, "ci", input: "p-w\n").status == 0)
        let result = try helpers.run(pip)
        #expect(result.status == 0, "\(result.output)\(result.error)")
        #expect(try helpers.shell("ls got") == "thing-1.0-py3-none-any.whl\n")
    }

    @Test func `a service without a URL is a generic password`() throws {
        #expect(try keyring("set", "backup", "me", input: "one\n").status == 0)
        #expect(try keyring("set", "backup", "me", input: "two\n").status == 0)
        #expect(try keyring("get", "backup", "me").output == "two\n")
        #expect(try helpers.home.keyfob(["get", "backup", "--user", "me", "--kind", "generic"]).output == "two\n")
        #expect(try keyring("--mode", "creds", "get", "backup").output == "me\ntwo\n")
        #expect(try keyring("get", "backup", "--mode", "creds", "--output", "json").output == #"{"username":"me","password":"two"}"# + "\n")
        #expect(try keyring("--output", "json", "get", "backup", "me").output == #"{"password":"two"}"# + "\n")
        #expect(try keyring("del", "backup", "me").status == 0)
        #expect(try keyring("del", "backup", "me").status == 3)
    }

    @Test func `a URL matches the nearest password above it on the same server`() throws {
        let options = ["--kind", "internet", "--protocol", "https", "--user", "ci"]
        try helpers.home.set("pypi.example.org", "of the server", options)
        #expect(try keyring("set", "https://pypi.example.org/team/", "ci", input: "of the team").status == 0)
        #expect(try keyring("get", "https://pypi.example.org/team/simple/", "ci").output == "of the team\n")
        #expect(try keyring("get", "https://pypi.example.org/other/simple/", "ci").output == "of the server\n")
        // pip asks for the host alone after any URL, also one of http.
        for service in ["pypi.example.org", "http://pypi.example.org/team/", "https://pypi.example.org:8443/", "https://example.org/"] {
            let result = try keyring("get", service, "ci")
            #expect(result.status == 1 && result.output.isEmpty && result.error.isEmpty, "\(service): \(result.error)")
        }
        #expect(try keyring("del", "https://pypi.example.org/team/", "ci").status == 0)
        #expect(try helpers.accounts() == ["ci@pypi.example.org"])
    }

    @Test func `a new password replaces the generic one that get would return, and del removes both`() throws {
        let url = "https://pypi.example.org/"
        #expect(try keyring("set", url, "ci", input: "internet").status == 0)
        try helpers.home.set(url, "generic", ["--user", "ci"])
        #expect(try keyring("get", url, "ci").output == "generic\n")
        #expect(try keyring("set", url, "ci", input: "new").status == 0)
        #expect(try keyring("get", url, "ci").output == "new\n")
        #expect(try keyring("del", url, "ci").status == 0)
        #expect(try helpers.accounts().isEmpty)
        #expect(try keyring("del", url, "ci").status == 3)
    }

    @Test func `a password of several lines does not hide another one of the server`() throws {
        let options = ["--kind", "internet", "--protocol", "https"]
        try helpers.home.set("pypi.example.org", "one line", options + ["--user", "al"])
        try helpers.home.set("pypi.example.org", "two\nlines", options + ["--user", "bo"])
        let found = try keyring("--mode", "creds", "get", "https://pypi.example.org/simple/")
        #expect(found.output == "al\none line\n", "\(found.error)")
        #expect(try keyring("get", "https://pypi.example.org/simple/", "bo").status == 9)
        let docker = try helpers.call("docker-credential-keyfob", ["get"], "https://pypi.example.org/v2/")
        #expect(docker.output.contains(#""Secret":"one line""#), "\(docker.output)")
    }

    @Test func `no helper has a dry run`() throws {
        #expect(try keyring("set", "svc", "me", input: "kept").status == 0)
        let lines = "protocol=https\nhost=example.org\nusername=me\npassword=x\n"
        let login = #"{"ServerURL":"r.example","Username":"me","Secret":"x"}"#
        let token = #"{"v":1,"kind":"login","registry":{"index-url":"sparse+https://r.example/"},"args":["-q"],"token":"x"}"#
        let calls: [(program: String, words: [String], input: String, status: Int32)] = [
            ("keyring", ["set", "other", "me"], "x", 2), ("keyring", ["set", "svc", "me"], "x", 2),
            ("keyring", ["del", "svc", "me"], "", 2), ("git-credential-keyfob", ["store"], lines, 2),
            ("docker-credential-keyfob", ["store"], login, 1),
            ("cargo-credential-keyfob", ["--cargo-plugin"], token + "\n", 0),
        ]
        for call in calls {
            let result = try helpers.call(call.program, call.words + ["--dry-run"], call.input)
            #expect(result.status == call.status, "\(call.program): \(result.error)")
            let text = result.output + result.error
            #expect(text.contains("a helper has no dry run; nothing was changed"), "\(call.program): \(text)")
        }
        #expect(try helpers.accounts() == ["me@svc"])
        #expect(try keyring("get", "svc", "me").output == "kept\n")
    }

    @Test func `bad input changes nothing`() throws {
        #expect(try keyring("get", "service").status == 2)
        #expect(try keyring("set", "service", input: "x").status == 2)
        #expect(try keyring("set", "service", "me", input: "").status == 2)
        #expect(try keyring("set", "service", "me", input: "a\nb\n").status == 9)
        #expect(try keyring("set", "https://a b/", "me", input: "x").status == 2)
        #expect(try keyring("frobnicate", "service", "me").status == 2)
        let typed = try keyring("set", "service", "me", "hunter2", input: "")
        #expect(typed.status == 2 && !typed.error.contains("hunter2"), "\(typed.error)")
        #expect(try helpers.accounts().isEmpty)
        try helpers.home.set("lines", "a\nb", ["--user", "me"])
        let result = try keyring("get", "lines", "me")
        #expect(result.status == 9 && result.output.isEmpty, "\(result.output)")
    }
}

import Foundation
import TestSupport
import Testing

/// The links of helpers, and the configuration of the programs that call them.
@Suite struct HelperInstallTests {
    private let helpers: HelperHome

    init() throws { helpers = try HelperHome() }

    private func helper(_ arguments: String...) throws -> Tool.Result {
        try helpers.home.keyfob(["helper"] + arguments, environment: ["PATH": "/usr/bin:/bin"])
    }

    private func links() -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: helpers.file("home/.local/bin"))) ?? []).sorted()
    }

    @Test func `links are made, kept and removed`() throws {
        let dry = try helper("install", "git", "keyring", "--dry-run")
        #expect(dry.status == 0 && dry.output.contains("Would link"), "\(dry.error)")
        #expect(links().isEmpty)
        let made = try helper("install", "git", "keyring")
        #expect(made.status == 0 && made.error.contains("not in PATH"), "\(made.error)")
        #expect(links() == ["git-credential-keyfob", "keyring"])
        let path = helpers.file("home/.local/bin/git-credential-keyfob")
        let lookup = try Tool(path, ["get"], environment: helpers.environment, input: Data("protocol=https\nhost=a\n".utf8)).run()
        #expect(lookup.status == 0, "\(lookup.error)")
        let again = try helpers.home.document(["helper", "install", "git", "keyring"])
        #expect(again["changed"] as? Bool == false)
        #expect(try helper("ls").output.contains(path))
        #expect(try helper("remove", "git", "keyring", "docker").status == 0)
        #expect(links().isEmpty)
    }

    @Test func `a file of another program is kept, and then nothing is changed`() throws {
        try helpers.shell("mkdir -p home/.local/bin; echo x > home/.local/bin/keyring")
        for verb in ["install", "remove"] {
            let result = try helper(verb, "git", "keyring", "--configure", "--yes")
            #expect(result.status == 12 && result.error.contains("not a link to keyfob"), "\(result.error)")
        }
        #expect(links() == ["keyring"])
        #expect(try helpers.shell("cat home/.local/bin/keyring; ls -A home | grep -c gitconfig || true") == "x\n0\n")
    }

    @Test func `the configuration of git is changed only when asked, and once`() throws {
        let shown = try helper("install", "git")
        #expect(shown.output.contains("git config --global --add credential.helper keyfob"), "\(shown.output)")
        let unanswered = try helper("install", "git", "--configure")
        #expect(unanswered.status == 12 && unanswered.error.contains("credential.helper keyfob"), "\(unanswered.error)")
        #expect(try helpers.run("git config --global --get-all credential.helper").output.isEmpty)
        try helpers.shell("git config --global credential.helper cache")
        for _ in 0..<2 {
            let result = try helper("install", "git", "--configure", "--yes")
            #expect(result.status == 0, "\(result.error)")
        }
        #expect(try helpers.shell("git config --global --get-all credential.helper") == "cache\nkeyfob\n")
        #expect(try helper("remove", "git", "--configure").status == 0)
        #expect(try helpers.shell("git config --global --get-all credential.helper") == "cache\n")
    }

    @Test func `the configuration of docker keeps its other members, order and mode`() throws {
        let original = #"{"auths":{"a":{}},"list":[1,2.50,true,null],"empty":{},"z":"ä\"b"}"#
        try helpers.shell("mkdir home/.docker; printf '%s' '\(original)' > home/.docker/config.json; chmod 640 home/.docker/config.json")
        #expect(try helper("install", "docker", "--configure", "--yes").status == 0)
        let text = try helpers.shell("cat home/.docker/config.json; stat -c %a home/.docker/config.json")
        let compact = text.filter { !$0.isWhitespace }
        #expect(compact == original.dropLast() + #","credsStore":"keyfob"}640"#, "\(text)")
        #expect(try helper("remove", "docker", "--configure").status == 0)
        #expect(try helpers.shell("cat home/.docker/config.json").filter { !$0.isWhitespace } == original)
    }

    @Test func `docker can call the helper for one registry`() throws {
        try helpers.shell("mkdir home/.docker; echo '{\"credHelpers\":{\"a.example\":\"other\"},\"credsStore\":\"desktop\"}' > home/.docker/config.json")
        let options = ["--configure", "--yes", "--registry", "r.example"]
        for _ in 0..<2 { #expect(try helpers.home.keyfob(["helper", "install", "docker"] + options).status == 0) }
        let text = try helpers.shell("cat home/.docker/config.json").filter { !$0.isWhitespace }
        #expect(text == #"{"credsStore":"desktop","credHelpers":{"a.example":"other","r.example":"keyfob"}}"#)
        #expect(try helper("install", "git", "--registry", "r.example").status == 2)
    }

    @Test func `a list of docker's helpers that is not an object is refused before anything changes`() throws {
        let text = #"{"credHelpers":[]}"#
        try helpers.shell("mkdir home/.docker; printf '%s' '\(text)' > home/.docker/config.json")
        let result = try helper("install", "git", "docker", "--configure", "--yes", "--registry", "r.example")
        #expect(result.status == 9 && result.error.contains("\"credHelpers\""), "\(result.error)")
        #expect(links().isEmpty)
        #expect(try helpers.run("git config --global --get-all credential.helper").output.isEmpty)
        #expect(try helpers.shell("cat home/.docker/config.json") == text)
    }

    @Test func `an error names the helpers that were changed before it`() throws {
        let words = ["helper", "install", "keyring", "git", "cargo", "--configure", "--json"]
        let result = try helpers.home.keyfob(words, environment: ["PATH": "/usr/bin:/bin"])
        #expect(result.status == 12 && result.error.contains(#""changed":"keyring\ngit""#), "\(result.error)")
        #expect(links() == ["git-credential-keyfob", "keyring"])
    }

    @Test func `a damaged configuration of docker is not changed`() throws {
        try helpers.shell("mkdir home/.docker; echo '{' > home/.docker/config.json")
        let result = try helper("install", "docker", "--configure", "--yes")
        #expect(result.status == 9 && result.error.contains("not a JSON object"), "\(result.error)")
        #expect(try helpers.shell("cat home/.docker/config.json") == "{\n")
        #expect(links().isEmpty)
    }
}

import Foundation
import TestSupport
import Testing

/// The credential helper of docker, as docker-credential-helpers documents it.
@Suite struct DockerHelperTests {
    private static let program = ["/usr/bin/docker", "/usr/local/bin/docker"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    private let helpers: HelperHome

    init() throws { helpers = try .linked() }

    private func docker(_ operation: String, _ input: String = "") throws -> (status: Int32, output: String) {
        let result = try helpers.call("docker-credential-keyfob", [operation], input)
        #expect(result.error.isEmpty, "\(result.error)")
        return (result.status, result.output)
    }

    private func store(_ registry: String, _ user: String, _ secret: String) throws {
        let result = try docker("store", #"{"ServerURL":"\#(registry)","Username":"\#(user)","Secret":"\#(secret)"}"#)
        try #require(result.status == 0 && result.output.isEmpty, "\(result.output)")
    }

    @Test(.enabled(if: program != nil)) func `docker logs in to a registry, and out`() throws {
        let server = try AuthenticatedServer(helpers)
        let command = try #require(Self.program)
        try helpers.shell(
            """
            printf '%s\\n' '\(AuthenticatedServer.basic("me", "s3cret"))' > allowed
            mkdir -p home/.docker www/v2 && echo '{}' > www/v2/index.html
            \(Tool.commandPath) helper install docker --configure --yes >&2
            echo s3cret | \(command) login -u me --password-stdin \(server.host)
            """)
        #expect(try docker("list").output == "{\"\(server.host)\":\"me\"}\n")
        #expect(try helpers.shell("! grep -q s3cret home/.docker/config.json; cat home/.docker/config.json").contains("auths"))
        try helpers.shell("\(command) logout \(server.host)")
        #expect(try docker("list").output == "{}\n")
    }

    @Test func `a login comes back under each spelling of its registry`() throws {
        try store("https://index.docker.io/v1/", "me", #"a\"b\\n"#)
        try store("registry.example.org:5000", "you", "two")
        let answer = #"{"ServerURL":"https://index.docker.io/v1/","Username":"me","Secret":"a\"b\\n"}"# + "\n"
        #expect(try docker("get", "https://index.docker.io/v1/\n").output == answer)
        #expect(try docker("get", "https://registry.example.org:5000").output.contains(#""Secret":"two""#))
        // docker uses the spelling that it stored.
        #expect(try docker("list").output.contains(#""registry.example.org:5000":"you""#))
        #expect(try docker("list").output.contains(#""https://index.docker.io/v1/":"me""#))
    }

    @Test func `a registry has one login`() throws {
        try store("registry.example.org", "me", "one")
        try store("registry.example.org", "you", "two")
        #expect(try docker("list").output == #"{"registry.example.org":"you"}"# + "\n")
        #expect(try docker("erase", "registry.example.org").status == 0)
        #expect(try docker("erase", "registry.example.org") == (0, ""))
        #expect(try docker("list").output == "{}\n")
    }

    @Test func `docker neither lists nor erases passwords of git, but may use one`() throws {
        let lines = "protocol=https\nhost=git.example.org\nusername=me\n"
        _ = try helpers.call("git-credential-keyfob", ["store"], lines + "password=of git\noauth_refresh_token=x\n")
        #expect(try docker("list").output == "{}\n")
        #expect(try docker("get", "git.example.org").output.contains(#""Secret":"of git""#))
        try store("git.example.org", "me", "of docker")
        #expect(try docker("get", "git.example.org").output.contains(#""Secret":"of docker""#))
        #expect(try helpers.call("git-credential-keyfob", ["get"], lines).output.contains("password=of git\n"))
        #expect(try docker("erase", "git.example.org").status == 0)
        #expect(try helpers.call("git-credential-keyfob", ["get"], lines).output.contains("password=of git\n"))
    }

    @Test func `a registry whose address has a path gets the password of its server`() throws {
        let options = ["--kind", "internet", "--protocol", "https", "--user", "me"]
        try helpers.home.set("index.docker.io", "of the server", options)
        #expect(try docker("get", "https://index.docker.io/v1/").output.contains(#""Secret":"of the server""#))
        try helpers.home.set("index.docker.io", "nearer", options + ["--path", "/v1/"])
        #expect(try docker("get", "https://index.docker.io/v1/").output.contains(#""Secret":"nearer""#))
        #expect(try docker("get", "index.docker.io:8443").status == 1)
    }

    @Test(arguments: [
        ("get", "unknown.example", "credentials not found in native keychain"), ("get", "", "no credentials server URL"),
        ("get", " \n", "no credentials server URL"), ("erase", "", "no credentials server URL"),
        ("store", #"{"Username":"a","Secret":"b"}"#, "no credentials server URL"),
        ("store", #"{"ServerURL":"","Username":"a","Secret":"b"}"#, "no credentials server URL"),
        ("store", #"{"ServerURL":"r","Secret":"b"}"#, "no credentials username"),
        ("store", #"{"ServerURL":"r","Username":"a"}"#, "no credentials secret"),
        ("store", "{", "the login is not a JSON object; nothing was changed."),
        ("store", "[]", "the login is not a JSON object; nothing was changed."),
        ("get", "a\nb", "the host of the credential's address is missing or not valid; nothing was changed."),
        ("frobnicate", "", "unknown operation \"frobnicate\"."),
    ])
    func `an error is a sentence on standard output`(operation: String, input: String, sentence: String) throws {
        let result = try docker(operation, input)
        #expect(result.status == 1)
        #expect(result.output == sentence + "\n")
        #expect(try helpers.accounts().isEmpty)
    }

    @Test func `the version names the helper`() throws {
        #expect(try docker("version").output.hasPrefix("docker-credential-keyfob (keyfob) "))
    }
}

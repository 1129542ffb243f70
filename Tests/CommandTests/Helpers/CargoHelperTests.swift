import Foundation
import TestSupport
import Testing

/// The credential provider of cargo, in the protocol of version 1.
@Suite struct CargoHelperTests {
    /// The program of a toolchain: the one of rustup looks for toolchains in the home directory.
    private static let program: String? = {
        let home = HelperHome.installations
        let toolchains = (try? FileManager.default.contentsOfDirectory(atPath: home + "/.rustup/toolchains")) ?? []
        let candidates = toolchains.sorted().reversed().map { "\(home)/.rustup/toolchains/\($0)/bin/cargo" }
        return (candidates + ["/usr/bin/cargo"]).first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    private let helpers: HelperHome

    init() throws { helpers = try .linked() }

    private func request(
        _ kind: String, index: String = "sparse+https://r.example/index/", _ more: String = ""
    ) -> String {
        #"{"v":1,"kind":"\#(kind)","registry":{"index-url":"\#(index)","name":"r"},"args":[]\#(more)}"#
    }

    /// The answers to requests, without the greeting.
    private func answers(_ requests: String..., status: Int32 = 0) throws -> [String] {
        let input = requests.map { $0 + "\n" }.joined()
        let result = try helpers.call("cargo-credential-keyfob", ["--cargo-plugin"], input)
        #expect(result.status == status && result.error.isEmpty, "\(result.error)")
        let lines = result.output.split(separator: "\n").map(String.init)
        #expect(lines.first == #"{"v":[1]}"#)
        return Array(lines.dropFirst())
    }

    @Test(.enabled(if: program != nil)) func `cargo logs in to a registry, reads its index, and logs out`() throws {
        let server = try AuthenticatedServer(helpers)
        let program = try #require(Self.program)
        let index = "{\"dl\":\"http://\(server.host)/dl\",\"api\":\"http://\(server.host)\",\"auth-required\":true}"
        let crate = #"{"name":"thing","vers":"1.0.0","deps":[],"cksum":"\#(String(repeating: "0", count: 64))","features":{},"yanked":false}"#
        try helpers.shell(
            """
            echo tok-en > allowed
            mkdir -p www/index/th/in work/src work/.cargo
            echo '\(index)' > www/index/config.json
            echo '\(crate)' > www/index/th/in/thing
            echo 'fn main() {}' > work/src/main.rs
            printf '%s\\n' '[package]' 'name = "work"' 'version = "0.1.0"' '[dependencies]' \
                'thing = { version = "1", registry = "local" }' > work/Cargo.toml
            printf '%s\\n' '[registries.local]' 'index = "sparse+http://\(server.host)/index/"' \
                '[registry]' 'global-credential-providers = ["cargo-credential-keyfob --keychain login"]' > work/.cargo/config.toml
            """)
        let environment = ["CARGO_HOME": helpers.file("cargo")]
        func cargo(_ arguments: String) throws -> Tool.Result {
            try helpers.run("cd work; \(program) \(arguments)", environment: environment)
        }
        #expect(try cargo("generate-lockfile").error.contains("no token found"))
        let login = try cargo("login --registry local < ../allowed")
        #expect(login.status == 0, "\(login.error)")
        let resolved = try cargo("generate-lockfile")
        #expect(resolved.status == 0, "\(resolved.error)")
        #expect(try helpers.shell("grep -c thing work/Cargo.lock; ! grep -rq tok-en work cargo") == "2\n")
        #expect(try cargo("logout --registry local").status == 0)
        #expect(try helpers.accounts().isEmpty)
    }

    @Test func `a token is stored, returned and removed`() throws {
        let get = #"{"Ok":{"kind":"get","token":"tok","cache":"session","operation_independent":true}}"#
        let lines = try answers(
            request("get"), request("login", #","token":"tok""#), request("get", #","operation":"read""#),
            request("get", index: "https://r.example/index/"), request("get", index: "sparse+https://r.example/other/"),
            request("logout"), request("logout"), request("get"))
        let missing = #"{"Err":{"kind":"not-found"}}"#
        let expected = [
            missing, #"{"Ok":{"kind":"login"}}"#, get, get, missing, #"{"Ok":{"kind":"logout"}}"#, missing, missing,
        ]
        #expect(lines == expected)
    }

    @Test func `git gets no token of a registry on its server`() throws {
        _ = try answers(request("login", index: "https://github.com/rust-lang/crates.io-index", #","token":"tok""#))
        let result = try helpers.call("git-credential-keyfob", ["get"], "protocol=https\nhost=github.com\n")
        #expect(result.status == 0 && result.output.isEmpty, "\(result.output)")
    }

    @Test func `each error has the kind that cargo expects`() throws {
        let lines = try answers(
            request("frobnicate"), request("get", index: "nothing"), request("get", index: "https://a b/"),
            request("get").replacing("\"v\":1", with: "\"v\":2"), request("login"),
            request("login", #","token":"a\nb""#), request("get").replacing("[]", with: #"["--bad"]"#))
        #expect(lines.prefix(3) == [
            #"{"Err":{"kind":"operation-not-supported"}}"#, #"{"Err":{"kind":"url-not-supported"}}"#,
            #"{"Err":{"kind":"url-not-supported"}}"#,
        ])
        #expect(lines.dropFirst(3).allSatisfy { $0.hasPrefix(#"{"Err":{"kind":"other","message":"keyfob: "#) }, "\(lines)")
        #expect(lines.count == 7)
        #expect(try helpers.accounts().isEmpty)
    }

    @Test func `garbage ends the conversation with an error`() throws {
        let lines = try answers("garbage", request("get"), status: 2)
        #expect(lines.count == 1 && lines[0].contains("not a JSON object"), "\(lines)")
        let plain = try helpers.call("cargo-credential-keyfob", [])
        #expect(plain.status == 2 && plain.output.isEmpty && plain.error.contains("--cargo-plugin"), "\(plain.error)")
    }
}

import Foundation
import Keyfob
import KeyfobACME
import KeyfobManifest
import Testing

/// Manifests that are read, and the errors in them.
@Suite struct ManifestReadingTests {
    static let head = "apiVersion: keyfob/v1\nkeychain: site\n"

    /// Reads a manifest of one file.
    static func manifest(_ text: String) throws -> Manifest {
        try Manifest([Manifest.Text(name: "site.yaml", directory: "/etc/keyfob", text: text)])
    }

    /// The errors of a manifest, one a line; empty if it is valid.
    private func problems(_ text: String) throws -> [String] {
        do {
            _ = try Self.manifest(text)
            return []
        } catch let error as ManifestError { return error.problems.map(\.description) }
    }

    @Test func `a manifest with everything is read`() throws {
        let manifest = try Self.manifest(
            Self.head + """
                unattended: true
                secrets:
                  - {name: db/password, user: app, generate: {length: 20, charset: hex}, rotateEvery: 90d}
                  - name: relay
                    server: mail.example.org
                    protocol: smtp
                    port: 587
                    valueFrom: file:relay.txt
                    onConflict: keep
                keys:
                  - {name: wrap, type: aes, size: 128}
                issuers:
                  corp: {type: exec, command: [/usr/local/bin/sign, --now]}
                identities:
                  - name: web
                    commonName: www.example.org
                    dnsNames: [www.example.org]
                    key: {type: rsa, size: 3072, rotationPolicy: always}
                    issuer: corp
                    outputs: [{chain: /etc/web.pem, keyUri: /etc/web.uri, mode: 0640, group: daemon}]
                    onChange: [{run: [systemctl, reload, nginx], timeout: 1m}]
                trust:
                  - {certificate: web, for: [server]}
                """)
        #expect(manifest.secrets[0].key.account == "app")
        #expect(manifest.secrets[0].lifetime == 7_776_000.0)
        #expect(manifest.secrets[1].key.isInternet)
        #expect(manifest.secrets[1].key.port == 587)
        #expect(manifest.secrets[1].source == .file("/etc/keyfob/relay.txt"))
        #expect(manifest.keys[0].specification == .aes(bits: 128))
        #expect(manifest.identities[0].issuer == .command(["/usr/local/bin/sign", "--now"]))
        #expect(manifest.identities[0].outputs.map(\.mode) == [0o640, 0o640])
        #expect(manifest.identities[0].hooks.map(\.arguments) == [["systemctl", "reload", "nginx"]])
        #expect(manifest.identities[0].hooks.map(\.timeout) == [60])
        #expect(manifest.identities[0].hooks.map(\.owner) == [HookEntry.owner("identities", manifest.identities[0].name)])
        #expect(manifest.trust[0].usages == [.server])
    }

    @Test func `an unknown key has a place and the nearest name`() throws {
        let text = Self.head + "secrets:\n  - name: a\n    generate:\n      lenght: 3\n"
        #expect(try problems(text) == ["site.yaml:6:7: unknown key \"lenght\" — did you mean \"length\"?"])
    }

    @Test func `all errors of a file are reported, in the order of their places`() throws {
        let found = try problems(
            Self.head + """
                colour: red
                secrets:
                  - user: app
                    generate: {}
                keys:
                  - {name: k, type: dsa}
                  - {name: l, type: ec, size: 256}
                """)
        #expect(found.map { $0.prefix { $0 != " " } } == ["site.yaml:3:1:", "site.yaml:5:5:", "site.yaml:8:21:", "site.yaml:9:31:"])
    }

    @Test(arguments: ["value: hunter2", "password: hunter2", "valueFrom: hunter2"])
    func `a literal secret is refused and not repeated`(member: String) throws {
        let found = try problems(Self.head + "secrets:\n  - name: a\n    \(member)\n")
        #expect(found.first?.hasPrefix("site.yaml:5:") ?? found.first?.hasPrefix("site.yaml:4:") ?? false, "\(found)")
        #expect(found.contains { $0.contains("env:NAME") || $0.contains("env:, file:") }, "\(found)")
        #expect(!found.contains { $0.contains("hunter2") }, "\(found)")
    }

    @Test func `a PIN in the manifest is refused and not repeated`() throws {
        let found = try problems(Self.head + "pinSource: 12345678\n")
        #expect(found.count == 1)
        #expect(found[0].hasPrefix("site.yaml:3:12: "))
        #expect(!found[0].contains("12345678"))
    }

    @Test(arguments: [
        "token: \"pkcs11:token=x?pin-value=hunter2\"", "token: pkcs11:token=x?PIN%2Dvalue=hunter2",
        "identities: [{name: w, commonName: w, issuer: \"pkcs11:object=ca?pin-value=hunter2\"}]",
        "secrets: [{name: a, generate: {}, onChange: [{run: [p11tool, \"pkcs11:token=x?pin-value=hunter2\"]}]}]",
    ])
    func `a PIN in a URI is refused and not repeated`(text: String) throws {
        let found = try problems(Self.head + text + "\n")
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.hasPrefix("site.yaml:3:") ?? false, "\(found)")
        #expect(found.first?.contains("contains a PIN") ?? false, "\(found)")
        #expect(!found.contains { $0.contains("hunter2") }, "\(found)")
    }

    @Test(arguments: ["token: site", "token: \"pkcs11:token=site?pin-source=file:/run/pin\""])
    func `a token may be a label or a URI`(text: String) throws {
        #expect(try problems(Self.head + text + "\n") == [])
    }

    @Test func `a certificate may live shorter than the time before its end at which it is renewed`() throws {
        let text = "identities: [{name: w, commonName: w, lifetime: 10d, renewBefore: 30d}]\n"
        #expect(try Self.manifest(Self.head + text).identities[0].renewalTime == .beforeEnd(2_592_000))
    }

    @Test func `a byte order mark is allowed, and changes no position`() throws {
        #expect(try problems("\u{FEFF}" + Self.head) == [])
        #expect(
            try problems("\u{FEFF}colour: red\n" + Self.head).map { $0.prefix { $0 != " " } } == ["site.yaml:1:1:"])
    }

    @Test(arguments: [
        ("secrets: [{name: a, generate: {}}, {name: a, generate: {}}]", "this secret is there already, at site.yaml:3:11"),
        ("keys: [{name: k}]\nidentities: [{name: k}]", "a key or identity of this name is there already"),
        ("secrets: [{name: a}]", "the secret needs one of \"generate\", \"valueFrom\""),
        ("secrets: [{name: a, generate: {}, valueFrom: \"env:A\"}]", "the secret may have only one of"),
        ("secrets: [{name: a, generate: {}, server: h, kind: generic}]", "a generic password has no server"),
        ("secrets: {name: a}", "\"secrets\" is a list"),
        ("secrets: [{name: a, generate: {length: many}}]", "\"length\" is a number from 1 to 65536"),
        ("secrets: [{name: a, generate: {}, rotateEvery: 90}]", "\"rotateEvery\" is a number and a unit"),
        ("secrets: [{name: \"pkcs11:a\", generate: {}}]", "this cannot be a name"),
        ("identities: [{name: w, issuer: self}]", "the certificate has no name"),
        ("identities: [{name: w, commonName: w, ips: [host]}]", "this is not an IP address"),
        ("identities: [{name: w, commonName: w, dnsNames: [10.0.0.1]}]", "this is an address, not a host name"),
        ("identities: [{name: w, commonName: w, outputs: [{chain: /a}, {chain: /a}]}]", "this file is there already"),
        ("identities: [{name: w, commonName: w, outputs: [{mode: 0640}]}]", "the output names no file"),
        ("identities: [{name: w, commonName: w, outputs: [{chain: /a, mode: 0999}]}]", "\"mode\" is the mode of a file"),
        ("identities: [{name: w, commonName: w, outputs: [{chain: /a, mode: -640}]}]", "\"mode\" is the mode of a file"),
        ("secrets: [{name: a, generate: {}, outputs: [{value: /a, mode: \"+640\"}]}]", "\"mode\" is the mode of a file"),
        ("issuers: {x: {type: acme, directory: \"https://a\"}}", "the issuer needs one of \"webRoot\""),
        ("issuers: {x: {type: exec, command: [/x], profile: short}}", "an issuer of type exec has no \"profile\""),
        ("certificates: [{name: c, file: /nonexistent}]", "the file cannot be read"),
        ("certificates: [{name: c, pem: nothing}]", "there is no certificate in it"),
        ("keys: [{name: k, type: rsa, size: 1024}]", "there are no RSA 1024 keys"),
        ("unattended: true\npinSource: env:P", "exclude each other"),
        ("defaults: {renewAt: 66}", "\"renewAt\" is a percentage from 1% to 99%"),
        ("defaults: {renewAt: 66%, renewBefore: 30d}", "exclude each other"),
        ("defaults: {key: {type: aes}}", "\"type\" is one of ec, rsa, ed25519"),
        ("defaults: {key: {type: rsa, size: 1024}}\nkeys: [{name: k}, {name: l}]", "there are no RSA 1024 keys"),
        ("identities: [{name: w, import: {pem: [/a]}, issuer: self}]", "exclude each other"),
        ("identities: [{name: w, import: {}}]", "needs one of \"pkcs12\", \"pem\""),
        ("identities: [{name: w, import: {pkcs12: /a, passSource: hunter}}]", "\"passSource\" is not a source"),
        ("keys: [{name: k, renamedFrom: \"pkcs11:a\"}]", "this cannot be a name"),
        ("keys: [{name: k, renamedFrom: l}, {name: l}]", "the former name is that of another entry"),
        ("keys: [{name: k, renamedFrom: m}, {name: l, renamedFrom: m}]", "of this former name is there already"),
        ("secrets: [{name: a, generate: {}, protect: yes}]", "\"protect\" is true or false"),
        ("trust: [{certificate: c, scope: all}]", "\"scope\" is one of user, system"),
        ("trust: [{certificate: c, scope: system, for: [server]}]", "exclude each other"),
        ("helpers: {docker: []}", "\"docker\" names no registry"), ("helpers: {svn: true}", "unknown key \"svn\""),
        ("unattended: perhaps", "\"unattended\" is true or false"),
        ("prune: true\nprune: true", "the key \"prune\" is there twice"),
        ("secrets: [", "this is not YAML"),
        ("secrets:\n  - name: ~\n    generate: {}", "\"name\" has no value"),
    ])
    func `a wrong manifest says what is wrong`(text: String, message: String) throws {
        let found = try problems(Self.head + text + "\n")
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains(message) ?? false, "\(found)")
        #expect(found.first?.wholeMatch(of: /site\.yaml:\d+:\d+: .*/) != nil, "\(found)")
    }

    @Test func `an alias stands for what has its name`() throws {
        let manifest = try Self.manifest(
            Self.head + "secrets:\n  - {name: a, generate: &long {length: 64}}\n  - {name: b, generate: *long}\n")
        #expect(manifest.secrets.count == 2)
    }

    @Test func `aliases that stand for very much are refused with their place`() throws {
        let files = (0..<500).map { "{value: /a\($0)}" }.joined(separator: ", ")
        var text = Self.head + "secrets:\n  - {name: a, generate: {}, outputs: &o [\(files)]}\n"
        for number in 0..<300 { text += "  - {name: a\(number), generate: {}, outputs: *o}\n" }
        let found = try problems(text)
        let problem = try #require(found.first { $0.contains("more than 200000 values") })
        #expect(problem.wholeMatch(of: /site\.yaml:\d+:\d+: .*/) != nil)
    }

    @Test func `an ACME server of a manifest has a profile and answers TLS challenges`() throws {
        let manifest = try Self.manifest(
            Self.head + """
                issuers:
                  le: {type: acme, directory: "https://a/dir", profile: shortlived, listenTLS: "443"}
                identities: [{name: w, ips: [192.0.2.1], issuer: le}]

                """)
        let settings = manifest.identities[0].issuer?.acmeSettings
        #expect(settings?.profile == "shortlived")
        #expect(settings?.tlsListener == "443")
        #expect(settings?.listener == nil)
    }

    @Test func `several files are joined, and must agree`() throws {
        func text(_ name: String, _ text: String) -> Manifest.Text {
            Manifest.Text(name: name, directory: "/", text: text)
        }
        let first = text("a.yaml", Self.head + "secrets: [{name: a, generate: {}}]\n")
        let second = text("b.yaml", "apiVersion: keyfob/v1\nsecrets: [{name: b, generate: {}}]\n")
        #expect(try Manifest([first, second]).secrets.map(\.name) == ["a", "b"])
        #expect(try Manifest([second, first]).secrets.map(\.name) == ["b", "a"])
        let other = text("c.yaml", "apiVersion: keyfob/v1\nkeychain: other\nsecrets: [{name: a, generate: {}}]\n")
        let error = try #require(throws: ManifestError.self) { try Manifest([first, other]) }
        #expect(
            error.problems.map(\.description) == [
                "c.yaml:2:11: \"keychain\" has another value at a.yaml:2:11",
                "c.yaml:3:11: this secret is there already, at a.yaml:3:11",
            ])
    }

    @Test func `members that exclude each other may not be in two files either`() throws {
        func text(_ name: String, _ text: String) -> Manifest.Text {
            Manifest.Text(name: name, directory: "/", text: text)
        }
        let first = text("a.yaml", Self.head + "unattended: true\n")
        let second = text("b.yaml", "apiVersion: keyfob/v1\npinSource: env:P\n")
        let error = try #require(throws: ManifestError.self) { try Manifest([first, second]) }
        #expect(
            error.problems.map(\.description) == [
                "b.yaml:2:12: \"unattended\" and \"pinSource\" exclude each other — \"unattended\" is at a.yaml:3:13"
            ])
    }

    @Test func `the example is a valid manifest, and its comments explain every member`() throws {
        let text = ManifestExample.text(keychain: "site")
        let manifest = try Self.manifest(text)
        #expect(manifest.keychain == "site")
        #expect(manifest.secrets.map(\.name) == ["db/password"])
        #expect(manifest.identities.map(\.name) == ["web"])
        let lines = text.split(separator: "\n").map { $0.drop { $0 == " " } }
        for (line, next) in zip(lines, lines.dropFirst()) where !next.hasPrefix("#") && !next.hasPrefix("-") {
            #expect(line.hasPrefix("#") || line.hasSuffix(":"), "\(next)")
        }
    }

    @Test func `the schema names every key that the reader knows`() throws {
        func members(_ value: JSONSchema.Value, _ name: String) -> JSONSchema.Value? {
            guard case .object(let members) = value else { return nil }
            return members.first { $0.0 == name }?.1
        }
        let properties = try #require(members(JSONSchema.manifest, "properties"))
        let secret = try #require(members(properties, "secrets").flatMap { members($0, "items") }.flatMap { members($0, "properties") })
        #expect(members(secret, "rotateEvery") != nil)
        #expect(members(secret, "value") == nil)
        #expect(members(properties, "identities") != nil)
    }
}

import Foundation
import KeyfobPrimitives
import TestSupport
import Testing

@testable import KeyfobCLI

@Suite struct KeyCommandTests {
    @Test func `after a renewal the name of an identity means its new key to every command`() throws {
        let home = try IdentityHome()
        _ = try home.keyfob("identity", "create", "web", "--cn", "web", "--self-signed")
        _ = try home.keyfob("identity", "renew", "web", "--new-key", "--force")
        let old = try #require(
            home.keyfob("identity", "ls", "--format", "tsv").output.split(separator: "\n")
                .compactMap { $0.split(separator: "\t").first { $0.hasPrefix("web@") } }.first)
        for name in ["web", String(old)] {
            try home.directory.write(try home.keyfob("cert", "export", name).output.utf8, to: "cert.pem")
            let wanted = try home.shell("openssl x509 -in cert.pem -noout -pubkey")
            #expect(try home.keyfob("key", "pub", name).output == wanted, "\(name)")
            try home.directory.write(try home.keyfob("key", "csr", name).output.utf8, to: "request.pem")
            #expect(try home.shell("openssl req -in request.pem -noout -pubkey") == wanted, "\(name)")
            let digest = try home.shell(
                "openssl x509 -in cert.pem -noout -pubkey | openssl pkey -pubin -outform DER | sha256sum | cut -c1-64")
            #expect(try home.keyfob("key", "show", name).output.contains("sha256:" + digest.trimmingBlanks), "\(name)")
        }
        // The first key has the label: destroying needs an unambiguous name.
        let refused = try Tool.keyfob(["key", "rm", "web", "--yes"], environment: home.environment).run()
        #expect(refused.status == 4 && refused.error.contains("now has another key"), "\(refused.error)")
        let fingerprints = refused.error.matches(of: /key rm (sha256:[0-9a-f]+)/).map { String($0.1) }
        #expect(try home.keyfob("key", "ls").output.split(separator: "\n").count == 3 && fingerprints.count == 2)
        _ = try home.keyfob("key", "rm", try #require(fingerprints.last), "--yes")
        #expect(try home.keyfob("identity", "ls").output.contains("web "))
        #expect(try !home.keyfob("identity", "ls").output.contains("web@"))
        // No key has the name any more.
        let nameless = try home.keyfob("key", "rm", "web", "--yes")
        #expect(nameless.status == 3, "\(nameless.error)")
        #expect(nameless.error.contains("the key of identity \"web\" is called \"web@20"), "\(nameless.error)")
        let first = try #require(fingerprints.first)
        #expect(nameless.error.contains("keyfob key rm \(first)"), "\(nameless.error)")
        _ = try home.keyfob("key", "rm", try #require(fingerprints.first), "--yes")
        #expect(try !home.keyfob("identity", "ls").output.contains("web"))
    }

    @Test func `keys are listed under the names of their identities, with any version in use`() throws {
        let home = try IdentityHome()
        _ = try home.keyfob("identity", "create", "web", "--cn", "web", "--self-signed")
        func list(_ noun: String, _ member: String) throws -> [[String: Any]] {
            try #require(try IdentityHome.json(home.keyfob(noun, "ls", "--json"))[member] as? [[String: Any]])
        }
        /// The keys' fingerprints by the names that `key ls` gives them; each equals the certificate's.
        func keys() throws -> [String: String] {
            var keys: [String: String] = [:]
            for key in try list("key", "keys") {
                let (name, mark) = (try #require(key["name"] as? String), try #require(key["fingerprint"] as? String))
                keys[name] = mark
                try home.directory.write(try home.keyfob("cert", "export", name).output.utf8, to: "cert.pem")
                let digest = try home.shell(
                    "openssl x509 -in cert.pem -noout -pubkey | openssl pkey -pubin -outform DER | sha256sum | cut -c1-64")
                #expect(mark == "sha256:" + digest.trimmingBlanks, "\(name)")
                let shown = try IdentityHome.json(home.keyfob("key", "show", mark, "--json"))
                #expect(shown["name"] as? String == name)
            }
            return keys
        }
        let first = try #require(try keys()["web"])
        try #require(home.keyfob("identity", "renew", "web", "--new-key", "--force").status == 0)
        let renewed = try keys()
        let second = try #require(renewed["web"])
        let names = Set(try list("identity", "identities").compactMap { $0["name"] as? String })
        let version = try #require(names.first { $0 != "web" })
        #expect(second != first && renewed == ["web": second, version: first])
        #expect(Set(renewed.keys) == names)
        #expect(Set(try list("cert", "certificates").compactMap { $0["name"] as? String }) == names)
        // The previous version comes back, and its key with it.
        try #require(home.keyfob("identity", "use", version).status == 0)
        let back = try keys()
        #expect(back["web"] == first && back.count == 2 && Set(back.values) == [first, second])
        // A key of several versions belongs to the one in use; one with another name keeps it.
        try #require(home.keyfob("identity", "renew", "web", "--same-key", "--force").status == 0)
        #expect(try keys()["web"] == first && keys().count == 2)
        try #require(home.keyfob("key", "generate", "own").status == 0)
        #expect(try list("key", "keys").compactMap { $0["name"] as? String }.contains("own"))
    }

    @Test func `a key is not removed by an earlier name that no list shows`() throws {
        let home = try IdentityHome()
        try #require(home.keyfob("identity", "create", "web", "--cn", "web", "--self-signed").status == 0)
        // The key is kept, and the hint about its removal is out of date once it is in use.
        let failed = try home.keyfob("identity", "renew", "web", "--force", "--new-key", "--issuer", "exec:true")
        let label = try #require(failed.error.firstMatch(of: /To remove it: keyfob key rm (web@[0-9-]+)/), "\(failed.error)").1
        try #require(home.keyfob("identity", "renew", "web", "--force", "--new-key", "--self-signed").status == 0)
        let refused = try home.keyfob("key", "rm", String(label), "--yes")
        #expect(refused.status == 4, "\(refused)")
        #expect(refused.error.contains("key \"\(label)\" now belongs to identity \"web\"."), "\(refused.error)")
        #expect(try home.keyfob("identity", "check", "web").status == 0)
        let mark = try #require(refused.error.firstMatch(of: /keyfob key rm (sha256:[0-9a-f]+)/)).1
        #expect(try home.keyfob("key", "rm", String(mark), "--yes").status == 0)
    }

    @Test func `the objects on a token are listed by class and name`() throws {
        let household = try TestHome.unattended()
        for name in ["c", "a", "d", "b"] { try #require(household.keyfob(["key", "generate", name]).status == 0) }
        let objects = try #require(
            try household.document(["token", "show", "--objects"])["objects"] as? [[String: Any]])
        let pairs = objects.map { "\($0["class"] ?? "") \($0["label"] ?? "")" }
        #expect(pairs.filter { $0.hasPrefix("public") } == ["a", "b", "c", "d"].map { "public " + $0 })
        #expect(pairs.filter { $0.hasPrefix("private") } == ["a", "b", "c", "d"].map { "private " + $0 })
        let classes = objects.compactMap { $0["class"] as? String }
        #expect(classes.indices.dropFirst().count { classes[$0] != classes[$0 - 1] } == 2, "\(classes)")
    }

    @Test(arguments: [
        (["--type", "rsa", "--size", "2048"], "RSA 2048"), (["--type", "ec"], "EC P-256"),
        (["--type", "ec", "--curve", "p384"], "EC P-384"), (["--type", "ed25519"], "Ed25519"),
    ])
    func `a key is made once, and openssl and ssh-keygen read its public half`(options: [String], kind: String)
        throws
    {
        let home = try IdentityHome()
        let arguments = ["key", "generate", "api"] + options
        let made = try Tool.keyfob(arguments, environment: home.environment).run()
        #expect(made.status == 0, "\(made.error)")
        #expect(made.output.hasPrefix("Generated \"api\" on \"login\": \(kind), "))
        #expect(made.output.hasSuffix(", not extractable.\n"))
        let again = try Tool.keyfob(arguments + ["--json"], environment: home.environment).run()
        #expect(again.status == 4)
        #expect(try IdentityHome.code(again) == "item.exists")
        #expect(try Tool.keyfob(arguments + ["--if-missing"], environment: home.environment).run().status == 0)

        for destination in [[], ["-o", home.file("dry")]] {
            let dry = Tool.keyfob(["key", "pub", "api", "--dry-run"] + destination, environment: home.environment)
            #expect(try dry.run().output == "Dry run: no file was written.\n")
        }
        #expect(!FileManager.default.fileExists(atPath: home.file("dry")))
        try home.directory.write(try home.keyfob("key", "pub", "api").output.utf8, to: "api.pem")
        try home.directory.write(try home.keyfob("key", "pub", "api", "--format", "ssh").output.utf8, to: "api.pub")
        let fromPEM = try home.shell("openssl pkey -pubin -in api.pem -outform DER | sha256sum | cut -c1-16")
            .trimmingBlanks
        #expect(try home.keyfob("key", "ls", "--pub", "sha256:" + fromPEM).output.split(separator: "\n").count == 2)
        #expect(
            try home.keyfob("key", "ls", "--pub", "sha256:0000", "--format", "tsv").output.split(separator: "\n").count
                <= 1)
        _ = try home.shell("ssh-keygen -lf api.pub")
        if !kind.hasPrefix("Ed") {
            // ssh-keygen has no PEM form for Ed25519.
            let converted = try home.shell(
                "ssh-keygen -e -m PKCS8 -f api.pub | openssl pkey -pubin -outform DER | sha256sum | cut -c1-16")
            #expect(converted.trimmingBlanks == fromPEM)
        }
    }

    @Test func `lists and the token use the same class and type for a key`() throws {
        let household = try TestHome.unattended()
        for type in ["rsa", "ec", "ed25519", "aes"] {
            try #require(household.keyfob(["key", "generate", type, "--type", type, "--allow-mixed-keys"]).status == 0)
        }
        let keys = try #require(try household.document(["key", "ls"])["keys"] as? [[String: Any]])
        let shown = try household.document(["token", "show", "--objects"])
        let objects = try #require(shown["objects"] as? [[String: Any]])
        #expect(keys.count == 4)
        for key in keys {
            let (name, half) = (try #require(key["name"] as? String), try #require(key["class"] as? String))
            let halves = objects.filter { $0["label"] as? String == name }
            #expect(halves.count == (half == "secret" ? 1 : 2), "\(name): \(halves)")
            #expect(halves.contains { $0["class"] as? String == half }, "\(name): \(halves)")
            #expect(halves.allSatisfy { $0["type"] as? String == key["type"] as? String }, "\(name): \(halves)")
        }
        // The name of the module is the same too; `token show` also has its path.
        let listed = try #require(try household.document(["token", "ls"])["tokens"] as? [[String: Any]])
        let own = try #require(listed.first { $0["own"] as? Bool == true })
        #expect(own["module"] as? String == "softhsm2")
        #expect(shown["module"] as? String == "softhsm2")
        #expect(try household.document(["keychain", "show"])["module"] as? String == "softhsm2")
        #expect((shown["module_path"] as? String)?.hasSuffix("/libsofthsm2.so") == true, "\(shown)")
    }

    @Test func `the key that seals the keychain is neither shown nor removed`() throws {
        let home = try IdentityHome()
        #expect(!(try home.keyfob("key", "ls").output.contains("keyfob-wrap")))
        let result = try home.keyfob("key", "rm", "keyfob-wrap-1", "--yes", "--json")
        #expect(result.status == 12)
        #expect(try IdentityHome.code(result) == "refused")
        let contents = try home.keyfob("token", "show", "--objects")
        #expect(contents.output.contains("seals keychain login"))
    }

    @Test func `a removed key is gone from the token`() throws {
        let home = try IdentityHome()
        #expect(try home.keyfob("key", "generate", "api").status == 0)
        #expect(try home.keyfob("key", "rm", "api").status == 12)
        #expect(try home.keyfob("key", "rm", "api", "--yes").status == 0)
        #expect(try home.keyfob("key", "rm", "api", "--yes").status == 3)
        #expect(try home.keyfob("key", "rm", "api", "--yes", "--if-exists").status == 0)
        #expect(!(try home.keyfob("token", "show", "--objects").output.contains("api")))
    }

    @Test(arguments: [
        ["--type", "ec", "--size", "256"], ["--type", "rsa", "--curve", "p256"], ["--type", "rsa", "--size", "1024"],
    ])
    func `a key that cannot be made is a usage error`(options: [String]) throws {
        let home = try IdentityHome()
        #expect(try Tool.keyfob(["key", "generate", "api"] + options, environment: home.environment).run().status == 2)
    }

    @Test(arguments: ["foo", "sha256:", "sha256::", "sha256:zz", "sha256:77bg", "md5:77be", ""])
    func `text that is not a fingerprint lists no keys`(text: String) throws {
        let household = try TestHome.unattended()
        #expect(try household.keyfob(["key", "generate", "api"]).status == 0)
        let result = try household.keyfob(["key", "ls", "--pub", text])
        #expect(result.status == 2 && result.output.isEmpty, "\(result.output)")
    }

    @Test func `tokens are listed without noise and without a keychain`() throws {
        let home = try IdentityHome()
        let list = try home.keyfob("token", "ls")
        #expect(list.status == 0)
        #expect(list.error.isEmpty)
        #expect(list.output.contains("\nlogin "))
        #expect(try home.keyfob("token", "mechanisms", "login").output.contains("\nCKM_AES_KEY_WRAP "))
        let absent = try home.keyfob("token", "show", "hsm1", "--json")
        #expect(absent.status == 7)
        #expect(try IdentityHome.code(absent) == "token.absent")
    }

    @Test func `the generation of a key succeeds even if it is unknown whether the key may leave`() throws {
        let (household, environment) = try TestHome.withCard()
        // The export is refused, but not because the token cannot do it.
        let refusing = environment.merging(["FAULTY_REFUSE": "create-secret"]) { $1 }
        let made = try household.keyfob(
            ["key", "generate", "k", "--type", "ed25519", "--extractable", "--pin-source", "env:CARD_PIN"],
            environment: refusing)
        #expect(made.status == 0 && made.error.isEmpty && made.output.hasPrefix("Generated \"k\""), "\(made)")
    }
}

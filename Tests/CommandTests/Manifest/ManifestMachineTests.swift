import Foundation
import TestSupport
import Testing

/// The changes of a manifest outside the keychain.
@Suite struct ManifestMachineTests {
    @Test func `helpers are linked and configured once`() throws {
        let home = try ManifestHome()
        try home.write("helpers: {git: true, docker: [registry.example], keyring: true}")
        #expect(
            try home.changes() == [
                "create keychain site", "create helper git", "create helper keyring", "create helper docker",
            ])
        try home.apply()
        #expect(try home.isUpToDate())
        let links = try FileManager.default.contentsOfDirectory(atPath: home.path("home/.local/bin")).sorted()
        #expect(links == ["docker-credential-keyfob", "git-credential-keyfob", "keyring"])
        #expect(try home.text("home/.docker/config.json").contains("\"registry.example\": \"keyfob\""))
        #expect(try home.shell("git config --global --get-all credential.helper") == "keyfob\n")
        try home.shell("rm home/.local/bin/keyring; git config --global --unset-all credential.helper")
        #expect(try home.changes() == ["create helper git", "create helper keyring"])
        try home.apply()
        #expect(try home.isUpToDate())
    }

    @Test func `a file of another program at the place of a link is an error with its place`() throws {
        let home = try ManifestHome()
        try home.shell("mkdir bin; echo x > bin/keyring")
        try home.write("keys: [{name: k}]\nhelpers:\n  keyring: true\n  directory: bin")
        let result = try home.keyfob(["apply", home.path("site.yaml")])
        #expect(result.status == 12, "\(result.error)")
        #expect(result.error.contains("site.yaml:6:12: "), "\(result.error)")
        #expect(try home.home.failure(["key", "ls", "-k", "site"]).status == 3)
    }

    @Test(.enabled(if: Machine.hasOwnMounts, "only root can give a program directories of its own"))
    func `all programs of the machine trust a certificate once`() throws {
        let home = try ManifestHome()
        try home.write(
            """
            identities: [{name: root, commonName: Root, authority: true, issuer: self}]
            trust: [{certificate: root, scope: system}, {certificate: root}]
            """)
        try home.shell(
            """
            mkdir bin
            printf '#!/bin/sh\\ncat /usr/local/share/ca-certificates/*.crt > /etc/ssl/certs/ca-certificates.crt\\necho x >> \
            \(home.path("calls"))\\n' > bin/update-ca-certificates
            chmod +x bin/update-ca-certificates
            """)
        let keyfob = "\(Tool.commandPath) apply \(home.path("site.yaml"))"
        let plan = "\(Tool.commandPath) plan \(home.path("site.yaml")) --exit-code"
        let script = """
            mount -t tmpfs none /usr/local/share/ca-certificates; mount -t tmpfs none /etc/ssl/certs
            \(keyfob); \(plan); \(keyfob)
            rm /etc/ssl/certs/ca-certificates.crt; ! \(plan); \(keyfob); \(plan)
            """
        try home.shell(
            "unshare -m sh -euc \"$SCRIPT\" > log 2>&1 || { cat log >&2; exit 1; }",
            environment: ["SCRIPT": script, "PATH": home.path("bin") + ":/usr/bin:/bin", "KEYFOB_NO_INPUT": "1"])
        #expect(try home.text("calls") == "x\nx\n")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
    func `another user than root cannot make the machine trust a certificate, and nothing is made`() throws {
        let home = try ManifestHome()
        try home.write(
            """
            secrets: [{name: a, generate: {}}]
            certificates: [{name: root, file: root.pem}]
            trust: [{certificate: root, scope: system}]
            """)
        try home.shell(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key -out root.pem -subj /CN=r 2> log
            chmod 755 .; chown -R 65534 .
            """)
        let result = try Tool(
            "/usr/bin/setpriv",
            ["--reuid", "65534", "--clear-groups", Tool.commandPath, "apply", home.path("site.yaml")],
            environment: home.home.environment
        ).run()
        #expect(result.status == 12, "\(result.error)")
        #expect(result.error.contains("site.yaml:6:"), "\(result.error)")
        #expect(result.error.contains("needs root"), "\(result.error)")
        try home.shell("chown -R 0 .")
        #expect(try home.keyfob(["get", "a", "-k", "site"]).status == 3)
    }
}

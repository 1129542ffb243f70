import Foundation
import TestSupport
import Testing

/// NSS softokn by the path of its library, and by its name in p11-kit.
@Suite(.enabled(if: TokenKind.nss.isInstalled, "Scripts/install-dependencies nss"))
struct NSSTests {
    @Test func `a keychain on NSS keeps the parameters of the library`() throws {
        let token = try TokenHome(.nss)
        try token.makeKeychain()
        let stored = try token.home.keyfob(
            ["set", "a", "--stdin", "-k", "card"], input: Data("secret".utf8), environment: token.environment)
        #expect(stored.status == 0, "\(stored.error)")
        #expect(try token.keyfob(["get", "a", "-k", "card"]).output == "secret\n")
        #expect(
            try token.document(["keychain", "show", "card"]).members["module_parameters"] as? String
                == token.token.parameters)
        #expect(try token.document(["token", "ls", "-k", "card"]).status == 0)
    }

    @Test func `the error without parameters says how to give them`() throws {
        let token = try TokenHome(.nss)
        let result = try token.keyfob(["token", "show", token.token.label, "--module", token.token.module])
        #expect(result.status == 7)
        #expect(result.error.contains("--module-parameters \"configdir='sql:DIRECTORY'\""), "\(result.error)")
        #expect(!result.error.contains("Install the package"), "\(result.error)")
    }

    @Test func `parameters without the directory are refused before the library crashes on them`() throws {
        let token = try TokenHome(.nss)
        let result = try token.keyfob(
            ["token", "show", token.token.label, "--module", token.token.module, "--module-parameters", "nonsense"])
        #expect(result.status == 2, "\(result.error)")
        #expect(result.error.contains("configdir"), "\(result.error)")
    }

    @Test func `parameters require a module that is named by its path`() throws {
        let token = try TokenHome(.nss)
        #expect(try token.keyfob(["token", "ls", "--module-parameters", "x"]).status == 2)
        let named = try token.keyfob(["token", "ls", "--module", "nss", "--module-parameters", "x"])
        #expect(named.status == 2)
        #expect(named.error.contains("x-init-reserved"), "\(named.error)")
    }

    @Test func `no program is told to load the library by its path`() throws {
        let token = try TokenHome(.nss)
        try token.makeKeychain()
        let made = try token.keyfob(["identity", "create", "web", "--self-signed", "--cn", "web", "-k", "card"])
        try #require(made.status == 0, "\(made.error)")
        let result = try token.keyfob(["uri", "web", "--for", "openssl", "-k", "card"])
        #expect(result.status == 8, "\(result.output)")
        #expect(result.error.contains("x-init-reserved"), "\(result.error)")
    }

    @Test(.enabled(if: Machine.hasOwnMounts, "unshare(1) needs root"))
    func `programs reach a module with parameters in p11-kit's configuration through p11-kit's proxy`() throws {
        let token = try TokenHome(.nss)
        // p11-kit reads no configuration of a user for root.
        let script = """
            keyfob() { "$KEYFOB" "$@"; }
            mkdir -p /etc/pkcs11 && mount -t tmpfs none /etc/pkcs11 && mkdir /etc/pkcs11/modules
            printf 'module: %s\\nx-init-reserved: %s\\n' "$MODULE" "$PARAMETERS" >/etc/pkcs11/modules/nss.module
            for other in opensc-pkcs11 tpm2_pkcs11; do
                printf 'module: none\\nenable-in: nothing\\n' >"/etc/pkcs11/modules/$other.module"
            done
            keyfob init --keychain card --token "$LABEL" --module nss --pin-source "file:$PIN"
            keyfob identity create web --self-signed --cn web -k card
            keyfob uri web --for openssl -k card --check
            keyfob uri web --env -k card
            for program in gnutls java nss; do
                if keyfob uri web --for $program -k card; then exit 1; fi
            done
            """
        let environment = token.home.environment.merging([
            "MODULE": token.token.module, "PARAMETERS": token.token.parameters, "LABEL": token.token.label, "PIN": token.pin,
            "KEYFOB_NO_INPUT": "1", "KEYFOB": Tool.commandPath, "PATH": "/usr/bin:/bin:/usr/sbin",
        ]) { $1 }
        let result = try Tool("/usr/bin/unshare", ["-m", "sh", "-eu", "-c", script], environment: environment).run()
        #expect(result.status == 0, "\(result.output)\(result.error)")
        #expect(result.output.contains("p11-kit-proxy.so"), "\(result.output)")
        #expect(!result.output.contains("libsoftokn3"), "\(result.output)")
    }
}

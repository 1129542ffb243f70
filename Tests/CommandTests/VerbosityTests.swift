import Foundation
import Testing

/// What `-v` and `-vv` add, and what `status` says of certificates.
@Suite struct VerbosityTests {
    @Test func `twice verbose names each call of the token's library and what it returned, and no value`() throws {
        let household = try Household.unattended()
        try household.set("x", "correct horse")
        let quiet = try household.keyfob(["get", "x", "-v"])
        #expect(quiet.output == "correct horse\n" && quiet.error.isEmpty, "\(quiet.error)")
        for flags in [["-vv"], ["-v", "-v"], ["-v", "--verbose"]] {
            let traced = try household.keyfob(["get", "x"] + flags)
            #expect(traced.output == "correct horse\n")
            let lines = traced.error.split(separator: "\n")
            #expect(lines.contains("keyfob: C_Decrypt CKR_OK"), "\(traced.error)")
            #expect(lines.allSatisfy { $0.hasPrefix("keyfob: C_") || $0.hasPrefix("keyfob: p11_kit") }, "\(traced.error)")
            #expect(!traced.error.contains("horse"))
        }
    }

    @Test func `an issuer that takes its time is named where somebody watches`() throws {
        let home = try IdentityHome()
        let create = ["identity", "create", "web", "--cn", "web", "--issuer", "exec:sh -c 'sleep 4; exit 1'"]
        let silent = try Tool.keyfob(create, environment: home.environment).run()
        #expect(silent.status == 1 && !silent.error.contains("waiting for issuer"), "\(silent.error)")
        let shown = try Tool.keyfob(create + ["--progress", "always"], environment: home.environment).run()
        #expect(shown.error.contains("keyfob: waiting for issuer command sh…\n"), "\(shown.error)")
    }

    @Test func `a token that cannot be reached is not called one without the key`() throws {
        let home = try IdentityHome()
        try #require(home.keyfob("identity", "create", "web", "--cn", "web", "--self-signed").status == 0)
        try #require(home.keyfob("unlock").status == 0)
        // Its configuration can be neither read nor written.
        try home.shell("cd home/.local/share/keyfob; rm softhsm2.conf; mkdir softhsm2.conf")
        let check = try home.keyfob("identity", "check", "web")
        #expect(check.status != 11 && check.output.isEmpty, "\(check.output)")
        #expect(check.error.contains("softhsm2.conf"), "\(check.error)")
    }

    @Test func `an older version of an identity is not what expires next`() throws {
        let home = try IdentityHome()
        let made = try home.keyfob(
            "identity", "create", "web", "--cn", "web.example", "--self-signed", "--lifetime", "3d")
        try #require(made.status == 0, "\(made.error)")
        let renewed = try home.keyfob("identity", "renew", "web", "--force", "--self-signed", "--lifetime", "60d")
        try #require(renewed.status == 0, "\(renewed.error)")
        let status = try home.keyfob("status", "--json")
        #expect(status.output.contains("\"next_expiry\":{\"name\":\"web\","), "\(status.output)")
    }
}

import TestSupport
import Testing

@testable import KeyfobCLI

@Suite struct URITests {
    @Test(arguments: Programs.all.filter { $0.usesEngine }.map { $0.name } + ["java", "nss", "ssh"])
    func `a program that knows no Ed25519 keys says so of the key itself`(program: String) throws {
        let home = try IdentityHome()
        let made = try home.keyfob("identity", "create", "ed", "--cn", "ed", "--self-signed", "--key", "ed25519")
        try #require(made.status == 0, "\(made.error)")
        let told = try home.keyfob("uri", "ed", "--for", program)
        #expect(told.status == 8 && told.error.contains("no Ed25519 keys"), "\(told.output)\(told.error)")
        #expect(told.error.contains("keyfob key generate NAME --type ec"), "\(told.error)")
    }
}

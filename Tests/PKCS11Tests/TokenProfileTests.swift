import KeyfobPrimitives
@testable import PKCS11
import TestSupport
import Testing

/// The table of profiles. Tests of the command check it with the other tokens.
@Suite struct TokenProfileTests {
    @Test func `each entry has a name of its own and quirks with reasons`() {
        #expect(Set(TokenProfile.table.map(\.name)).count == TokenProfile.table.count)
        for entry in TokenProfile.table {
            #expect(!entry.traits.isEmpty, "\(entry.name)")
            for trait in entry.traits { #expect(trait.reason.count > 20, "\(entry.name): \(trait.quirk)") }
        }
    }

    @Test func `each quirk is in the table`() {
        let known = Set(TokenProfile.table.flatMap(\.traits).map(\.quirk))
        #expect(known == Set(TokenProfile.Quirk.allCases))
    }

    @Test func `a number of tries is given where the token does not report them, and only there`() {
        for entry in TokenProfile.table {
            let reportsNone = entry.traits.contains { $0.quirk == .reportsNoTries }
            #expect((entry.pinTries != nil) == reportsNone, "\(entry.name)")
            let needsParameters = entry.traits.contains { $0.quirk == .needsParameters }
            #expect((entry.requiredParameter != nil) == needsParameters, "\(entry.name)")
        }
    }

    @Test func `a SoftHSM token is recognised, and its library alone`() throws {
        let token = try TestToken.make()
        let profile = token.module.profile(of: try token.slot.tokenInfo())
        #expect(profile.names == ["SoftHSM library", "SoftHSM token"])
        #expect(profile.has(.uniqueSerials))
        #expect(!profile.has(.reportsNoTries))
        #expect(token.module.profile.names == ["SoftHSM library"])
        #expect(profile == .ownTokens)
        #expect(TokenProfile(expectedAt: try token.slot.tokenInfo().uri).has(.vanishesDuringLogin))
    }

    @Test(arguments: [
        ("/usr/lib/x86_64-linux-gnu/pkcs11/libtpm2_pkcs11.so", "tpm2-pkcs11"), ("libtpm2_pkcs11.so.1.9.0", "tpm2-pkcs11"),
        ("/usr/lib/libsoftokn3.so", "NSS softokn"), ("/usr/lib/pkcs11/p11-kit-trust.so", "trust store of p11-kit"),
    ])
    func `a library is recognised by its file before it is loaded`(file: String, name: String) {
        #expect(TokenProfile(of: TokenProfile.Identity(file: file)).names == [name])
    }

    @Test func `a library that says what it is, is not recognised by its file`() {
        var identity = TokenProfile.Identity(file: "/usr/lib/libtpm2_pkcs11.so")
        identity.libraryManufacturer = "another"
        identity.libraryDescription = "another"
        #expect(TokenProfile(of: identity) == .standard)
    }

    @Test func `an entry is for the versions that were tried`() {
        var identity = TokenProfile.Identity()
        identity.libraryManufacturer = TokenProfile.softHSMLibrary.manufacturer
        identity.libraryDescription = TokenProfile.softHSMLibrary.description
        identity.libraryVersion = Version(major: 2, minor: 6)
        #expect(TokenProfile(of: identity).has(.listsAlone))
        identity.libraryVersion = Version(major: 3, minor: 0)
        #expect(!TokenProfile(of: identity).has(.listsAlone))
    }

    @Test func `an unknown token has no quirks`() {
        var identity = TokenProfile.Identity(file: "/usr/lib/libvendor.so")
        (identity.manufacturer, identity.model) = ("Vendor", "HSM")
        let profile = TokenProfile(of: identity)
        #expect(profile.names.isEmpty)
        #expect(TokenProfile.Quirk.allCases.allSatisfy { !profile.has($0) })
    }
}

import Foundation
import PKCS11
import TestSupport
import Testing

@testable import KeyfobCLI

/// The token that a label or URI selects.
@Suite struct TokenNameTests {
    @Test(arguments: [
        "pkcs11:manufacturer=piv_II", "pkcs11:slot-description=foo", "pkcs11:library-manufacturer=foo",
        "pkcs11:token=login;manufacturer=piv_II", "pkcs11:model=other",
    ])
    func `a URI with another attribute value does not select Keyfob's token`(uri: String) throws {
        let household = try TestHome.unattended()
        for command in [["token", "show"], ["token", "mechanisms"]] {
            #expect(try household.failure(command + [uri]).code == "token.absent", "\(command)")
        }
        let own = try household.keyfob(["token", "show", "pkcs11:manufacturer=SoftHSM%20project"])
        #expect(own.status == 0 && own.output.contains("login"), "\(own.error)")
    }

    @Test func `a URI that names another module selects a token of that module`() throws {
        let household = try TestHome.unattended()
        let module = household.directory.file("faulty.so")
        try FaultyModule.build(module)
        let environment = try household.makeCard().merging(["FAULTY_TARGET": TestToken.modulePath]) { $1 }
        let shown = try household.keyfob(
            ["token", "show", "pkcs11:token=card?module-path=\(module)"], environment: environment)
        #expect(shown.status == 0 && shown.output.contains("card"), "\(shown.error)")
        let bare = try household.keyfob(["token", "show", "pkcs11:?module-path=\(module)"], environment: environment)
        #expect(!bare.output.contains("login"), "\(bare.output)")
    }

    @Test func `tokens with one name are distinguished by serial or module, never by an empty serial number`() throws {
        func entry(_ serial: String, _ module: String) -> TokenInventory.Entry {
            TokenInventory.Entry(
                label: "card", serial: serial, manufacturer: "Maker", model: "Model", module: module, keychains: [],
                isOurs: false, info: nil, slot: nil)
        }
        let different = [entry("1", "one"), entry("", "one")]
        #expect(different.map { $0.distinction(among: different).serial } == ["1", nil])
        let twins = [entry("", "one"), entry("", "/two.so")]
        let uris = twins.map { $0.distinction(among: twins) }
        #expect(uris.map(\.serial) == [nil, nil])
        #expect(uris.map(\.moduleName) == ["one", nil] && uris.map(\.modulePath) == [nil, "/two.so"])
        #expect(uris.allSatisfy { !$0.description.contains("serial=") })
    }
}

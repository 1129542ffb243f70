import TestSupport
import Testing

/// URIs with an unusual spelling, and a PIN in them.
@Suite struct PINInURITests {
    @Test func `the scheme and the names of attributes may be in capitals`() throws {
        let household = try TestHome.unattended()
        let made = try household.keyfob(["identity", "create", "web", "--cn", "web", "--self-signed"])
        try #require(made.status == 0, "\(made.error)")
        for text in ["PKCS11:object=web;type=cert", "Pkcs11:Object=web;TYPE=cert"] {
            let shown = try household.keyfob(["cert", "show", text])
            #expect(shown.status == 0, "\(text): \(shown.error)")
        }
        #expect(try household.keyfob(["status", "--token", "PKCS11:token=login"]).status == 0)
        #expect(try household.failure(["cert", "rm", "PKCS11:object=web;SLOT-ID=99999", "--yes"]).code == "item.not_found")
        #expect(try household.failure(["key", "generate", "PKCS11:object=new"]).status == 2)
    }

    private static let spellings = [
        "pkcs11:object=web?pin-value=47113", "PKCS11:object=web?pin-value=47113", "Pkcs11:object=web;PIN-VALUE=47113",
        "pkcs11:object=web?Pin-Value=47113", " pkcs11:object=web?pin-value=47113", "pkcs11:object=web?pin%2Dvalue=47113",
        "pkcs11:object=web?pin_value=47113", "pkcs11:object=web?pin=47113", "pkcs11:object=web&pin-value=47113",
        "pkcs11:pin-value=47113?pin-value=47113", "pkcs11:%?pin-value=47113", "pkcs11;object=web?pin-value=47113",
        "pkcs11:object=web? pin-value=47113", "PKCS11:object=web?pin-value:47113", "/pkcs11:object=web?pin-value=47113",
    ]

    @Test(arguments: spellings)
    func `a PIN in a URI is refused and not repeated, in any spelling of the URI`(text: String) throws {
        let household = try TestHome.unattended()
        let commands = [
            ["cert", "show"], ["cert", "rm", "--yes"], ["identity", "rm", "--yes"], ["key", "pub"], ["uri"], ["get"],
            ["set", "--stdin"], ["rm", "--yes"], ["token", "show"], ["status", "--token"], ["status", "--keychain"],
            ["init", "--token"], ["cert", "verify"], ["trust", "add"], ["nonsense"], ["status"],
            ["identity", "import"], ["key", "generate"], ["status", "--token=" + text],
        ]
        for command in commands {
            let result = try household.keyfob(command + (command.last?.hasSuffix(text) == true ? [] : [text]))
            #expect(result.status == 2, "\(command): \(result.error)")
            #expect(!result.error.contains("47113"), "\(command): \(result.error)")
            #expect(!result.output.contains("47113"), "\(command): \(result.output)")
        }
        for variable in ["KEYFOB_TOKEN", "KEYFOB_KEYCHAIN"] {
            let result = try household.keyfob(["status", "-v"], environment: [variable: text])
            #expect(result.status == 2, "\(variable): \(result.error)")
            #expect(!result.error.contains("47113"), "\(variable): \(result.error)")
        }
    }

    @Test func `the name of a password may contain the words PIN value`() throws {
        let household = try TestHome.unattended()
        try household.set("PIN value of the card", "1")
        #expect(try household.keyfob(["get", "PIN value of the card"]).output == "1\n")
    }
}

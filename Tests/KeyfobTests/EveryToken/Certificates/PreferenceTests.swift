import Testing
import TestSupport

@testable import Keyfob

extension EveryToken {
    @Suite struct PreferenceTests {
        @Test(.needs(.makesECKeys)) func `the closest preference applies, and a service prefers one identity`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            for name in ["a", "b", "c"] { _ = try keychain.identities.create(name, .server(name), issuer: SelfIssuer()) }
            func identity(_ name: String) throws -> Identity { try keychain.only(.identity(label: name)) }
            func preferred(_ service: String) throws -> String? { try keychain.identities.preferred(for: service)?.label }
            #expect(try preferred("https://x.example") == nil)
            try keychain.identities.prefer(identity("a"), for: "https://X.example")
            try keychain.identities.prefer(identity("b"), for: "https://x.example/api")
            try keychain.identities.prefer(identity("c"), for: "y.example")
            #expect(try preferred("https://x.example") == "a" && preferred("https://x.example/web") == "a")
            #expect(try preferred("https://x.example/api/v1") == "b" && preferred("https://x.example/apix") == "a")
            #expect(try preferred("https://y.example:8443/") == "c" && preferred("https://z.example") == nil)
            #expect(try preferred("https://x.example.net") == nil)
            try keychain.identities.prefer(identity("c"), for: "https://x.example")
            #expect(try preferred("https://x.example/web") == "c")
            #expect(try identity("a").preferredServices == [] && identity("c").preferredServices.count == 2)
            for text in ["", "x\ny", "x\u{1B}[31m", "x\u{2028}y"] {
                #expect(code { try keychain.identities.prefer(identity("a"), for: text) } == .invalidArgument, "\(text.debugDescription)")
            }
        }
    }
}

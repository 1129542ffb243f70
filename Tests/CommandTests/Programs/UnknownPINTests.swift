import Foundation
import TestSupport
import Testing

/// Prompts of programs that cannot be answered.
@Suite struct UnknownPINTests {
    @Test(arguments: [(["--pin-source", "env:P"], true), (["--unattended"], false)])
    func `if the token's PIN cannot be known, the error gives a remedy`(options: [String], isUnknown: Bool) throws {
        let household = try TestHome()
        let secret = ["P": "open sesame"]
        #expect(try household.keyfob(["init"] + options, environment: secret).status == 0)
        let make = ["identity", "create", "web", "--cn", "web", "--self-signed"]
        #expect(try household.keyfob(make, environment: secret).status == 0)
        let result = try household.keyfob(["uri", "web", "--for", "gnutls"], environment: secret)
        #expect(result.status == 0, "\(result.error)")
        for text in ["# the PIN is not in a file", "you do not know the PIN", "keyfob keychain create NAME --unattended"] {
            #expect(result.output.contains(text) == isUnknown, "\(result.output)")
        }
    }
}

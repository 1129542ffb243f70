import Foundation
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    /// A label may be a number, as in Apple's keychain; `CKA_LABEL` is text.
    @Suite struct NumericLabelTests {
        @Test(.needs(.otherPrograms, .storesCertificates))
        func `a numeric label of a token object is its decimal text, and is found by number and text`() throws {
            let test = try TestKeychain()
            let source = try TestCertificate()
            var item = Item(.certificate)
            item.certificateDER = try source.der
            item.attributes[.label] = 42
            #expect(try test.keychain.add(item, secret: nil).attributes[.label] == "42")
            #expect(try test.tool(["-O", "--type", "cert"]).stdout.contains("42"))
            for label: AttributeValue in [42, "42"] {
                #expect(try test.keychain.findItems(Criteria(.certificate, [.label: label])).count == 1)
            }
            try test.keychain.update(Criteria(.certificate), [.label: -7])
            #expect(try test.keychain.only(.certificates).label == "-7")
        }

        @Test func `a numeric label of a password stays a number`() throws {
            let test = try TestKeychain()
            try test.keychain.add(Item(.genericPassword, [.service: "s", .label: 42]), secret: nil)
            #expect(try test.keychain.only(.genericPasswords).attributes[.label] == 42)
        }
    }
}

import Foundation
import KeyfobPrimitives
import OpenSSL
import TestSupport
import Testing

/// Files that other makers, or somebody with bad intentions, may have made.
@Suite struct HandmadePKCS12Tests {
    private static func key(_ openssl: OpenSSLCommand) throws -> Data {
        try openssl("pkcs8 -topk8 -nocrypt -in leaf.key -outform DER -out leaf.p8")
        return try openssl.data("leaf.p8")
    }

    @Test func `what a file holds twice is one identity, and an empty name is none`() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let (key, leaf) = (try Self.key(openssl), try openssl.certificate("leaf.pem"))
        let data = HandmadePKCS12.file([
            .key(key, name: ""), .key(key), .certificate(leaf.der, name: "web"), .certificate(leaf.der),
        ])
        let contents = try PKCS12.read(data, passphrase: nil)
        #expect(contents.keys.count == 2 && contents.certificates.count == 2)
        #expect(contents.identities.count == 1)
        #expect(contents.keys.first?.friendlyName == nil && contents.identities.first?.friendlyName == "web")
    }

    @Test(arguments: [("", true), ("-nomac", false)])
    func `whether a file has an integrity check is said`(_ options: String, _ isChecked: Bool) throws {
        let openssl = try OpenSSLCommand.withAuthority()
        try openssl("pkcs12 -export -in leaf.pem -inkey leaf.key -out web.p12 -passout pass:geheim \(options)")
        let contents = try PKCS12.read(openssl.data("web.p12"), passphrase: SecretBytes(utf8: "geheim"))
        #expect(contents.isIntegrityChecked == isChecked)
    }
}

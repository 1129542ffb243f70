import Foundation
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    /// Keys of other tools, which choose identifiers freely or set none.
    @Suite(.needs(.foreignIdentifiers, .makesECKeys)) struct ForeignKeyTests {
        private static let identifiers: [[String]] = [[], ["--id", "07"]]

        private func makeKey(_ test: TestKeychain, _ kind: String, label: String, _ identifier: [String] = []) throws {
            try test.tool(["--keypairgen", "--key-type", kind, "--label", label] + identifier)
        }

        private func privateKey(_ label: String, in keychain: Keychain) throws -> KeyItem {
            try keychain.only(.key(label: label).keyClass(.private))
        }

        @Test(arguments: identifiers)
        func `a certificate that shares only the identifier of a key, or like the key has none, does not belong to the key`(
            identifier: [String]
        ) throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            try makeKey(test, "EC:prime256v1", label: "deploy", identifier)
            try test.tool(["--delete-object", "--type", "pubkey", "--label", "deploy"])
            let stranger = try TestCertificate("stranger")
            try test.tool(
                ["--write-object", stranger.directory.file("cert.der"), "--type", "cert", "--label", "other"] + identifier)
            let key = try privateKey("deploy", in: keychain)
            #expect(try keychain.keys.publicKey(of: key) == nil)
            do {
                _ = try keychain.keys.tokenKey(for: key)
                Issue.record("a key without a public key can be used")
            } catch let error as KeychainError {
                #expect(error.code == .invalidArgument)
                #expect(error.message.contains("\"deploy\"") && error.message.contains("\"\(keychain.tokenLabel)\""))
                #expect(error.hint?.contains("pkcs11-tool") == true)
            }
            #expect(code {
                try keychain.identities.create("deploy", .server("deploy"), issuer: SelfIssuer())
            } == .invalidArgument)
            // A key of another type is not asked for a signature, because that would crash SoftHSM.
            let rsa = try TestCertificate("rsa", key: ["-newkey", "rsa:2048"])
            try test.tool(
                ["--write-object", rsa.directory.file("cert.der"), "--type", "cert", "--label", "rsa"] + identifier)
            #expect(try keychain.keys.publicKey(of: key) == nil)
        }

        @Test func `a certificate with a shared identifier belongs to the key whose signature it verifies`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let own = try TestCertificate("own")
            let stranger = try TestCertificate("stranger")
            for source in [stranger, own] {
                try test.tool(["--write-object", source.directory.file("cert.der"), "--type", "cert", "--id", "07"])
            }
            try test.tool([
                "--write-object", own.directory.file("key.pem"), "--type", "privkey", "--id", "07", "--label", "deploy",
                "--usage-sign",
            ])
            let key = try privateKey("deploy", in: keychain)
            let publicKey = try Certificate(der: own.der).publicKey
            #expect(try keychain.keys.publicKey(of: key) == publicKey)
            #expect(try keychain.keys.tokenKey(for: key).publicKey == publicKey)
        }

        @Test func `a single public key is assigned to neither of two private keys with its identifier`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            for label in ["first", "second"] { try makeKey(test, "EC:prime256v1", label: label, ["--id", "01"]) }
            try test.tool(["--delete-object", "--type", "pubkey", "--label", "second"])
            for label in ["first", "second"] {
                #expect(try keychain.keys.publicKey(of: privateKey(label, in: keychain)) == nil, "\(label)")
            }
        }

        @Test func `a public key of another key is detected before anything is certified`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            for label in ["first", "second"] { try makeKey(test, "EC:prime256v1", label: label, ["--id", "01"]) }
            try test.tool(["--delete-object", "--type", "pubkey", "--label", "first"])
            try test.tool(["--delete-object", "--type", "privkey", "--label", "second"])
            let key = try privateKey("first", in: keychain)
            #expect(code {
                _ = try keychain.keys.certificationRequest(
                    for: key, subject: DistinguishedName(commonName: "first"), extensions: CertificateExtensions())
            } == .tokenContractViolation)
        }

        @Test func `deleting a key without an identifier deletes its own public key and no other`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            for label in ["one", "two"] { try makeKey(test, "rsa:2048", label: label) }
            try keychain.delete(privateKey("one", in: keychain))
            #expect(try keychain.find(.keys).compactMap(\.label) == ["two", "two"])
            // An EC private key does not contain its public key.
            try makeKey(test, "EC:prime256v1", label: "three")
            let three = try privateKey("three", in: keychain)
            #expect(three.publicKeyHash == nil)
            try keychain.delete(three)
            #expect(try keychain.find(.keys).compactMap(\.label).sorted() == ["three", "two", "two"])
        }
    }
}

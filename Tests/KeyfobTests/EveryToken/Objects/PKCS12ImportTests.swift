import KeyfobPrimitives
import KeyfobTesting
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    /// Identities from PKCS#12 files, imported by the library.
    @Suite struct PKCS12ImportTests {
        @Test(.needs(.importsECKeys, .storesCertificates)) func `the name in a file does not rename an existing identity, and a URI is not used as a name`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let passphrase = SecretBytes(utf8: "geheim")
            func add(_ source: TestCertificate, named name: String, label: String? = nil) throws -> IdentityImport {
                let data = try PKCS12.write(
                    key: PrivateKey.load(source.keyPEM), certificate: Certificate(der: source.der), chain: [],
                    friendlyName: name, passphrase: passphrase)
                let made = try keychain.identities.importPKCS12(
                    data, fileName: "f", passphrase: passphrase, label: label, isReplacing: true)
                return try #require(made.first)
            }
            let (first, second) = try (TestCertificate("first"), TestCertificate("second"))
            #expect(try add(first, named: "b", label: "a").identity.label == "a")
            #expect(try add(second, named: "b").identity.label == "b")
            let again = try add(first, named: "b")
            #expect(again.isUnchanged && again.kept.isEmpty && again.identity.label == "a")
            #expect(try add(TestCertificate("third"), named: "pkcs11:c").identity.label == "third")
            #expect(try keychain.find(.identities).compactMap(\.label).sorted() == ["a", "b", "third"])
        }

        @Test(.needs(.exportsKeys, .importsECKeys)) func `a passphrase that PKCS#12 cannot represent is refused as invalid`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let source = try TestCertificate("web")
            let identity = try keychain.identities.importKeyPair(
                key: PrivateKey.load(source.keyPEM), certificate: Certificate(der: source.der), isExtractable: true
            ).identity
            let error = #expect(throws: KeychainError.self) {
                try keychain.identities.export(identity, passphrase: SecretBytes([0x61, 0, 0x62]))
            }
            #expect(error?.code == .invalidArgument && error?.message.contains("NUL") == true && error?.hint == nil)
        }
    }
}

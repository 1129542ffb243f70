import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    /// Objects that NSS's certutil changes in a database while a keychain on it is open.
    @Suite struct CertutilTests {
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        @discardableResult
        private func certutil(_ arguments: [String]) throws -> String {
            let token = try #require(TokenUnderTest.current)
            let start = try #require(token.parameters.range(of: "configdir='")).upperBound
            let database = String(token.parameters[start...].prefix { $0 != "'" })
            let pin = try directory.write(Array(token.pin.utf8), to: "pin")
            let result = try run("certutil", arguments + ["-d", database, "-f", pin])
            try #require(result.status == 0, "certutil \(arguments): \(result.stderr)")
            return result.stdout
        }

        private func code(_ body: () throws -> Void) -> KeychainError.Code? {
            do { try body() } catch { return (error as? KeychainError)?.code }
            return nil
        }

        @Test(.needs(.changedByCertutil)) func `an open keychain sees that certutil removes a certificate and a key`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let identity = try keychain.identities.create("web", .server("web"), issuer: SelfIssuer()).identity
            let key = try keychain.keys.tokenKey(for: identity)
            #expect(try !key.sign([1], using: .ecdsa(.sha256)).isEmpty)
            try certutil(["-D", "-n", "web"])
            #expect(try keychain.find(.identities).isEmpty && keychain.find(.certificates).isEmpty)
            #expect(code { _ = try keychain.item(#require(identity.reference)) } == .itemNotFound)
            try certutil(["-F", "-k", identity.certificate().publicKey.identifier.hexadecimal])
            #expect(code { _ = try key.sign([1], using: .ecdsa(.sha256)) } == .itemNotFound)
            // certutil leaves the public half.
            #expect(try keychain.find(.keys).filter { $0.keyClass == .private }.isEmpty)
        }

        @Test(.needs(.changedByCertutil)) func `a key that certutil makes in place of another one never signs for it`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let item = try keychain.keys.generate(.p256, label: "k")
            let key = try keychain.keys.tokenKey(for: item)
            _ = try key.sign([1], using: .ecdsa(.sha256))
            try certutil(["-F", "-k", key.publicKey.identifier.hexadecimal])
            let noise = try directory.write(RandomBytes.bytes(count: 64), to: "noise")
            try certutil(["-G", "-k", "ec", "-q", "nistp256", "-z", noise])
            #expect(code { _ = try key.sign([1], using: .ecdsa(.sha256)) } == .itemNotFound)
            let others = try keychain.find(.keys).filter { $0.keyClass == .private }
            #expect(others.count == 1)
            let other = try keychain.keys.tokenKey(for: #require(others.first))
            #expect(other.publicKey != key.publicKey)
            let signature = try other.sign([1], using: .ecdsa(.sha256))
            #expect(try other.publicKey.verify(signature, of: [1], using: .ecdsa(.sha256)))
        }

        @Test(.needs(.changedByCertutil)) func `a certificate that certutil stores under a name of the keychain is another item`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let first = try keychain.add(CertificateItem(Certificate(der: TestCertificate().der), label: "ca"))
            try certutil(["-D", "-n", "ca"])
            let source = try TestCertificate()
            let other = try Certificate(der: source.der)
            try certutil(["-A", "-n", "ca", "-t", ",,", "-i", source.directory.file("cert.der")])
            let found = try keychain.find(.certificates)
            #expect(try found.map { try $0.certificate() } == [other])
            #expect(found.first?.reference != first.reference)
            #expect(code { _ = try keychain.item(#require(first.reference)) } == .itemNotFound)
        }
    }
}

import Foundation
import KeyfobOpenSSL
import KeyfobPrimitives
import TestSupport
import Testing

@testable import Keyfob

/// Keychains that a version of Keyfob has written, in `Fixtures/Vaults`. Later versions must read them.
@Suite struct StoredFormatTests {
    /// `contents.json` of a folder.
    private struct Contents: Decodable {
        let keychains: [StoredKeychain]
    }

    private struct StoredKeychain: Decodable {
        let name: String
        let passphrase: String?
        let passwords: Set<Password>
        let certificates: Set<StoredObject>
        let keys: Set<StoredObject>
    }

    /// A password; the attributes that its class does not have are absent.
    private struct Password: Decodable, Hashable {
        var service: String?
        var server: String?
        let account: String
        let label: String?
        let comment: String?
        var `protocol`: String?
        var port: Int?
        var path: String?
        /// In hexadecimal digits.
        let secret: String?
    }

    /// A certificate, or a private key, of which the digest is that of the SubjectPublicKeyInfo.
    private struct StoredObject: Decodable, Hashable {
        let label: String?
        let sha256: String
    }

    @Test(arguments: ["format-1"])
    func `every item of the stored keychains is read`(folder: String) throws {
        let source = Fixtures.url("Vaults/\(folder)")
        let contents = try JSONDecoder().decode(
            Contents.self, from: Data(contentsOf: source.appendingPathComponent("contents.json")))
        let temporary = try TemporaryDirectory()
        let keychains = try Keychains(copy(source, to: temporary))
        for stored in contents.keychains {
            var options = Keychain.Options()
            if let passphrase = stored.passphrase {
                options.pinSource = .file(try temporary.write(passphrase.utf8, to: "passphrase"))
            }
            let keychain = try keychains.open(stored.name, options: options)
            try expect(keychain, toHave: stored)
            #expect(try keychain.integrity.findings().isEmpty)
            #expect(try keychain.integrity.secretFindings().isEmpty)
            // Also removes the token from the directory that the tests of this process share.
            try keychains.delete(stored.name)
        }
    }

    /// Copies the keychains of a folder to new directories, and their tokens to those of this process' SoftHSM.
    private func copy(_ source: URL, to temporary: TemporaryDirectory) throws -> Directories {
        _ = try TestToken.loadModule()
        var directories = Directories(root: URL(fileURLWithPath: temporary.file("root"), isDirectory: true))
        directories.tokens = TestKeychain.tokens
        let files = FileManager.default
        try files.createDirectory(at: directories.data, withIntermediateDirectories: true)
        try files.copyItem(at: source.appendingPathComponent("keychains"), to: directories.keychains)
        let staged = directories.data.appendingPathComponent("staged")
        try files.copyItem(at: source.appendingPathComponent("tokens"), to: staged)
        // Git does not keep the modes.
        let changed = try run("chmod", ["-R", "u=rwX,go=", temporary.file("root")])
        try #require(changed.status == 0, "\(changed.stderr)")
        for name in try files.contentsOfDirectory(atPath: staged.path) {
            // SoftHSM must not see a token that is not complete.
            try files.moveItem(
                at: staged.appendingPathComponent(name),
                to: directories.tokens.appendingPathComponent("tokens/\(name)"))
        }
        return directories
    }

    private func expect(_ keychain: Keychain, toHave stored: StoredKeychain) throws {
        var passwords = try keychain.find(.genericPasswords).map { item in
            Password(
                service: item.service, account: item.account, label: item.label, comment: item.comment,
                secret: try keychain.secret(of: item)?.copyBytes().hexadecimal)
        }
        passwords += try keychain.find(.internetPasswords).map { item in
            Password(
                server: item.server, account: item.account, label: item.label, comment: item.comment,
                protocol: item.protocol?.scheme, port: item.port, path: item.path,
                secret: try keychain.secret(of: item)?.copyBytes().hexadecimal)
        }
        #expect(passwords.count == stored.passwords.count)
        #expect(Set(passwords) == stored.passwords)

        let certificates = try keychain.find(.certificates)
        #expect(certificates.count == stored.certificates.count)
        #expect(Set(certificates.map { StoredObject(label: $0.label, sha256: digest($0.der)) }) == stored.certificates)

        let keys = try keychain.find(Query<KeyItem>.keys.keyClass(.private))
        #expect(keys.count == stored.keys.count)
        let message = Array("message".utf8)
        let found = try keys.map { key in
            let tokenKey = try keychain.keys.tokenKey(for: key)
            let scheme: SignatureScheme = if case .rsa = tokenKey.publicKey.algorithm {
                .rsaPKCS1(.sha256)
            } else {
                .ecdsa(.sha256)
            }
            let signature = try tokenKey.sign(message, using: scheme)
            #expect(try tokenKey.publicKey.verify(signature, of: message, using: scheme))
            return StoredObject(label: key.label, sha256: digest(tokenKey.publicKey.subjectPublicKeyInfo))
        }
        // Compared without labels: the command names the key of an identity after the identity.
        #expect(Set(found.map(\.sha256)) == Set(stored.keys.map(\.sha256)))
    }

    private func digest(_ bytes: Data) -> String { Digest.sha256(bytes).hexadecimal }
}

import Foundation
import GRDB
import KeyfobPrimitives
import KeyfobTesting
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob
@testable import KeyfobToken

extension EveryToken {
    /// Changes that other tools make to tokens.
    @Suite struct StaleHandleTests {
        private func makeKey(_ test: TestKeychain, label: String = "key", id: String = "01") throws {
            try test.tool(["--keypairgen", "--key-type", "EC:prime256v1", "--id", id, "--label", label])
        }

        private func deleteKey(_ test: TestKeychain, id: String = "01") throws {
            for type in ["privkey", "pubkey"] { try test.tool(["--delete-object", "--type", type, "--id", id]) }
        }

        @Test(.needs(.makesECKeys, .seesOtherPrograms)) func `a key that was deleted and made again with the same id is not found, and the new key is untouched`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            try makeKey(test)
            let old = try keychain.only(.key(label: "key").keyClass(.private))
            let signer = try keychain.keys.tokenKey(for: old)
            let message = Array("message".utf8)
            #expect(try signer.publicKey.verify(signer.sign(message, using: .ecdsa(.sha256)), of: message, using: .ecdsa(.sha256)))
            try deleteKey(test)
            try makeKey(test)
            let reference = try #require(old.reference)
            #expect(code { _ = try keychain.item(reference) } == .itemNotFound)
            #expect(code { try keychain.delete(old) } == .itemNotFound)
            #expect(code { try keychain.update(Criteria(reference), [.label: "x"]) } == .itemNotFound)
            #expect(code { _ = try signer.sign(message, using: .ecdsa(.sha256)) } == .itemNotFound)
            let new = try keychain.only(.key(label: "key").keyClass(.private))
            #expect(new.reference != reference)
            let other = try keychain.keys.tokenKey(for: new)
            #expect(try other.publicKey.verify(other.sign(message, using: .ecdsa(.sha256)), of: message, using: .ecdsa(.sha256)))
        }

        @Test(.needs(.makesECKeys, .seesOtherPrograms)) func `an object that disappears between search and change is not found, and no other object is touched`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            try makeKey(test)
            let key = try #require(keychain.only(.key(label: "key").keyClass(.private)).item.object)
            try deleteKey(test)
            try makeKey(test)
            #expect(code {
                try keychain.token.withSession(.destroy) { session in
                    try session.destroy(try keychain.token.verifiedHandle(of: key, in: session))
                }
            } == .itemNotFound)
            #expect(try keychain.find(.keys).count == 2)
        }

        @Test(.needs(.foreignIdentifiers, .makesECKeys, .seesOtherPrograms)) func `keys that share only an id keep their public keys, and Keyfob does not guess which is which`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            try makeKey(test, label: "first")
            try makeKey(test, label: "second")
            #expect(try keychain.find(.keys).count == 4)
            let key = try keychain.only(.key(label: "first").keyClass(.private))
            #expect(code { try keychain.delete(key) } == .ambiguous)
            #expect(try keychain.find(.keys).count == 4)
        }

        @Test(.needs(.makesECKeys, .seesOtherPrograms)) func `every open keychain sees what pkcs11-tool creates, relabels and removes`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let other = try test.reopen()
            func labels(_ keychain: Keychain) throws -> [String] { try keychain.find(.keys).compactMap(\.label).sorted() }
            #expect(try labels(keychain) == [] && labels(other) == [])
            try makeKey(test, label: "one", id: "01")
            #expect(try labels(keychain) == ["one", "one"] && labels(other) == ["one", "one"])
            try makeKey(test, label: "two", id: "02")
            #expect(try labels(keychain) == ["one", "one", "two", "two"])
            try test.tool(["--type", "privkey", "--id", "01", "--set-id", "03"])
            #expect(try keychain.find(.keys).compactMap { $0.item.object?.id }.sorted { $0[0] < $1[0] }
                == [Data([1]), Data([2]), Data([2]), Data([3])])
            try deleteKey(test, id: "02")
            #expect(try labels(keychain) == ["one", "one"] && labels(other) == ["one", "one"])
        }

        @Test(.needs(.changesAttributes, .makesECKeys, .seesOtherPrograms)) func `an item keeps its name when another tool changes the label of its object`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let key = try keychain.keys.generate(.p256, label: "before", applicationTag: Data("tag".utf8))
            #expect(try keychain.find(.key(label: "before")).count == 2)
            // pkcs11-tool cannot relabel objects, but another user of the module can.
            try keychain.token.withSession(.change) { session in
                for handle in try session.findObjects([.label("before")]) {
                    try session.setAttributes([.label("after")], of: handle)
                }
            }
            let found = try keychain.only(.key(label: "before").keyClass(.private))
            #expect(found.reference == key.reference)
            #expect(found.applicationTag == Data("tag".utf8))
            #expect(try keychain.find(.key(label: "after")).isEmpty)
            #expect(try test.tool(["-O", "--type", "privkey"]).stdout.contains("after"))
            #expect(try !keychain.keys.tokenKey(for: found).sign([1], using: .ecdsa(.sha256)).isEmpty)
        }

        @Test(.needs(.importsECKeys, .seesOtherPrograms, .storesCertificates)) func `an object that another tool removed can be added again`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let certificate = try Certificate(der: TestCertificate().der)
            let first = try keychain.add(CertificateItem(certificate))
            try test.tool(["--delete-object", "--type", "cert", "--id", certificate.publicKey.identifier.hexadecimal])
            #expect(try keychain.find(.certificates).isEmpty)
            #expect(code { _ = try keychain.item(#require(first.reference)) } == .itemNotFound)
            let second = try keychain.add(CertificateItem(certificate))
            #expect(try keychain.find(.certificates).map(\.reference) == [second.reference])
        }

        @Test(.needs(.changesAttributes, .seesOtherPrograms)) func `an object stored by pkcs11-tool is an item, and Keyfob's attributes can be added to it`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let source = try TestCertificate()
            try test.tool(
                ["--write-object", source.directory.file("cert.der"), "--type", "cert", "--id", "07", "--label", "theirs"])
            let found = try keychain.only(.certificate(label: "theirs"))
            let reference = try #require(found.reference)
            try keychain.update(Criteria(reference), [.comment: "ours", .label: "named"])
            let again = try test.reopen().item(reference)
            #expect(
                again.reference == reference && again.attributes[.comment] == "ours" && again.attributes[.label] == "named")
            // The object keeps its label.
            #expect(try test.tool(["-O", "--type", "cert"]).stdout.contains("theirs"))
            try keychain.delete(.certificates)
            #expect(try !test.tool(["-O", "--type", "cert"]).stdout.contains("theirs"))
        }

        /// Returns the keychain on a token that is not known to keep its handles.
        private func distrusting(_ keychain: Keychain) -> Keychain {
            let state = keychain.lockState
            let token = TokenStore(
                uri: keychain.token.uri, softHSM: nil, configuration: .init(), keepsHandles: false,
                openModule: { try TestToken.loadModule() }, pin: { state.withLock { $0.tokenPIN } })
            return Keychain(
                configuration: keychain.configuration, directories: keychain.directories, options: keychain.options,
                store: keychain.store, token: token, lockState: state)
        }

        @Test(.needs(.ownToken)) func `SoftHSM is recognised as keeping its handles from its own information`() throws {
            let test = try TestKeychain()
            let token = TokenStore(
                uri: test.keychain.token.uri, softHSM: nil, configuration: .init(),
                openModule: { try TestToken.loadModule() }, pin: { nil })
            #expect(try token.keepsHandles() && test.keychain.token.keepsHandles())
        }

        @Test(.needs(.ownToken), arguments: [KeySpecification.p256, .rsa(bits: 2048)])
        func `a signature by a handle that now belongs to another key is not returned`(kind: KeySpecification) throws {
            try needs(kind)
            let test = try TestKeychain()
            let mine = try test.keychain.keys.generate(kind, label: "mine")
            let theirs = try test.keychain.keys.generate(kind, label: "theirs")
            let keychain = distrusting(test.keychain)
            let key = try keychain.keys.tokenKey(for: mine)
            let message = Array("message".utf8)
            let schemes: [SignatureScheme] = kind == .p256 ? [.ecdsa(.sha256)] : [.rsaPKCS1(.sha256), .rsaPSS(.sha256)]
            for scheme in schemes {
                try plant(theirs, for: mine, keychain)
                #expect(try key.publicKey.verify(key.sign(message, using: scheme), of: message, using: scheme))
            }
            guard kind == .rsa(bits: 2048) else { return }
            try plant(theirs, for: mine, keychain)
            let ciphertext = try key.publicKey.encryptOAEP(SecretBytes("secret"), hash: .sha1)
            #expect(try key.decrypt(ciphertext, using: .rsaOAEP(.sha1)) == SecretBytes("secret"))
        }

        private func plant(_ stranger: KeyItem, for own: KeyItem, _ keychain: Keychain) throws {
            let (stranger, own) = (try #require(stranger.item.object), try #require(own.item.object))
            let token = keychain.token
            try token.withSession(.read) { session in
                let handle = try token.handle(of: stranger, in: session)
                token.remember(handle, of: own, epoch: try token.pool().loginEpoch)
            }
        }

        @Test(.needs(.ownToken)) func `a wrapping key's handle that now belongs to another key seals nothing`() throws {
            let test = try TestKeychain()
            let keychain = distrusting(test.keychain)
            let id = try #require(test.keychain.vaultRows.wrappingKeyRows().first?.objectID)
            try keychain.token.withSession(.create) { session in
                let other = try AESGCMKeyWrap().generateKey(label: "other", id: [9], in: session).key
                keychain.token.remember(other, ofWrappingKey: id, epoch: try keychain.token.pool().loginEpoch)
            }
            let item = try keychain.add(GenericPassword(service: "s"), secret: SecretBytes("secret"))
            #expect(try test.reopen().secret(of: item) == SecretBytes("secret"))
        }
    }
}

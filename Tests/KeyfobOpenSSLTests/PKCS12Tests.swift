import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

@Suite("PKCS#12")
struct PKCS12Tests {
    static let options: [(name: String, options: String, isLegacy: Bool)] = [
        ("modern", "", false), ("AES-128", "-keypbe AES-128-CBC -certpbe AES-128-CBC", false),
        ("RC2-40 certificates", "-legacy", true),
        ("3DES", "-keypbe PBE-SHA1-3DES -certpbe PBE-SHA1-3DES -macalg sha1", true),
        ("RC2-128", "-legacy -keypbe PBE-SHA1-RC2-128 -certpbe PBE-SHA1-RC2-128", true),
        ("RC4", "-legacy -keypbe PBE-SHA1-RC4-128 -certpbe PBE-SHA1-RC4-128", true),
        ("plain certificates", "-certpbe NONE", false), ("no MAC", "-nomac", false),
        ("SHA-512 MAC", "-macalg sha512", false),
    ]

    /// A file with the leaf, its key and its chain.
    private func make(
        _ openssl: OpenSSLCommand, _ options: String = "", passphrase: String = "geheim", name: String = "web"
    ) throws -> Data {
        let both = try openssl.data("intermediate.pem") + openssl.data("root.pem")
        try openssl.directory.write(both, to: "chain.pem")
        try openssl(
            "pkcs12 -export -in leaf.pem -inkey leaf.key -certfile chain.pem -out web.p12 \(options)",
            and: ["-name", name, "-passout", "pass:\(passphrase)"])
        return try openssl.data("web.p12")
    }

    @Test("Every encryption that openssl writes is read, and old ones only if allowed", arguments: options.indices)
    func encryptions(_ index: Int) throws {
        let row = Self.options[index]
        let openssl = try OpenSSLCommand.withAuthority()
        let data = try make(openssl, row.options)
        let leaf = try openssl.certificate("leaf.pem")
        let contents = try PKCS12.read(data, passphrase: SecretBytes(utf8: "geheim"))
        #expect(contents.keys.count == 1 && contents.certificates.count == 3)
        let identity = try #require(contents.identities.first)
        #expect(contents.identities.count == 1)
        #expect(identity.certificate == leaf && identity.key.publicKey == leaf.publicKey)
        #expect(identity.friendlyName == "web")
        #expect(try identity.chain.certificates == [
            leaf, openssl.certificate("intermediate.pem"), openssl.certificate("root.pem"),
        ])
        #expect(contents.keys.first?.localKeyID == leaf.sha1Fingerprint)
        #expect(code { _ = try PKCS12.read(data, passphrase: SecretBytes(utf8: "falsch")) } == .wrongPassphrase)
        let strict = code { _ = try PKCS12.read(data, passphrase: SecretBytes(utf8: "geheim"), allowLegacy: false) }
        #expect(strict == (row.isLegacy ? .legacyEncryption : nil))
    }

    @Test("The error names the old encryption")
    func legacyName() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let data = try make(openssl, "-legacy")
        do {
            _ = try PKCS12.read(data, passphrase: nil, allowLegacy: false)
            Issue.record("RC2 was read although it was not allowed")
        } catch {
            #expect(error.code == .legacyEncryption && error.algorithm == "40-bit RC2")
        }
    }

    @Test("Empty and UTF-8 passphrases open their files", arguments: ["", "pässwörd €", "🔑 key"], ["", "-legacy"])
    func passphrases(_ passphrase: String, _ options: String) throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let data = try make(openssl, options, passphrase: passphrase, name: "Näme")
        let contents = try PKCS12.read(data, passphrase: SecretBytes(utf8: passphrase))
        #expect(contents.identities.first?.friendlyName == "Näme")
        if passphrase.isEmpty {
            #expect(try PKCS12.read(data, passphrase: nil).keys.count == 1)
            #expect(code { _ = try PKCS12.read(data, passphrase: SecretBytes(utf8: "x")) } == .wrongPassphrase)
        } else {
            #expect(code { _ = try PKCS12.read(data, passphrase: nil) } == .wrongPassphrase)
        }
    }

    @Test("A file opens if its maker treated each byte of the passphrase as a character",
        arguments: ["-legacy", "-nomac -legacy"])
    func oldPassphrases(_ options: String) throws {
        let openssl = try OpenSSLCommand.withAuthority()
        // Before 1.1.0, OpenSSL treated each byte of the UTF-8 passphrase as one character, as this text does.
        let taken = String(String.UnicodeScalarView("pässwörd €".utf8.map { Unicode.Scalar($0) }))
        let data = try make(openssl, options, passphrase: taken)
        #expect(try PKCS12.read(data, passphrase: SecretBytes(utf8: "pässwörd €")).identities.count == 1)
        for wrong in ["passwörd €", "password"] {
            #expect(code { _ = try PKCS12.read(data, passphrase: SecretBytes(utf8: wrong)) } == .wrongPassphrase)
        }
    }

    @Test("A file cut at any length is damaged, with any passphrase")
    func truncated() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let data = try make(openssl)
        for count in 1..<data.count {
            #expect(code {
                _ = try PKCS12.read(data.prefix(count), passphrase: SecretBytes(utf8: "falsch"))
            } == .damaged)
        }
        do {
            _ = try PKCS12.read(data.prefix(200), passphrase: nil)
            Issue.record("a cut file was read")
        } catch {
            #expect(error.detail == "it ends after 200 of \(data.count) bytes")
        }
        #expect(code { _ = try PKCS12.read(data + [0, 0], passphrase: SecretBytes(utf8: "geheim")) } == nil)
    }

    @Test("A changed MAC or ciphertext is not reported as a wrong passphrase", arguments: ["", "-legacy"])
    func changed(_ options: String) throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let data = try make(openssl, options)
        let passphrase = SecretBytes(utf8: "geheim")
        // The MAC is at the end: the digest, then a salt and a count of known lengths.
        var mac = [UInt8](data)
        mac[mac.count - 20] ^= 1
        // The first ciphertext, that of the certificates, starts after some hundred bytes.
        var ciphertext = [UInt8](data)
        ciphertext[400] ^= 1
        for changed in [mac, ciphertext] {
            #expect(code { _ = try PKCS12.read(Data(changed), passphrase: passphrase) } == .integrityCheckFailed)
            #expect(code {
                _ = try PKCS12.read(Data(changed), passphrase: SecretBytes(utf8: "falsch"))
            } == .wrongPassphrase)
        }
        #expect(try PKCS12.read(Data(mac), passphrase: passphrase, ignoringIntegrity: true).identities.count == 1)
    }

    @Test("A changed byte gives an error or the same content, never a crash")
    func everyByte() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let data = [UInt8](try make(openssl, "-iter 1 -maciter"))
        let leaf = try openssl.certificate("leaf.pem")
        for index in data.indices {
            var changed = data
            changed[index] ^= 0x55
            do {
                let contents = try PKCS12.read(Data(changed), passphrase: SecretBytes(utf8: "geheim"))
                #expect(contents.keys.allSatisfy { $0.key.publicKey == leaf.publicKey }, "byte \(index)")
            } catch {
                let allowed: [PKCS12Error.Code] = [
                    .damaged, .integrityCheckFailed, .wrongPassphrase, .unsupported, .notPKCS12,
                ]
                #expect(allowed.contains(error.code))
            }
        }
    }

    @Test("Other files are not PKCS#12")
    func otherFiles() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let key = try PrivateKey.load(openssl.data("leaf.key"))
        for other in try [
            Data(), openssl.data("leaf.pem"), openssl.certificate("leaf.pem").der, key.pkcs8DER().copyData(),
            Data("hello".utf8), Data(count: 1000),
        ] {
            #expect(code { _ = try PKCS12.read(other, passphrase: nil) } == .notPKCS12)
        }
        #expect(code { _ = try PKCS12.read(Data(count: PKCS12.maximumSize + 1), passphrase: nil) } == .tooLarge)
        for count in 1..<300 {
            let random = try RandomBytes.bytes(count: count)
            let start: [UInt8] = [0x30, 0x82, UInt8((count + 3) >> 8), UInt8((count + 3) & 255), 2, 1, 3]
            #expect(code { _ = try PKCS12.read(Data(random), passphrase: nil) } != nil)
            #expect(code { _ = try PKCS12.read(Data(start + random), passphrase: nil) } != nil)
            #expect(code { _ = try PKCS12.read(Data([0x30, 0x80, 2, 1, 3] + random), passphrase: nil) } != nil)
        }
    }

    @Test("openssl reads written files, which use modern encryption", arguments: ["geheim", "pässwörd", ""])
    func writes(_ passphrase: String) throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let leaf = try openssl.certificate("leaf.pem")
        let key = try PrivateKey.load(openssl.data("leaf.key"))
        let chain = try [leaf, openssl.certificate("intermediate.pem")]
        let data = try PKCS12.write(
            key: key, certificate: leaf, chain: chain, friendlyName: "wéb", passphrase: SecretBytes(utf8: passphrase))
        try openssl.directory.write(data, to: "ours.p12")
        let info = try openssl("pkcs12 -in ours.p12 -info -nodes", and: ["-passin", "pass:\(passphrase)"])
        #expect(info.stderr.contains("MAC: sha256, Iteration \(PKCS12.iterations)"))
        #expect(info.stderr.contains("PBES2, PBKDF2, AES-256-CBC, Iteration \(PKCS12.iterations), PRF hmacWithSHA256"))
        #expect(try Certificate.load(Data(info.output)) == chain)
        #expect(try PrivateKey.load(Data(info.output)).publicKey == key.publicKey)
        let again = try PKCS12.read(data, passphrase: SecretBytes(utf8: passphrase), allowLegacy: false)
        #expect(again.identities.first?.friendlyName == "wéb")
        #expect(again.certificates.map(\.certificate) == chain)
    }

    @Test(arguments: ["web€", "漢字", "web😀", "é"])
    func `a name is written completely, with any characters`(_ name: String) throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let leaf = try openssl.certificate("leaf.pem")
        let data = try PKCS12.write(
            key: PrivateKey.load(openssl.data("leaf.key")), certificate: leaf, chain: [], friendlyName: name,
            passphrase: SecretBytes(utf8: "geheim"))
        let contents = try PKCS12.read(data, passphrase: SecretBytes(utf8: "geheim"))
        #expect(contents.keys.map(\.friendlyName) == [name] && contents.certificates.map(\.friendlyName) == [name])
        #expect(contents.keys.map(\.localKeyID) == [leaf.sha1Fingerprint])
        #expect(contents.certificates.map(\.localKeyID) == [leaf.sha1Fingerprint])
        // Once only, because Java is slow to start.
        guard name == "web😀", FileManager.default.isExecutableFile(atPath: "/usr/bin/keytool") else { return }
        try openssl.directory.write(data, to: "ours.p12")
        let list = try run(
            "keytool", ["-J-Dfile.encoding=UTF-8", "-J-Dstdout.encoding=UTF-8", "-list", "-keystore", "ours.p12",
                "-storepass", "geheim"], directory: openssl.directory.path)
        #expect(list.stdout.contains(name + ", ") && list.stdout.contains("PrivateKeyEntry"), "\(list)")
    }

    @Test("A passphrase with NUL is wrong, even if HMAC ignores the NUL", arguments: ["", "-legacy", "-nomac"])
    func passphrasesWithNUL(_ options: String) throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let data = try make(openssl, options)
        for wrong in ["geheim\0", "geheim\0\0", "\0"] {
            #expect(code { _ = try PKCS12.read(data, passphrase: SecretBytes(utf8: wrong)) } == .wrongPassphrase)
        }
    }

    @Test("A file in PEM is read, and a broken one is damaged")
    func pem() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let text = try make(openssl).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        func read(_ text: String) throws -> Int {
            try PKCS12.read(Data(text.utf8), passphrase: SecretBytes(utf8: "geheim")).identities.count
        }
        let whole = "Any text\n-----BEGIN PKCS12-----\n\(text)\n-----END PKCS12-----\n"
        #expect(try read(whole) == 1)
        for count in [25, 100] { #expect(code { _ = try read(String(whole.dropLast(count))) } == .damaged) }
    }

    @Test("A certificate of another key and a passphrase with NUL are refused")
    func refusesMismatch() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let leaf = try openssl.certificate("leaf.pem")
        let key = try PrivateKey.load(openssl.data("leaf.key"))
        #expect(code {
            _ = try PKCS12.write(
                key: PrivateKey.generate(.ed25519), certificate: leaf, chain: [], friendlyName: nil,
                passphrase: SecretBytes(utf8: "x"))
        } == .invalidInput)
        #expect(code {
            _ = try PKCS12.write(
                key: key, certificate: leaf, chain: [], friendlyName: nil, passphrase: SecretBytes([0x61, 0, 0x62]))
        } == .invalidInput)
    }

    @Test("No error text contains the passphrase")
    func noSecrets() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let data = try make(openssl)
        let secret = "correct-horse-battery"
        for input in [data, Data(data.prefix(100)), Data(data.dropLast(3)) + [1, 2, 3], Data("x".utf8)] {
            do {
                _ = try PKCS12.read(input, passphrase: SecretBytes(utf8: secret))
                Issue.record("a wrong passphrase opened a file")
            } catch {
                #expect(!"\(error)".contains(secret))
            }
        }
    }

    /// The code of the `PKCS12Error` that `body` throws; `nil` if it throws nothing or another error.
    private func code(_ body: () throws -> Void) -> PKCS12Error.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? PKCS12Error)?.code
        }
    }
}

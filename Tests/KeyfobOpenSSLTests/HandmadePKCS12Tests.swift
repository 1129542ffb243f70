import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

/// PKCS#12 files that other software or an attacker may have made.
@Suite struct HandmadePKCS12Tests {
    private static func key(_ openssl: OpenSSLCommand) throws -> Data {
        try openssl("pkcs8 -topk8 -nocrypt -in leaf.key -outform DER -out leaf.p8")
        return try openssl.data("leaf.p8")
    }

    @Test func `a duplicate in a file is one identity, and an empty name counts as none`() throws {
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

    @Test func `one PEM block is read with any text before it, and several are refused`() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let der = HandmadePKCS12.file([.certificate(try openssl.certificate("leaf.pem").der)])
        let block = "-----BEGIN PKCS12-----\n\(der.base64EncodedString())\n-----END PKCS12-----\n"
        let one = try PKCS12.read(Data(("0 is how a sequence begins\n" + block).utf8), passphrase: nil)
        #expect(one.certificates.count == 1)
        let error = #expect(throws: PKCS12Error.self) {
            try PKCS12.read(Data((block + block).utf8), passphrase: nil)
        }
        #expect(error?.code == .unsupported)
    }

    @Test(arguments: [
        ("web€", "web€"), ("漢字", "漢字"), ("web😀", "web😀"), ("é", "é"), ("web\0", "web"), ("w\0b", nil), ("\0", nil),
    ])
    func `a friendly name is read completely, with any characters`(_ name: String, _ expected: String?) throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let data = try HandmadePKCS12.file([.key(Self.key(openssl), name: name)])
        #expect(try PKCS12.read(data, passphrase: nil).keys.map(\.friendlyName) == [expected])
    }

    @Test func `a friendly name with half a character counts as none`() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let data = try HandmadePKCS12.file([.key(Self.key(openssl), name: "a😀")])
        let half = try Self.replacing([0xD8, 0x3D, 0xDE, 0x00], with: [0xD8, 0x3D, 0x00, 0x61], in: data)
        #expect(try PKCS12.read(half, passphrase: nil).keys.map(\.friendlyName) == [nil])
    }

    @Test func `a key of an unknown kind is skipped, unless it is the only one`() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let (key, leaf) = (try Self.key(openssl), try openssl.certificate("leaf.pem"))
        let unknown = try Self.replacing(
            [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01], with: [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x7F], in: key)
        let contents = try PKCS12.read(
            HandmadePKCS12.file([.key(unknown), .key(key), .certificate(leaf.der)]), passphrase: nil)
        #expect(contents.identities.count == 1 && contents.unreadableKeys.map(\.code) == [.unsupported])
        let alone = HandmadePKCS12.file([.key(unknown), .certificate(leaf.der)])
        let error = #expect(throws: PKCS12Error.self) { try PKCS12.read(alone, passphrase: nil) }
        #expect(error?.code == .unsupported)
        #expect(try PKCS12.read(alone, passphrase: nil, allowUnreadableKeys: true).certificates.count == 1)
    }

    @Test func `a signed file is not reported as damaged`() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        try openssl(
            "smime -sign -binary -nodetach -signer leaf.pem -inkey leaf.key -in leaf.pem -outform DER -out signed")
        let content = [2, 1, 3] + [UInt8](try openssl.data("signed"))
        let head: [UInt8] = [0x30, 0x82, UInt8(content.count >> 8), UInt8(content.count & 0xFF)]
        let error = #expect(throws: PKCS12Error.self) { try PKCS12.read(Data(head + content), passphrase: nil) }
        #expect(error?.code == .unsupported && error?.detail.contains("signature") == true)
    }

    @Test func `an error of the maker is not damage if the integrity check is right`() throws {
        let passphrase = SecretBytes(utf8: "geheim")
        let bad = HandmadePKCS12.Bag.certificate(Data([0x30, 3, 2, 1, 1]))
        // One iteration of PBKDF2 is a single HMAC.
        let key = try HMACSHA256(key: passphrase).authenticationCode(for: HandmadePKCS12.salt + [0, 0, 0, 1])
        let data = try HandmadePKCS12.file([bad]) {
            try HMACSHA256(key: SecretBytes(key)).authenticationCode(for: $0)
        }
        for (data, code) in [(data, PKCS12Error.Code.unsupported), (HandmadePKCS12.file([bad]), .damaged)] {
            let error = #expect(throws: PKCS12Error.self) { try PKCS12.read(data, passphrase: passphrase) }
            #expect(error?.code == code)
        }
        let wrong = #expect(throws: PKCS12Error.self) { try PKCS12.read(data, passphrase: SecretBytes(utf8: "x")) }
        #expect(wrong?.code == .wrongPassphrase)
    }

    @Test(arguments: [("", true), ("-nomac", false)])
    func `the result says if a file has an integrity check`(_ options: String, _ isChecked: Bool) throws {
        let openssl = try OpenSSLCommand.withAuthority()
        try openssl("pkcs12 -export -in leaf.pem -inkey leaf.key -out web.p12 -passout pass:geheim \(options)")
        let contents = try PKCS12.read(openssl.data("web.p12"), passphrase: SecretBytes(utf8: "geheim"))
        #expect(contents.isIntegrityChecked == isChecked)
    }

    /// Replaces one occurrence of a byte sequence by another.
    private static func replacing(_ old: [UInt8], with new: [UInt8], in data: Data) throws -> Data {
        let range = try #require(data.firstRange(of: old))
        return data[..<range.lowerBound] + new + data[range.upperBound...]
    }

    @Test func `many parts may not take long together, even if each one alone may`() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        // Made with 74,565 iterations, which the test then raises to 8,388,607.
        try openssl("pkcs8 -topk8 -v2 aes-256-cbc -iter 74565 -in leaf.key -outform DER -out p8 -passout pass:geheim")
        let sealed = try Self.replacing(
            [2, 3, 0x01, 0x23, 0x45], with: [2, 3, 0x7F, 0xFF, 0xFF], in: openssl.data("p8"))
        let leaf = try openssl.certificate("leaf.pem").der
        let data = HandmadePKCS12.file([.certificate(leaf)] + (0..<10).map { _ in .sealedKey(sealed) })
        let error = #expect(throws: PKCS12Error.self) {
            try PKCS12.read(data, passphrase: SecretBytes(utf8: "geheim"))
        }
        #expect(error?.code == .unsupported && error?.detail.contains("iterations together") == true)
    }

    @Test func `scrypt may not run for hours`() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        try openssl(
            "pkcs8 -topk8 -in leaf.key -outform DER -out p8 "
                + "-scrypt_N 256 -scrypt_r 1 -scrypt_p 257 -passout pass:geheim")
        let data = try openssl.data("p8")
        #expect(try PrivateKey.load(data) { SecretBytes(utf8: "geheim") }.publicKey.algorithm == .ec(.p256))
        // N = 16384 and p = 32767 take little memory, but 500 million rounds.
        let slow = try Self.replacing(
            [2, 2, 0x01, 0x00, 2, 1, 1, 2, 2, 0x01, 0x01], with: [2, 2, 0x40, 0x00, 2, 1, 1, 2, 2, 0x7F, 0xFF],
            in: data)
        let error = #expect(throws: KeyFileError.self) {
            try PrivateKey.load(slow) { SecretBytes(utf8: "geheim") }
        }
        #expect(error?.code == .unsupported)
        let inFile = #expect(throws: PKCS12Error.self) {
            try PKCS12.read(HandmadePKCS12.file([.sealedKey(slow)]), passphrase: SecretBytes(utf8: "geheim"))
        }
        #expect(inFile?.code == .unsupported)
    }

    /// The key of RFC 8410 section 10.3 with its public half under PBES2, which OpenSSL 3.0 does not read.
    @Test func `an encrypted key of PKCS#8's second version is read, alone and in a file`() throws {
        let sealed = try #require(Data(base64Encoded: """
            MIHcMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgAAQIDBAUGBwICCAAw\
            DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEAABAgMEBQYHCAkKCwwNDg8EgYB8\
            +VnaUKo/OoEKlsV6zUSsen5k1r1pMTj9kJZZchKXQeKhMhskjfm/jXBALfErtk0t\
            1BGYy2k2dgZ7JCVqZKoqbYvh/RmXnpW92SGDCLbz4bhW4QvTunPy9kUdP0nhGUro\
            QobUk+0MK2jhISRMJ06D5f/F3P528VJ7sGjLqRPEXQ==
            """))
        let bits = try #require(Data(base64Encoded: "Gb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE="))
        let expected = try PublicKey(ed25519: bits)
        let passphrase = SecretBytes(utf8: "geheim")
        #expect(try PrivateKey.load(sealed) { passphrase }.publicKey == expected)
        #expect(keyFileCode { _ = try PrivateKey.load(sealed) { SecretBytes(utf8: "falsch") } } == .wrongPassphrase)
        let contents = try PKCS12.read(HandmadePKCS12.file([.sealedKey(sealed)]), passphrase: passphrase)
        #expect(contents.keys.map(\.key.publicKey) == [expected])
    }
}

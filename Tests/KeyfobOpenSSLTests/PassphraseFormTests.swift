import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

/// Files whose maker gave the integrity check one form of the passphrase, and the encryption another.
@Suite struct PassphraseFormTests {
    /// A form of a passphrase by name.
    enum Form: String, CaseIterable, CustomTestStringConvertible {
        case utf8, utf16Terminated, utf16, latin1, lettersOfBytes

        var testDescription: String { rawValue }

        func bytes(of text: String) -> [UInt8] {
            let big = text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
            return switch self {
            case .utf8: Array(text.utf8)
            case .utf16Terminated: big + [0, 0]
            case .utf16: big
            case .latin1: text.unicodeScalars.map { UInt8($0.value) }
            case .lettersOfBytes: text.utf8.flatMap { Array(String(Unicode.Scalar($0)).utf8) }
            }
        }
    }

    /// One iteration of PBKDF2 is one HMAC.
    private static func key(_ passphrase: [UInt8]) throws -> SecretBytes {
        SecretBytes(
            try HMACSHA256(key: SecretBytes(passphrase)).authenticationCode(for: HandmadePKCS12.salt + [0, 0, 0, 1]))
    }

    private static func seal(
        _ content: Data, under passphrase: [UInt8], _ openssl: OpenSSLCommand, isMisnamed: Bool = false
    ) throws -> HandmadePKCS12.Sealed {
        let vector = [UInt8](repeating: 7, count: 16)
        try openssl.directory.write(content, to: "content")
        try openssl(
            "enc -aes-256-cbc -in content -out sealed",
            and: ["-K", Data(key(passphrase).copyBytes()).hexadecimal, "-iv", Data(vector).hexadecimal])
        return HandmadePKCS12.Sealed(
            ciphertext: try openssl.data("sealed"), initializationVector: vector, isMisnamed: isMisnamed)
    }

    /// A file of the leaf under one passphrase and its key under another, with a check under a third.
    private static func file(
        check: [UInt8], certificate: [UInt8], key: [UInt8], _ openssl: OpenSSLCommand, isMisnamed: Bool = false
    ) throws -> Data {
        try openssl("pkcs8 -topk8 -nocrypt -in leaf.key -outform DER -out leaf.p8")
        let leaf = HandmadePKCS12.content(of: [.certificate(try openssl.certificate("leaf.pem").der)])
        let sealedKey = try seal(openssl.data("leaf.p8"), under: key, openssl, isMisnamed: isMisnamed).privateKey
        return try HandmadePKCS12.file(
            [.sealedKey(sealedKey, name: "web")],
            sealed: [seal(leaf, under: certificate, openssl, isMisnamed: isMisnamed)]
        ) { try HMACSHA256(key: Self.key(check)).authenticationCode(for: $0) }
    }

    @Test(arguments: Form.allCases, Form.allCases)
    func `each part may use its own form of the passphrase`(_ certificate: Form, _ key: Form) throws {
        let openssl = try OpenSSLCommand.withAuthority()
        // Longer than a block of SHA-256. HMAC pads a shorter key with zeros, so a terminator would have no effect.
        let text = "pässwörd, das länger als ein Block des Hashes ist: einundvierzig und mehr"
        let data = try Self.file(
            check: Form.utf8.bytes(of: text), certificate: certificate.bytes(of: text), key: key.bytes(of: text),
            openssl)
        let contents = try PKCS12.read(data, passphrase: SecretBytes(utf8: text))
        #expect(contents.identities.count == 1)
        #expect(contents.isIntegrityChecked)
        let wrong = #expect(throws: PKCS12Error.self) {
            try PKCS12.read(data, passphrase: SecretBytes(utf8: text + "x"))
        }
        #expect(wrong?.code == .wrongPassphrase)
    }

    @Test(arguments: [Form.utf16Terminated, .lettersOfBytes, .latin1])
    func `the integrity check may be the part with another form`(_ form: Form) throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let utf8 = Form.utf8.bytes(of: "pässwörd")
        let data = try Self.file(check: form.bytes(of: "pässwörd"), certificate: utf8, key: utf8, openssl)
        #expect(try PKCS12.read(data, passphrase: SecretBytes(utf8: "pässwörd")).identities.count == 1)
    }

    @Test(arguments: [Form.utf8, .utf16Terminated])
    func `a key of 32 bytes is used with AES-256, even if the file names AES-128`(_ form: Form) throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let bytes = form.bytes(of: "nss")
        let data = try Self.file(
            check: Form.utf8.bytes(of: "nss"), certificate: bytes, key: bytes, openssl, isMisnamed: true)
        #expect(try PKCS12.read(data, passphrase: SecretBytes(utf8: "nss")).identities.count == 1)
    }

    @Test func `a file that openssl made without UTF-8 opens`() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        // The integrity check uses the characters, and AES uses the bytes.
        try openssl.directory.write([0x70, 0xE4, 0x73, 0x73], to: "pass")
        try openssl("pkcs12 -export -in leaf.pem -inkey leaf.key -out web.p12 -passout file:pass")
        let data = try openssl.data("web.p12")
        #expect(try PKCS12.read(data, passphrase: SecretBytes(utf8: "päss")).identities.count == 1)
        let wrong = #expect(throws: PKCS12Error.self) { try PKCS12.read(data, passphrase: SecretBytes(utf8: "pass")) }
        #expect(wrong?.code == .wrongPassphrase)
    }

    @Test func `the error names a part that does not open with the right passphrase`() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let (right, other) = ([UInt8]("geheim".utf8), [UInt8]("anderes".utf8))
        let certificate = try Self.file(check: right, certificate: other, key: right, openssl)
        let error = #expect(throws: PKCS12Error.self) {
            try PKCS12.read(certificate, passphrase: SecretBytes(utf8: "geheim"))
        }
        #expect(error?.code == .unsupported)
        #expect(
            error?.detail.hasPrefix("the passphrase is right, but part 1 of 2, encrypted with AES-256-CBC, ") == true)
        let key = try Self.file(check: right, certificate: right, key: other, openssl)
        let keyError = #expect(throws: PKCS12Error.self) {
            try PKCS12.read(key, passphrase: SecretBytes(utf8: "geheim"))
        }
        #expect(keyError?.code == .unsupported)
        #expect(
            keyError?.detail.hasPrefix(
                "the passphrase is right, but the private key \"web\", encrypted with AES-256-CBC, ") == true)
        let contents = try PKCS12.read(
            key, passphrase: SecretBytes(utf8: "geheim"), allowUnreadableKeys: true)
        #expect(contents.certificates.count == 1)
        #expect(contents.unreadableKeys.count == 1)
    }
}

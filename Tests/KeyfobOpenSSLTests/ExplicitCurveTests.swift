import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

/// EC keys with the parameters of their curve in place of its name (RFC 3279 2.3.5).
@Suite struct ExplicitCurveTests {
    static let curves: [(String, NamedCurve)] = [
        ("prime256v1", .p256), ("secp384r1", .p384), ("secp521r1", .p521), ("secp256k1", .secp256k1),
        ("brainpoolP256r1", NamedCurve(rawValue: "1.3.36.3.3.2.8.1.1.7")),
    ]

    @Test(arguments: curves.indices, ["uncompressed", "compressed"])
    func `parameters equal to those of a named curve mean that curve`(_ index: Int, _ form: String) throws {
        let (name, curve) = Self.curves[index]
        let openssl = try OpenSSLCommand()
        try openssl("ecparam -name \(name) -genkey -noout -param_enc explicit -conv_form \(form) -out sec1.pem")
        try openssl("ec -in sec1.pem -param_enc named_curve -conv_form uncompressed -out named.pem")
        try openssl("pkcs8 -topk8 -nocrypt -in sec1.pem -out pkcs8.pem")
        try openssl("pkcs8 -topk8 -in sec1.pem -outform DER -out sealed.der -passout pass:geheim")
        try openssl("req -x509 -key sec1.pem -subj /CN=explicit -days 30 -out explicit.pem")
        try openssl("pkcs12 -export -inkey sec1.pem -in explicit.pem -out both.p12 -passout pass:geheim")
        let named = try PrivateKey.load(openssl.data("named.pem"))
        #expect(named.publicKey.algorithm == .ec(curve))
        let contents = try PKCS12.read(openssl.data("both.p12"), passphrase: SecretBytes(utf8: "geheim"))
        #expect(contents.identities.count == 1)
        let keys = try ["sec1.pem", "pkcs8.pem", "sealed.der"].map { file in
            try PrivateKey.load(openssl.data(file)) { SecretBytes(utf8: "geheim") }
        }
        for key in keys + contents.keys.map(\.key) {
            #expect(key.publicKey == named.publicKey)
            #expect(key.publicKey.subjectPublicKeyInfo == named.publicKey.subjectPublicKeyInfo)
            #expect(try key.pkcs8DER().copyData() == named.pkcs8DER().copyData())
            #expect(try key.traditionalDER().copyData() == named.traditionalDER().copyData())
        }
        #expect(try openssl.certificate("explicit.pem").publicKey == named.publicKey)
        // The certificate itself stays as its issuer signed it.
        let text = String(decoding: try openssl.data("explicit.pem"), as: UTF8.self)
        #expect(try openssl.certificate("explicit.pem").pem == text)
    }

    /// Whether libcrypto reads the parameters, and finds no name for them, or does not read them.
    @Test(arguments: [true, false])
    func `a curve with other parameters is refused`(_ isRead: Bool) throws {
        let openssl = try OpenSSLCommand()
        try openssl("ecparam -name prime256v1 -genkey -noout -param_enc explicit -out explicit.pem")
        try openssl("pkcs8 -topk8 -nocrypt -in explicit.pem -outform DER -out explicit.der")
        var der = [UInt8](try openssl.data("explicit.der"))
        if isRead {
            // Another generator, as in CVE-2020-0601: the public point of the key, which is at the end.
            let generator = try #require(Data(der).firstRange(of: Self.generator))
            der.replaceSubrange(generator, with: der.suffix(Self.generator.count))
        } else {
            // An even modulus of the field.
            let modulus = try #require(Data(der).firstRange(of: [UInt8](repeating: 0xFF, count: 12)))
            der[modulus.upperBound - 1] = 0xFE
        }
        let error = #expect(throws: KeyFileError.self) { try PrivateKey.load(Data(der)) }
        #expect(error?.code == .unsupported)
        #expect(error?.detail.contains("explicit parameters") == true)
        #expect(error?.detail.contains("openssl ec -in FILE -param_enc named_curve") == true)
        let inFile = #expect(throws: PKCS12Error.self) {
            try PKCS12.read(HandmadePKCS12.file([.key(Data(der))]), passphrase: nil)
        }
        #expect(inFile?.detail.contains("explicit parameters") == true)
    }

    /// The base point of P-256 (FIPS 186-4 D.1.2.3).
    private static let generator = Data([
        0x04, 0x6B, 0x17, 0xD1, 0xF2, 0xE1, 0x2C, 0x42, 0x47, 0xF8, 0xBC, 0xE6, 0xE5, 0x63, 0xA4, 0x40, 0xF2, 0x77,
        0x03, 0x7D, 0x81, 0x2D, 0xEB, 0x33, 0xA0, 0xF4, 0xA1, 0x39, 0x45, 0xD8, 0x98, 0xC2, 0x96, 0x4F, 0xE3, 0x42,
        0xE2, 0xFE, 0x1A, 0x7F, 0x9B, 0x8E, 0xE7, 0xEB, 0x4A, 0x7C, 0x0F, 0x9E, 0x16, 0x2B, 0xCE, 0x33, 0x57, 0x6B,
        0x31, 0x5E, 0xCE, 0xCB, 0xB6, 0x40, 0x68, 0x37, 0xBF, 0x51, 0xF5,
    ])
}

import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

/// RSA keys of an unusual size, whose operations take minutes or hours.
@Suite struct LargeKeyTests {
    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        // Every element here has between 256 bytes and 64 KiB.
        [tag, 0x82, UInt8(content.count >> 8), UInt8(content.count & 0xFF)] + content
    }

    /// An RSA private key in PKCS#8 with a modulus of the given size and meaningless numbers.
    private static func key(bits: Int) -> Data {
        let number = element(2, [0] + [UInt8](repeating: 0xFF, count: bits / 8))
        let three: [UInt8] = [2, 1, 3]
        let key = element(0x30, [2, 1, 0] + number + three + number + (0..<5).flatMap { _ in three })
        let rsa: [UInt8] = [0x30, 13, 6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 13, 1, 1, 1, 5, 0]
        return Data(element(0x30, [2, 1, 0] + rsa + element(4, key)))
    }

    @Test func `a key that would take hours is refused at once, with its size`() {
        let error = #expect(throws: KeyFileError.self) { try PrivateKey.load(Self.key(bits: 16392)) }
        #expect(error?.code == .unsupported && error?.detail.contains("16392 bits") == true)
        // A key of the maximum size is checked.
        #expect(keyFileCode { _ = try PrivateKey.load(Self.key(bits: 16384)) } == .damaged)
    }

    @Test func `such a key is refused in a PKCS#12 file, intact or damaged`() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let leaf = try openssl.certificate("leaf.pem").der
        let data = HandmadePKCS12.file([.key(Self.key(bits: 66_192)), .certificate(leaf)])
        let error = #expect(throws: PKCS12Error.self) { try PKCS12.read(data, passphrase: nil) }
        #expect(error?.code == .unsupported && error?.detail.contains("66192 bits") == true)
    }
}

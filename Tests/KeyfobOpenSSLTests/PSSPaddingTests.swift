import Foundation
import KeyfobOpenSSL
import TestSupport
import Testing

struct PSSPaddingTests {
    /// Sizes around multiples of 8 bits; at 2049 the block is one byte shorter than the modulus.
    @Test(arguments: [1024, 2046, 2048, 2049, 3072], [(Digest.sha256, "sha256"), (.sha384, "sha384"), (.sha1, "sha1")])
    func `openssl accepts a raw signature over a block padded by us`(bits: Int, hash: (Digest, String)) throws {
        let directory = try TemporaryDirectory()
        let message = [UInt8]("the message".utf8)
        let block = try RSAPadding.block(toSign: [UInt8](hash.0(message)), using: .rsaPSS(hash.0), bits: bits)
        #expect(block.count == (bits + 7) / 8)
        try directory.write(message, to: "message")
        try directory.write(block, to: "block")
        // With two primes, openssl makes only even sizes.
        let primes = bits % 2 == 0 ? "" : "-pkeyopt rsa_keygen_primes:3"
        let result = try run(
            "sh",
            [
                "-euc",
                """
                openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:\(bits) \(primes) -out key.pem 2>/dev/null
                openssl rsa -in key.pem -noout -text | grep -q "(\(bits) bit"
                openssl pkey -in key.pem -pubout -out pub.pem
                openssl pkeyutl -decrypt -inkey key.pem -pkeyopt rsa_padding_mode:none -in block -out signature
                # Raw decryption is the raw signature: the private operation, and no padding.
                openssl dgst -\(hash.1) -verify pub.pem -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:digest \
                    -signature signature message
                """,
            ], directory: directory.path)
        #expect(result.stdout.contains("Verified OK"), "\(result.stderr)")
    }

    @Test func `each block has a new salt`() throws {
        let digest = [UInt8](Digest.sha256([1]))
        let blocks = try (0..<8).map { _ in try RSAPadding.block(toSign: digest, using: .rsaPSS(.sha256), bits: 2048) }
        #expect(Set(blocks).count == 8)
    }

    @Test(arguments: [(512, Digest.sha256, 32), (1024, .sha512, 64), (2048, .sha256, 31), (2048, .sha256, 0),
        (0, .sha1, 20)])
    func `a digest that does not fit the block or has a wrong length is refused`(bits: Int, hash: Digest, count: Int) {
        #expect(throws: CryptoError.self) {
            try RSAPadding.block(toSign: [UInt8](repeating: 7, count: count), using: .rsaPSS(hash), bits: bits)
        }
    }

    /// The smallest modulus for a scheme: RFC 8017 section 9.1.1 step 3 and section 9.2 step 3.
    @Test(arguments: [
        (SignatureScheme.rsaPSS(.sha512), 1034), (.rsaPSS(.sha384), 778), (.rsaPSS(.sha256), 522),
        (.rsaPSS(.sha1), 330), (.rsaPKCS1(.sha512), 745), (.rsaPKCS1(.sha256), 489), (.rsaPKCS1(.sha1), 361),
    ])
    func `a scheme fits only keys whose block has room for it`(
        scheme: SignatureScheme, smallest: Int
    ) throws {
        let hash = try #require(scheme.digest)
        let digest = [UInt8](repeating: 7, count: hash.count)
        #expect(!scheme.fits(.rsa(bits: smallest - 1)) && scheme.fits(.rsa(bits: smallest)))
        #expect(scheme.fits(.rsa(bits: 2048)) && !scheme.fits(.ec(.p256)))
        #expect(throws: CryptoError.self) {
            try RSAPadding.block(toSign: digest, using: scheme, bits: smallest - 1)
        }
        #expect(try RSAPadding.block(toSign: digest, using: scheme, bits: smallest).count == (smallest + 7) / 8)
    }
}

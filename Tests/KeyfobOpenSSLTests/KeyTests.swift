import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

@Suite("Keys")
struct KeyTests {
    static let algorithms: [(KeyAlgorithm, [SignatureScheme])] = [
        (.rsa(bits: 2048), [.rsaPKCS1(.sha256), .rsaPSS(.sha256), .rsaPSS(.sha512)]),
        (.ec(.p256), [.ecdsa(.sha256)]), (.ec(.p384), [.ecdsa(.sha384)]), (.ec(.p521), [.ecdsa(.sha512)]),
        (.ed25519, [.ed25519]),
    ]

    @Test("A generated key signs, verifies, and survives every encoding", arguments: algorithms)
    func roundTrip(_ algorithm: KeyAlgorithm, _ schemes: [SignatureScheme]) throws {
        let key = try PrivateKey.generate(algorithm)
        #expect(key.publicKey.algorithm == algorithm)
        let message = Data("message".utf8)
        for scheme in schemes {
            let signature = try key.sign(message, using: scheme)
            #expect(try key.publicKey.verify(signature, of: message, using: scheme))
            #expect(try !key.publicKey.verify(signature, of: Data("other".utf8), using: scheme))
            #expect(try !key.publicKey.verify(Data([1, 2, 3]), of: message, using: scheme))
            #expect(try !PrivateKey.generate(algorithm).publicKey.verify(signature, of: message, using: scheme))
        }
        let loaded = try [
            PrivateKey.load(key.pkcs8DER().copyData()), PrivateKey.load(key.pkcs8PEM(passphrase: nil).copyData()),
            PrivateKey.load(key.pkcs8PEM(passphrase: SecretBytes(utf8: "geheim")).copyData()) {
                SecretBytes(utf8: "geheim")
            },
        ]
        for other in loaded { #expect(other.publicKey == key.publicKey) }
        if algorithm == .ed25519 {
            #expect(cryptoCode { _ = try key.traditionalDER() } == .unsupportedKey)
        } else {
            #expect(try PrivateKey.load(key.traditionalDER().copyData()).publicKey == key.publicKey)
            #expect(try PrivateKey.load(key.traditionalPEM().copyData()).publicKey == key.publicKey)
        }
        #expect(try PublicKey(pem: Data(key.publicKey.pem.utf8)) == key.publicKey)
        #expect(key.publicKey.identifier == Digest.sha1(key.publicKey.bits))
    }

    @Test func `an EC key without its public half is written with it`() throws {
        let key = try PrivateKey.generate(.ec(.p256))
        guard case .ec(_, let scalar, let point) = try key.components() else {
            Issue.record("the key is not an EC key")
            return
        }
        // An ECPrivateKey (RFC 5915 section 3) without its public key, as tokens export it.
        let bare = Data([0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20]) + scalar.copyData()
            + Data([0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07])
        let loaded = try PrivateKey.load(bare)
        #expect(loaded.publicKey == key.publicKey)
        for written in [try loaded.pkcs8DER(), try loaded.traditionalDER()] {
            #expect(written.copyData().range(of: point) != nil)
        }
    }

    @Test("Components rebuild the public key", arguments: algorithms.map(\.0))
    func components(_ algorithm: KeyAlgorithm) throws {
        let key = try PrivateKey.generate(algorithm)
        switch try key.components() {
        case .rsa(let n, let e, let d, let p, let q, let dp, let dq, let qinv):
            #expect(try PublicKey(rsaModulus: n, publicExponent: e) == key.publicKey)
            #expect(n.count == 256 && p.count == 128 && q.count == 128 && e == Data([1, 0, 1]))
            for part in [d, dp, dq, qinv] { #expect(!part.isEmpty) }
            #expect(key.publicKey.rsaModulus == n && key.publicKey.rsaExponent == e)
        case .ec(let curve, let d, let point):
            #expect(try PublicKey(ecPoint: point, curve: curve) == key.publicKey)
            #expect(d.count == (key.publicKey.size + 7) / 8)
            #expect(point.count == 2 * d.count + 1 && key.publicKey.ecPoint == point)
        case .ed25519(let seed):
            #expect(seed.count == 32)
            #expect(try PublicKey(ed25519: key.publicKey.bits) == key.publicKey)
        }
    }

    @Test("Malformed public keys are refused at once")
    func badPublicKeys() {
        #expect(keyFileCode { _ = try PublicKey(ed25519: Data([1])) } == .damaged)
        #expect(keyFileCode { _ = try PublicKey(subjectPublicKeyInfo: Data()) } == .damaged)
        #expect(keyFileCode { _ = try PublicKey(subjectPublicKeyInfo: Data([0x30, 0])) } == .damaged)
        #expect(keyFileCode { _ = try PublicKey(pem: Data("nothing".utf8)) } == .notFound)
        #expect(keyFileCode { _ = try PublicKey(rsaModulus: Data([0]), publicExponent: Data([3])) } == .damaged)
        #expect(keyFileCode { _ = try PublicKey(rsaModulus: Data([143]), publicExponent: Data()) } == .damaged)
    }

    @Test("Points have the length and form of their curve", arguments: [NamedCurve.p256, .p384, .p521, .secp256k1])
    func pointForms(_ curve: NamedCurve) throws {
        let count = try (#require(curve.bits) + 7) / 8
        let zeros = [UInt8](repeating: 0, count: 2 * count)
        let refusals: [[UInt8]] = [
            [], [0], [5] + zeros, [6] + zeros, [4] + zeros + [0], [4] + zeros.dropLast(), [2] + zeros,
            [4] + zeros.prefix(count), [3] + zeros.prefix(count - 1),
        ]
        for refused in refusals {
            #expect(keyFileCode { _ = try PublicKey(ecPoint: Data(refused), curve: curve) } == .damaged)
        }
        let key = try PrivateKey.generate(.ec(curve)).publicKey
        let point = [UInt8](key.bits)
        let isOdd = try #require(point.last) & 1
        let compressed = try PublicKey(ecPoint: Data([2 + isOdd] + point[1...count]), curve: curve)
        try compressed.validate()
        #expect(compressed.algorithm == key.algorithm && compressed.size == key.size)
        #expect(compressed == key && compressed.identifier == key.identifier && compressed.ecPoint == key.ecPoint)
        #expect(compressed.subjectPublicKeyInfo == key.subjectPublicKeyInfo)
    }

    @Test("A point off its curve is refused by everything that uses the key")
    func offCurve() throws {
        let key = try PublicKey(ecPoint: Data([4] + [UInt8](repeating: 7, count: 64)), curve: .p256)
        // Twice, because the result of a failure is kept.
        for _ in 0..<2 {
            #expect(keyFileCode { try key.validate() } == .damaged)
            #expect(throws: OpenSSLError.self) { try key.verify(Data([1]), of: Data([1]), using: .ecdsa(.sha256)) }
            #expect(throws: OpenSSLError.self) { try PrivateKey.generate(.ec(.p256)).sharedSecret(with: key) }
        }
        #expect(keyFileCode { _ = try PublicKey(pem: Data(key.pem.utf8)) } == .damaged)
    }

    @Test("The size of an RSA key is the size of its modulus", arguments: [1024, 1031, 2048])
    func rsaSize(_ bits: Int) throws {
        let key = try PrivateKey.generate(.rsa(bits: bits)).publicKey
        #expect(key.algorithm == .rsa(bits: bits) && key.size == bits)
    }

    @Test("Many tasks can use one public key at once from the start")
    func concurrentFirstUse() async throws {
        let key = try PrivateKey.generate(.ec(.p256))
        let message = Data("message".utf8)
        let signature = try key.sign(message, using: .ecdsa(.sha256))
        for _ in 0..<20 {
            let fresh = try PublicKey(subjectPublicKeyInfo: key.publicKey.subjectPublicKeyInfo)
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<8 {
                    group.addTask { try fresh.verify(signature, of: message, using: .ecdsa(.sha256)) }
                }
                for try await isValid in group { #expect(isValid) }
            }
        }
    }

    @Test("A scheme that does not fit the key is refused")
    func wrongScheme() throws {
        let key = try PrivateKey.generate(.ec(.p256))
        #expect(cryptoCode { _ = try key.sign(Data(), using: .rsaPKCS1(.sha256)) } == .unsupportedKey)
        #expect(cryptoCode { _ = try key.publicKey.verify(Data(), of: Data(), using: .ed25519) } == .unsupportedKey)
        #expect(cryptoCode { _ = try PrivateKey.generate(.rsa(bits: 17)) } == .unsupportedKey)
    }

    static let files: [(make: String, file: String)] = [
        ("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key", "key"),
        ("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -outform DER -out key", "key"),
        ("genpkey -algorithm ED25519 -out key", "key"), ("genpkey -algorithm RSA -out key", "key"),
        ("ecparam -name prime256v1 -genkey -out key", "key"),
        ("ecparam -name prime256v1 -genkey -noout -outform DER -out key", "key"),
        ("genrsa -traditional -out key 2048", "key"),
        ("genrsa -traditional -aes256 -passout pass:pässword -out key 2048", "key"),
        ("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -aes-256-cbc -pass pass:pässword -out key", "key"),
        ("genpkey -algorithm ED25519 -aes-128-cbc -pass pass:pässword -outform PEM -out key", "key"),
    ]

    @Test("Every kind of key file that openssl makes is read", arguments: files.indices)
    func fileKinds(_ index: Int) throws {
        let openssl = try OpenSSLCommand()
        try openssl(Self.files[index].make)
        let form = Self.files[index].make.contains("outform DER") ? "-inform DER" : ""
        try openssl("pkey -in key \(form) -passin pass:pässword -pubout -out public")
        let key = try PrivateKey.load(openssl.data("key")) { SecretBytes(utf8: "pässword") }
        #expect(try PublicKey(pem: openssl.data("public")) == key.publicKey)
    }

    @Test("Old PKCS#8 encryption is read", arguments: [
        "-v1 PBE-SHA1-RC2-40", "-v1 PBE-SHA1-3DES", "-v1 PBE-MD5-DES", "-v2 des3", "-scrypt",
    ])
    func legacyPKCS8(_ option: String) throws {
        let openssl = try OpenSSLCommand()
        try openssl("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key")
        try openssl(
            "pkcs8 -topk8 -in key -out sealed \(option) -passout pass:geheim -provider default -provider legacy")
        let expected = try PrivateKey.load(openssl.data("key")).publicKey
        #expect(try PrivateKey.load(openssl.data("sealed")) { SecretBytes(utf8: "geheim") }.publicKey == expected)
        #expect(keyFileCode {
            _ = try PrivateKey.load(openssl.data("sealed")) { SecretBytes(utf8: "falsch") }
        } == .wrongPassphrase)
    }

    @Test("A wrong passphrase, a missing one and a refusal to give one have different errors", arguments: [
        "genrsa -traditional -aes256 -passout pass:geheim -out key 2048",
        "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -aes-256-cbc -pass pass:geheim -out key",
    ])
    func passphrases(_ make: String) throws {
        struct Refused: Error {}
        let openssl = try OpenSSLCommand()
        try openssl(make)
        let data = try openssl.data("key")
        #expect(keyFileCode { _ = try PrivateKey.load(data) } == .passphraseRequired)
        #expect(keyFileCode { _ = try PrivateKey.load(data) { nil } } == .passphraseRequired)
        #expect(keyFileCode { _ = try PrivateKey.load(data) { SecretBytes(utf8: "falsch") } } == .wrongPassphrase)
        #expect(keyFileCode { _ = try PrivateKey.load(data) { SecretBytes([]) } } == .wrongPassphrase)
        for text in ["geheim\0", "\0", "geheim\0x"] {
            #expect(keyFileCode { _ = try PrivateKey.load(data) { SecretBytes(utf8: text) } } == .wrongPassphrase)
        }
        #expect(throws: Refused.self) { try PrivateKey.load(data) { throw Refused() } }
    }

    @Test("An unencrypted key never asks for a passphrase, and text and CR LF around PEM do not matter")
    func tolerance() throws {
        let key = try PrivateKey.generate(.ec(.p256))
        let pem = try #require(try key.pkcs8PEM(passphrase: nil).copyString())
        let text = "Bag Attributes\r\n  name: x\r\n" + pem.replacingOccurrences(of: "\n", with: "\r\n") + "trailing\r\n"
        let loaded = try PrivateKey.load(Data(text.utf8)) {
            Issue.record("no passphrase is needed")
            return nil
        }
        #expect(loaded.publicKey == key.publicKey)
    }

    @Test("Broken key files have their own codes")
    func brokenFiles() throws {
        let key = try PrivateKey.generate(.rsa(bits: 2048))
        let der = try key.pkcs8DER().copyData()
        for count in stride(from: 1, to: der.count, by: 37) {
            #expect(keyFileCode { _ = try PrivateKey.load(der.prefix(count)) } == .damaged)
        }
        #expect(keyFileCode { _ = try PrivateKey.load(der + [0]) } == .damaged)
        #expect(keyFileCode { _ = try PrivateKey.load(Data()) } == .notFound)
        #expect(keyFileCode { _ = try PrivateKey.load(Data("-----BEGIN PRIVATE KEY-----\nMIIB\n".utf8)) } == .damaged)
        #expect(keyFileCode { _ = try PrivateKey.load(Data(key.publicKey.pem.utf8)) } == .notFound)
        #expect(keyFileCode { _ = try PrivateKey.load(Data(count: PrivateKey.maximumFileSize + 1)) } == .tooLarge)
        var changed = [UInt8](der)
        changed[80] ^= 1
        #expect(keyFileCode { _ = try PrivateKey.load(Data(changed)) } == .damaged)
        let openSSH = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n-----END OPENSSH PRIVATE KEY-----\n"
        #expect(keyFileCode { _ = try PrivateKey.load(Data(openSSH.utf8)) } == .unsupported)
    }

    @Test("openssl reads exported keys, and its signatures verify")
    func interoperability() throws {
        let openssl = try OpenSSLCommand()
        let key = try PrivateKey.generate(.rsa(bits: 2048))
        let pem = try key.pkcs8PEM(passphrase: SecretBytes(utf8: "geheim")).copyBytes()
        #expect(String(decoding: pem, as: UTF8.self).hasPrefix("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"))
        try openssl.directory.write(pem, to: "key")
        #expect(try openssl("pkey -in key -passin pass:geheim -pubout").stdout == key.publicKey.pem)
        try openssl(
            "dgst -sha256 -sign key -passin pass:geheim -sigopt rsa_padding_mode:pss "
                + "-sigopt rsa_pss_saltlen:digest -out signature",
            stdin: [1, 2, 3])
        #expect(try key.publicKey.verify(openssl.data("signature"), of: Data([1, 2, 3]), using: .rsaPSS(.sha256)))
        #expect(cryptoCode { _ = try key.pkcs8PEM(passphrase: SecretBytes([])) } == .invalidInput)
    }

    @Test("RSA-OAEP decrypts with the right key only", arguments: [Digest.sha1, .sha256])
    func oaep(_ digest: Digest) throws {
        let openssl = try OpenSSLCommand()
        let key = try PrivateKey.generate(.rsa(bits: 2048))
        let secret = try RandomBytes.secret(count: 32)
        let sealed = try key.publicKey.encryptOAEP(secret, hash: digest)
        #expect(try key.decryptOAEP(sealed, hash: digest) == secret)
        try openssl.directory.write(try key.pkcs8PEM(passphrase: nil).copyBytes(), to: "key")
        let name = digest == .sha1 ? "sha1" : "sha256"
        let opened = try openssl(
            "pkeyutl -decrypt -inkey key -pkeyopt rsa_padding_mode:oaep "
                + "-pkeyopt rsa_oaep_md:\(name) -pkeyopt rsa_mgf1_md:\(name)",
            stdin: sealed)
        #expect(opened.output == secret.copyBytes())
        #expect(cryptoCode {
            _ = try PrivateKey.generate(.rsa(bits: 2048)).decryptOAEP(sealed, hash: digest)
        } == .authenticationFailed)
        #expect(cryptoCode {
            _ = try PrivateKey.generate(.ed25519).publicKey.encryptOAEP(secret, hash: digest)
        } == .unsupportedKey)
    }

    @Test("Both sides of a key agreement get the same secret")
    func agreement() throws {
        let one = try PrivateKey.generate(.ec(.p256))
        let two = try PrivateKey.generate(.ec(.p256))
        let secret = try one.sharedSecret(with: two.publicKey)
        #expect(secret.count == 32)
        #expect(try two.sharedSecret(with: one.publicKey) == secret)
        #expect(cryptoCode {
            _ = try one.sharedSecret(with: PrivateKey.generate(.ec(.p384)).publicKey)
        } == .unsupportedKey)
    }

    @Test("ECDSA signatures convert between their forms")
    func ecdsaForms() throws {
        let key = try PrivateKey.generate(.ec(.p256))
        for _ in 0..<20 {
            let der = [UInt8](try key.sign(Data([1]), using: .ecdsa(.sha256)))
            let signature = try ECDSASignature(der: der, size: 32)
            #expect(signature.raw.count == 64)
            #expect(try ECDSASignature(raw: signature.raw).der == der)
        }
        #expect(cryptoCode { _ = try ECDSASignature(der: [0x30, 0], size: 32) } == .invalidInput)
        #expect(cryptoCode { _ = try ECDSASignature(raw: [1]) } == .invalidInput)
    }

    @Test(arguments: [
        (2, [0, 0]), (2, [0x7F, 0x80]), (64, [0x00, 0x80, 0x01]), (64, [0xFF, 0x01]), (132, [0x01, 0xFF]),
        (252, [0x7F]), (254, [0x80]), (256, [0xFF, 0x00]), (510, [0x80]), (512, [0x01, 0x80]), (1024, [0xFE]),
    ] as [(Int, [UInt8])])
    func `the DER of a signature is the shortest for any numbers`(count: Int, pattern: [UInt8]) throws {
        let raw = (0..<count).map { pattern[$0 % pattern.count] }
        let der = try ECDSASignature(raw: raw).der
        #expect(try ECDSASignature(der: der, size: count / 2).raw == raw)
        func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
            let count = content.count
            let length = count < 0x80 ? [count] : count < 0x100 ? [0x81, count] : [0x82, count >> 8, count & 0xFF]
            return [tag] + length.map { UInt8($0) } + content
        }
        func integer(_ bytes: some Sequence<UInt8>) -> [UInt8] {
            let number = Array(bytes.drop { $0 == 0 })
            return element(2, number.first.map { $0 < 0x80 } ?? false ? number : [0] + number)
        }
        #expect(der == element(0x30, integer(raw.prefix(count / 2)) + integer(raw.suffix(count / 2))))
    }

    @Test("Random bytes are refused as a key, without a crash")
    func garbage() throws {
        for round in 0..<300 {
            var bytes = try RandomBytes.bytes(count: round)
            if round % 3 == 0, round > 4 {
                let start: [UInt8] = [0x30, 0x82, UInt8((round - 4) >> 8), UInt8((round - 4) & 255)]
                bytes.replaceSubrange(0..<4, with: start)
            }
            #expect(keyFileCode { _ = try PrivateKey.load(Data(bytes)) { SecretBytes(utf8: "x") } } != nil)
            #expect(keyFileCode { _ = try PublicKey(subjectPublicKeyInfo: Data(bytes)) } != nil)
            #expect(keyFileCode { _ = try Certificate(der: Data(bytes)) } != nil)
        }
    }
}

/// The code of the `KeyFileError` that `body` throws; `nil` if it throws nothing or another error.
func keyFileCode(_ body: () throws -> Void) -> KeyFileError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? KeyFileError)?.code
    }
}

/// The code of the `CryptoError` that `body` throws; `nil` if it throws nothing or another error.
func cryptoCode(_ body: () throws -> Void) -> CryptoError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? CryptoError)?.code
    }
}

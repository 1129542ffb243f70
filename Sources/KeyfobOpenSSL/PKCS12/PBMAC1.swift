import COpenSSL
import Foundation
import KeyfobPrimitives

/// The integrity check of RFC 9579: PBMAC1 of RFC 8018 over a PKCS#12 file.
///
/// libcrypto reads it from 3.4 on; this works with any version.
struct PBMAC1 {
    private let salt: [UInt8]
    private let iterations: Int
    private let keyLength: Int
    private let pseudorandom: Digest
    private let digest: Digest
    private let expected: [UInt8]
    private let content: [UInt8]

    /// The check of a file in DER, or `nil` where it has none or one of another kind.
    ///
    /// - Throws: `PKCS12Error`; `damaged` where its parameters are broken, `unsupported` where they ask for what is
    ///   not known here, or for more iterations than is sane.
    init?(ofPFX der: [UInt8]) throws(PKCS12Error) {
        do {
            let parts = try DERReader.single(der[...], tag: DERTag.sequence).children()
            guard parts.count == 3 else { return nil }
            let mac = try parts[2].children()
            guard let information = try mac.first?.children(), information.count == 2 else { throw DERError() }
            let algorithm = try information[0].children()
            guard try algorithm.first?.objectIdentifier().rawValue == "1.2.840.113549.1.5.14" else { return nil }
            guard algorithm.count == 2, case let schemes = try algorithm[1].children(), schemes.count == 2 else {
                throw DERError()
            }
            let derivation = try schemes[0].children()
            guard derivation.count == 2, try derivation[0].objectIdentifier().rawValue == "1.2.840.113549.1.5.12" else {
                throw PKCS12Error(.unsupported, "its integrity check derives its key in an unknown way")
            }
            // RFC 9579, 5: the length of the key must be there. Without a pseudorandom function it is SHA-1's.
            let parameters = try derivation[1].children()
            guard parameters.count >= 3, parameters[0].tag == DERTag.octetString, parameters[2].tag == DERTag.integer
            else { throw DERError() }
            salt = Array(parameters[0].content)
            iterations = try parameters[1].smallInteger()
            keyLength = try parameters[2].smallInteger()
            pseudorandom = parameters.count > 3 ? try Self.digest(parameters[3]) : .sha1
            digest = try Self.digest(schemes[1])
            expected = Array(information[1].content)
            let authenticated = try parts[1].children()
            guard authenticated.count == 2, let octets = try authenticated[1].children().first,
                octets.tag == DERTag.octetString
            else { throw DERError() }
            content = Array(octets.content)
        } catch let error as PKCS12Error {
            throw error
        } catch {
            throw PKCS12Error(.damaged, "the description of its integrity check is broken")
        }
        guard (1...PasswordEncryption.maximumIterations).contains(iterations) else {
            throw PKCS12Error(.unsupported, "it asks for \(iterations) iterations")
        }
        // RFC 9579, 9: a short key would let many passphrases pass.
        guard (20...512).contains(keyLength), expected.count == digest.count else {
            throw PKCS12Error(.unsupported, "its integrity check has a key of \(keyLength) bytes")
        }
    }

    /// HMAC by its object identifier: RFC 8018, B.1.
    private static func digest(_ algorithm: DERElement) throws -> Digest {
        switch try algorithm.children().first?.objectIdentifier().rawValue {
        case "1.2.840.113549.2.7": .sha1
        case "1.2.840.113549.2.8": .sha224
        case "1.2.840.113549.2.9": .sha256
        case "1.2.840.113549.2.10": .sha384
        case "1.2.840.113549.2.11": .sha512
        default: throw PKCS12Error(.unsupported, "its integrity check uses an unknown algorithm")
        }
    }

    /// Whether the file was made, as it is, by someone who knows the passphrase. Blocks for the derivation.
    ///
    /// - Throws: `OpenSSLError`.
    func isRight(_ passphrase: SecretBytes?) throws -> Bool {
        let (count, function) = (keyLength, pseudorandom)
        let passphrase = passphrase ?? SecretBytes([])
        var isDerived = false
        let key = unsafe SecretBytes(count: count) { key in
            isDerived = unsafe function.withAlgorithm { algorithm in
                unsafe passphrase.withUnsafeBytes { secret in
                    unsafe PKCS5_PBKDF2_HMAC(
                        secret.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(secret.count), salt,
                        Int32(salt.count), Int32(iterations), algorithm, Int32(count),
                        key.baseAddress) == 1
                }
            }
        }
        guard isDerived else { throw OpenSSLError(draining: "PKCS5_PBKDF2_HMAC") }
        return constantTimeEqual(try digest.authenticationCode(of: content, key: key), expected)
    }
}

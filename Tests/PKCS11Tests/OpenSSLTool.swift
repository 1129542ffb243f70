import Foundation
import PKCS11
import TestSupport

/// The `openssl` command, as the peer in tests of keys.
struct OpenSSLTool {
    let directory = TemporaryDirectoryBox()

    /// Returns whether OpenSSL accepts `signature` over `data` for the public key.
    func verifies(_ signature: [UInt8], of data: [UInt8], publicKeyDER: [UInt8], options: [String]) throws -> Bool {
        let files = try directory.directory()
        let key = try writePEM(publicKeyDER, to: "public.pem")
        let result = try run("openssl", ["dgst", "-verify", key, "-signature", try files.write(signature, to: "sig")]
            + options + [try files.write(data, to: "data")])
        return result.status == 0 && result.stdout.contains("Verified OK")
    }

    /// Runs `openssl`; a status other than 0 is an error.
    func output(_ arguments: [String]) throws -> [UInt8] {
        let result = try run("openssl", arguments)
        guard result.status == 0 else {
            throw RunError.notStarted(executable: "openssl \(arguments[0])", reason: result.stderr)
        }
        return result.output
    }

    /// Writes a SubjectPublicKeyInfo as PEM and returns its path.
    func writePEM(_ der: [UInt8], to name: String) throws -> String {
        let body = Data(der).base64EncodedString(options: .lineLength64Characters)
        return try directory.directory().write(
            Array("-----BEGIN PUBLIC KEY-----\n\(body)\n-----END PUBLIC KEY-----\n".utf8), to: name)
    }

    /// Returns the path of a file of that name.
    func file(_ name: String) throws -> String { try directory.directory().file(name) }
}

/// A temporary directory that is created on first use.
final class TemporaryDirectoryBox {
    private var made: TemporaryDirectory?

    func directory() throws -> TemporaryDirectory {
        if let made { return made }
        let new = try TemporaryDirectory()
        made = new
        return new
    }
}

/// The part of DER that public keys and ECDSA signatures need.
enum DER {
    static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        let length: [UInt8] =
            count < 0x80 ? [UInt8(count)]
            : count < 0x100 ? [0x81, UInt8(count)] : [0x82, UInt8(count >> 8), UInt8(count & 0xff)]
        return [tag] + length + content
    }

    static func integer(_ magnitude: [UInt8]) -> [UInt8] {
        let trimmed = Array(magnitude.drop { $0 == 0 })
        return element(0x02, (trimmed.first.map { $0 >= 0x80 } ?? true ? [0] : []) + trimmed)
    }

    static func sequence(_ elements: [UInt8]...) -> [UInt8] { element(0x30, elements.flatMap { $0 }) }
    static func bitString(_ content: [UInt8]) -> [UInt8] { element(0x03, [0] + content) }

    static func rsaPublicKey(modulus: [UInt8], exponent: [UInt8]) -> [UInt8] {
        let identifier: [UInt8] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00]
        return sequence(element(0x30, identifier), bitString(sequence(integer(modulus), integer(exponent))))
    }

    static func ecPublicKey(_ point: ECPoint) -> [UInt8] {
        if point.curve == .ed25519 {
            return sequence(element(0x30, point.curve.parametersDER), bitString(point.rawBytes))
        }
        let identifier: [UInt8] = [0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01]
        return sequence(element(0x30, identifier + point.curve.parametersDER), bitString(point.rawBytes))
    }

    /// Converts r followed by s, as tokens return them, to the form that OpenSSL reads.
    static func ecdsaSignature(_ raw: [UInt8]) -> [UInt8] {
        sequence(integer(Array(raw.prefix(raw.count / 2))), integer(Array(raw.suffix(raw.count / 2))))
    }
}

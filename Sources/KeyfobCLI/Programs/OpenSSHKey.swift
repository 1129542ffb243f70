import Foundation
import Keyfob
import KeyfobOpenSSL

/// Public keys in OpenSSH's format: RFC 4253 6.6, RFC 5656 3.1, RFC 8709 4.
enum OpenSSHKey {
    /// Algorithm, base64 and comment; `nil` for keys that OpenSSH does not support.
    static func line(_ key: PublicKey, comment: String) -> String? {
        guard let (name, blob) = blob(of: key) else { return nil }
        let comment = comment.filter { !$0.isNewline }
        return "\(name) \(blob.base64EncodedString())" + (comment.isEmpty ? "" : " \(comment)")
    }

    private static func blob(of key: PublicKey) -> (name: String, Data)? {
        switch key.algorithm {
        case .rsa:
            guard let modulus = key.rsaModulus, let exponent = key.rsaExponent else { return nil }
            return ("ssh-rsa", string("ssh-rsa") + number(exponent) + number(modulus))
        case .ec(let curve):
            let names: [NamedCurve: String] = [.p256: "nistp256", .p384: "nistp384", .p521: "nistp521"]
            guard let curveName = names[curve], let point = key.ecPoint else { return nil }
            let name = "ecdsa-sha2-" + curveName
            return (name, string(name) + string(curveName) + string(point))
        case .ed25519: return ("ssh-ed25519", string("ssh-ed25519") + string(key.bits))
        case .other: return nil
        }
    }

    /// A string of RFC 4251 5: four bytes of length, then the bytes.
    private static func string(_ bytes: some Collection<UInt8>) -> Data {
        let count = UInt32(truncatingIfNeeded: bytes.count)
        return Data([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }) + Data(bytes)
    }

    private static func string(_ text: String) -> Data { string(Array(text.utf8)) }

    /// A positive number of RFC 4251 5: a zero byte precedes a first byte with its high bit set.
    private static func number(_ bytes: Data) -> Data {
        string((bytes.first ?? 0) & 0x80 == 0 ? bytes : Data([0]) + bytes)
    }
}

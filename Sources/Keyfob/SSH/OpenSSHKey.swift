import Foundation
package import KeyfobOpenSSL

/// Public keys in OpenSSH's format: RFC 4253 6.6, RFC 5656 3.1, RFC 8709 4.
package enum OpenSSHKey {
    /// Algorithm, base64 and comment; `nil` for keys that OpenSSH does not support.
    package static func line(_ key: PublicKey, comment: String) -> String? {
        guard let (name, blob) = named(key) else { return nil }
        let comment = comment.filter { !$0.isNewline }
        return "\(name) \(Data(blob).base64EncodedString())" + (comment.isEmpty ? "" : " \(comment)")
    }

    /// The key in the form that the protocol sends; `nil` for keys that OpenSSH does not support.
    package static func blob(of key: PublicKey) -> [UInt8]? { named(key)?.blob }

    /// The name of a curve in the protocol; `nil` for curves that OpenSSH does not support.
    static func curveName(_ curve: NamedCurve) -> String? {
        let names: [NamedCurve: String] = [.p256: "nistp256", .p384: "nistp384", .p521: "nistp521"]
        return names[curve]
    }

    /// The fingerprint of a blob as OpenSSH prints it.
    package static func fingerprint(ofBlob blob: [UInt8]) -> String {
        "SHA256:" + Digest.sha256(blob).base64EncodedString().prefix { $0 != "=" }
    }

    private static func named(_ key: PublicKey) -> (name: String, blob: [UInt8])? {
        var writer = SSHWriter()
        let name: String
        switch key.algorithm {
        case .rsa:
            guard let modulus = key.rsaModulus, let exponent = key.rsaExponent else { return nil }
            name = "ssh-rsa"
            writer.append(string: name.utf8)
            writer.append(positive: exponent)
            writer.append(positive: modulus)
        case .ec(let curve):
            guard let curveName = curveName(curve), let point = key.ecPoint else { return nil }
            name = "ecdsa-sha2-" + curveName
            writer.append(string: name.utf8)
            writer.append(string: curveName.utf8)
            writer.append(string: point)
        case .ed25519:
            name = "ssh-ed25519"
            writer.append(string: name.utf8)
            writer.append(string: key.bits)
        case .other: return nil
        }
        return (name, writer.bytes)
    }
}

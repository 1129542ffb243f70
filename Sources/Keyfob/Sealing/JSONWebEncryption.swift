import Foundation

/// A row's secret as a JWE in the flattened or general JSON serialisation of RFC 7516 section 7.2.
///
/// The payload is the padded secret (see ``SecretPadding``): the secret, zero bytes, and four bytes of length.
struct JSONWebEncryption {
    /// One recipient: the wrapping key's name and suite, and the wrapped key.
    struct RecipientMembers {
        let keyID: String
        let suite: any WrapSuite
        let encryptedKey: [UInt8]
    }

    let secret: SealedBytes
    let additionalData: AdditionalData
    let recipients: [RecipientMembers]

    /// The JSON text.
    var serialized: String {
        let members = recipients.map { recipient -> String in
            let (extra, encryptedKey) = recipient.suite.members(of: recipient.encryptedKey)
            let header = [("alg", recipient.suite.name), ("kid", recipient.keyID)] + extra
            let fields = header.map { "\(Self.quote($0.0)):\(Self.quote($0.1))" }.joined(separator: ",")
            return "\"header\":{\(fields)},\"encrypted_key\":\(Self.quote(Base64URL.encode(encryptedKey)))"
        }
        let common = """
            "protected":"\(additionalData.protectedHeader)",\
            "iv":"\(Base64URL.encode(secret.initializationVector))",\
            "ciphertext":"\(Base64URL.encode(secret.ciphertext))",\
            "tag":"\(Base64URL.encode(secret.tag))"
            """
        if members.count == 1 { return "{\(members[0]),\(common)}" }
        return "{\"recipients\":[\(members.map { "{\($0)}" }.joined(separator: ","))],\(common)}"
    }

    /// Returns a JSON string.
    ///
    /// Keyfob's own key ids need no escaping, but a vault file may come from anywhere.
    private static func quote(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case _ where scalar.value < 0x20: result += String(format: "\\u%04x", scalar.value)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}

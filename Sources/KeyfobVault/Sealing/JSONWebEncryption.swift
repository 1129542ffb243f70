import Foundation

/// A row's secret as a JWE in the flattened or general JSON serialisation of RFC 7516 section 7.2.
///
/// The payload is the padded secret (see ``SecretPadding``): the secret, zero bytes, and four bytes of length.
package struct JSONWebEncryption {
    /// One recipient: its header parameters, among them `alg` and `kid`, and the wrapped key.
    package struct RecipientMembers {
        package let header: [(name: String, value: JOSEHeaderValue)]
        package let encryptedKey: [UInt8]

        package init(header: [(name: String, value: JOSEHeaderValue)], encryptedKey: [UInt8]) {
            self.header = header
            self.encryptedKey = encryptedKey
        }
    }

    package let secret: SealedBytes
    package let additionalData: AdditionalData
    package let recipients: [RecipientMembers]

    package init(secret: SealedBytes, additionalData: AdditionalData, recipients: [RecipientMembers]) {
        self.secret = secret
        self.additionalData = additionalData
        self.recipients = recipients
    }

    /// The JSON text.
    package var serialized: String {
        let members = recipients.map { recipient -> String in
            let fields = recipient.header.map { "\(Self.quote($0.name)):\(Self.serialized($0.value))" }
            let encryptedKey = Base64URL.encode(recipient.encryptedKey)
            return "\"header\":{\(fields.joined(separator: ","))},\"encrypted_key\":\(Self.quote(encryptedKey))"
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

    private static func serialized(_ value: JOSEHeaderValue) -> String {
        switch value {
        case .string(let text): quote(text)
        case .object(let members):
            "{\(members.map { "\(quote($0.name)):\(quote($0.value))" }.joined(separator: ","))}"
        }
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

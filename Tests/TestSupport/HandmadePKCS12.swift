public import Foundation

/// PKCS#12 files (RFC 7292) that no available program creates: without a MAC, and with any parts in any number.
public enum HandmadePKCS12 {
    /// A part of the file: a "bag".
    public enum Bag {
        /// A private key in PKCS#8.
        case key(Data, name: String? = nil)
        /// An encrypted private key in PKCS#8.
        case sealedKey(Data, name: String? = nil)
        /// A certificate in DER.
        case certificate(Data, name: String? = nil)
    }

    /// Content under PBES2 (RFC 8018): AES-256-CBC, with a key that one iteration of PBKDF2 with HMAC-SHA-256 derives
    /// with `salt`.
    public struct Sealed: Sendable {
        private let algorithm: [UInt8]
        private let ciphertext: [UInt8]

        /// - Parameters:
        ///   - ciphertext: The content, encrypted with AES-256-CBC.
        ///   - isMisnamed: Whether the file names AES-128, with a key of 32 bytes, as NSS 3.29 did.
        public init(ciphertext: Data, initializationVector: [UInt8], isMisnamed: Bool = false) {
            let length: [UInt8] = isMisnamed ? [2, 1, 32] : []
            let derivation = sequence([pbkdf2, sequence([element(0x04, [salt]), [2, 1, 1], length, hmacSHA256])])
            let name = isMisnamed ? aes256CBC.dropLast() + [0x02] : aes256CBC
            let cipher = sequence([name, element(0x04, [initializationVector])])
            algorithm = sequence([pbes2, sequence([derivation, cipher])])
            self.ciphertext = [UInt8](ciphertext)
        }

        /// The content as an encrypted private key in PKCS#8.
        public var privateKey: Data { Data(sequence([algorithm, element(0x04, [ciphertext])])) }

        /// The content as an encrypted part of a file.
        fileprivate var part: [UInt8] {
            let content = sequence([data, algorithm, element(0x80, [ciphertext])])
            return sequence([encryptedData, element(0xA0, [sequence([[2, 1, 0], content])])])
        }
    }

    /// These parts as the content of a `Sealed`.
    public static func content(of bags: [Bag]) -> Data { Data(sequence(bags.map(encoded))) }

    /// A file of these parts, each of them unencrypted.
    public static func file(_ bags: [Bag]) -> Data { file(safe(bags, [])) }

    /// A file of these parts, after encrypted ones, with PBMAC1 (RFC 9579) over all of them: the value of `code`, whose
    /// key is derived with `salt` in one iteration.
    public static func file(
        _ bags: [Bag], sealed: [Sealed] = [], code: ([UInt8]) throws -> [UInt8]
    ) rethrows -> Data {
        let safe = safe(bags, sealed)
        let derivation = sequence([
            pbkdf2, sequence([element(0x04, [salt]), [2, 1, 1], [2, 1, 32], hmacSHA256]),
        ])
        let algorithm = sequence([pbmac1, sequence([derivation, hmacSHA256])])
        let digest = sequence([algorithm, element(0x04, [try code(safe)])])
        return file(safe, sequence([digest, element(0x04, [salt]), [2, 1, 1]]))
    }

    /// The salt of all derivations.
    public static let salt: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]

    private static func safe(_ bags: [Bag], _ sealed: [Sealed]) -> [UInt8] {
        let plain = sequence([data, element(0xA0, [element(0x04, [sequence(bags.map(encoded))])])])
        return sequence(sealed.map(\.part) + [plain])
    }

    private static func file(_ safe: [UInt8], _ check: [UInt8] = []) -> Data {
        Data(sequence([[2, 1, 3], sequence([data, element(0xA0, [element(0x04, [safe])])]), check]))
    }

    private static func encoded(_ bag: Bag) -> [UInt8] {
        switch bag {
        case .key(let key, let name): sequence([kind(1), element(0xA0, [[UInt8](key)]), attributes(name)])
        case .sealedKey(let key, let name): sequence([kind(2), element(0xA0, [[UInt8](key)]), attributes(name)])
        case .certificate(let certificate, let name):
            sequence([
                kind(3),
                element(0xA0, [sequence([x509, element(0xA0, [element(0x04, [[UInt8](certificate)])])])]),
                attributes(name),
            ])
        }
    }

    /// The friendly name, a BMPString.
    private static func attributes(_ name: String?) -> [UInt8] {
        guard let name else { return [] }
        let text = name.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        return element(0x31, [sequence([friendlyName, element(0x31, [element(0x1E, [text])])])])
    }

    private static func kind(_ number: UInt8) -> [UInt8] {
        [0x06, 0x0B, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x0C, 0x0A, 0x01, number]
    }

    private static let data: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]
    private static let encryptedData: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x06]
    private static let x509: [UInt8] = [0x06, 0x0A, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x16, 0x01]
    private static let friendlyName: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x14]

    private static let pbmac1: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x05, 0x0E]
    private static let pbes2: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x05, 0x0D]
    private static let aes256CBC: [UInt8] = [0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x2A]
    private static let pbkdf2: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x05, 0x0C]
    private static let hmacSHA256: [UInt8] = [
        0x30, 0x0C, 0x06, 0x08, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x02, 0x09, 0x05, 0x00,
    ]

    private static func sequence(_ parts: [[UInt8]]) -> [UInt8] { element(0x30, parts) }

    /// Encodes an element of DER.
    private static func element(_ tag: UInt8, _ parts: [[UInt8]]) -> [UInt8] {
        let content = parts.flatMap { $0 }
        guard content.count >= 0x80 else { return [tag, UInt8(content.count)] + content }
        let octets: [UInt8] = [16, 8, 0].map { UInt8(content.count >> $0 & 0xFF) }
        let length = octets.drop { $0 == 0 }
        return [tag, 0x80 | UInt8(length.count)] + length + content
    }
}

import Foundation
import KeyfobPrimitives
import Testing

@testable import Keyfob

@Suite struct SealTests {
    private let pin = SecretBytes(utf8: "correct horse")
    private let passphrase = SecretBytes(utf8: "battery staple")

    private func code(_ body: () throws -> Void) -> KeychainError.Code? {
        #expect(throws: KeychainError.self, performing: body)?.code
    }

    @Test func `a seal opens only with its passphrase, keychain and purpose`() throws {
        let seal = try PassphraseSeal(pin, under: passphrase, keychain: "A", purpose: .passphrase)
        let copy = try JSONDecoder().decode(PassphraseSeal.self, from: JSONEncoder().encode(seal))
        #expect(try copy.open(with: passphrase, keychain: "A", purpose: .passphrase) == pin)
        let other = SecretBytes(utf8: "battery stapler")
        #expect(code { _ = try copy.open(with: other, keychain: "A", purpose: .passphrase) } == .passphraseIncorrect)
        #expect(
            code { _ = try copy.open(with: passphrase, keychain: "B", purpose: .passphrase) } == .passphraseIncorrect)
        #expect(code { _ = try copy.open(with: passphrase, keychain: "A", purpose: .recovery) } == .passphraseIncorrect)
    }

    @Test func `two seals of one PIN have nothing in common`() throws {
        let first = try PassphraseSeal(pin, under: passphrase, keychain: "A", purpose: .passphrase)
        let second = try PassphraseSeal(pin, under: passphrase, keychain: "A", purpose: .passphrase)
        #expect(first != second)
        let text = String(decoding: try JSONEncoder().encode(first), as: UTF8.self)
        #expect(!text.contains("correct horse"))
    }

    @Test(arguments: [
        ("n", 1 << 30), ("n", 3), ("n", 0), ("n", -1), ("n", 512), ("r", 0), ("r", -8), ("r", 1 << 40), ("p", 0),
        ("p", 1000),
    ])
    func `parameters that need too much memory are refused before the derivation`(
        row: (member: String, value: Int)
    ) throws {
        let seal = try PassphraseSeal(pin, under: passphrase, keychain: "A", purpose: .passphrase)
        var object = try #require(JSONSerialization.jsonObject(with: JSONEncoder().encode(seal)) as? [String: Any])
        object[row.member] = row.value
        let changed = try JSONDecoder().decode(
            PassphraseSeal.self, from: JSONSerialization.data(withJSONObject: object))
        #expect(code { _ = try changed.open(with: passphrase, keychain: "A", purpose: .passphrase) } == .fileDamaged)
    }

    @Test(arguments: ["salt", "nonce", "ciphertext", "tag"])
    func `a seal with any changed byte does not open`(member: String) throws {
        let seal = try PassphraseSeal(pin, under: passphrase, keychain: "A", purpose: .passphrase)
        var object = try #require(JSONSerialization.jsonObject(with: JSONEncoder().encode(seal)) as? [String: Any])
        var bytes = try #require((object[member] as? String).flatMap { Data(base64Encoded: $0) })
        bytes[3] ^= 1
        object[member] = bytes.base64EncodedString()
        let changed = try JSONDecoder().decode(
            PassphraseSeal.self, from: JSONSerialization.data(withJSONObject: object))
        #expect(
            code { _ = try changed.open(with: passphrase, keychain: "A", purpose: .passphrase) }
                == .passphraseIncorrect)
    }

    @Test func `a recovery code survives paper and careless typing`() throws {
        for _ in 0..<200 {
            let code = try RecoveryCode()
            let text = try #require(code.text.copyString())
            #expect(text.count == 41)
            #expect(try RecoveryCode(parsing: SecretBytes(utf8: text)) == code)
            let sloppy = text.lowercased().replacingOccurrences(of: "-", with: " ")
                .replacingOccurrences(of: "0", with: "O").replacingOccurrences(of: "1", with: "l")
            #expect(try RecoveryCode(parsing: SecretBytes(utf8: " \(sloppy)\n")) == code)
        }
    }

    @Test func `one wrong symbol and two exchanged ones are detected`() throws {
        let symbols = Array(try #require(RecoveryCode().text.copyString()).filter { $0 != "-" })
        for index in symbols.indices.dropLast() {
            var wrong = symbols
            wrong[index] = symbols[index] == "7" ? "8" : "7"
            #expect(code { _ = try RecoveryCode(parsing: SecretBytes(utf8: String(wrong))) } == .invalidArgument)
            guard index + 1 < symbols.count - 1, symbols[index] != symbols[index + 1] else { continue }
            var exchanged = symbols
            exchanged.swapAt(index, index + 1)
            #expect(code { _ = try RecoveryCode(parsing: SecretBytes(utf8: String(exchanged))) } == .invalidArgument)
        }
        #expect(code { _ = try RecoveryCode(parsing: SecretBytes(utf8: "ABCD")) } == .invalidArgument)
        #expect(code { _ = try RecoveryCode(parsing: SecretBytes(utf8: "")) } == .invalidArgument)
    }
}

import Foundation
import KeyfobOpenSSL
import KeyfobPrimitives
import Testing

@testable import Keyfob

/// The code with which the metadata key authenticates a wrapped row key.
@Suite struct RecipientCodeTests {
    /// The parts that a code binds.
    struct Parts: Sendable, CustomTestStringConvertible {
        var testDescription = "unchanged"
        var vault = Data(repeating: 1, count: 16)
        var row = Data(repeating: 2, count: 16)
        var itemClass = ItemClass.genericPassword
        var version: Int64 = 1
        var suite = "RSA-OAEP"
        var keyID = "name"
        var objectID = Data([3, 4])
        var publicKey: Data? = Data([5, 6])
        var encryptedKey: [UInt8] = [7, 8]

        func changed(_ what: String, _ change: (inout Parts) -> Void) -> Parts {
            var parts = self
            parts.testDescription = what
            change(&parts)
            return parts
        }

        var wrappingKey: WrappingKeyRow {
            WrappingKeyRow(
                id: 1, keyID: keyID, suite: suite, objectID: objectID, encryptedMetadataKey: [], publicKey: publicKey,
                created: 0, isActive: true)
        }

        var additionalData: AdditionalData {
            AdditionalData(.secret, vault: vault, row: row, itemClass: itemClass, version: version)
        }
    }

    static let others: [Parts] = {
        let parts = Parts()
        return [
            parts.changed("another vault") { $0.vault[15] = 0 },
            parts.changed("another row") { $0.row[0] = 0 },
            parts.changed("another class") { $0.itemClass = .internetPassword },
            parts.changed("another version") { $0.version = 2 },
            parts.changed("another suite") { $0.suite = "RSA-OAEP-256" },
            parts.changed("another name") { $0.keyID = "Name" },
            parts.changed("another CKA_ID") { $0.objectID[0] = 4 },
            parts.changed("another public key") { $0.publicKey = Data([5, 7]) },
            parts.changed("no public key") { $0.publicKey = nil },
            parts.changed("another wrapped key") { $0.encryptedKey[1] = 9 },
            parts.changed("a shorter wrapped key") { $0.encryptedKey = [7] },
            parts.changed("a byte in the next part") { ($0.objectID, $0.publicKey) = (Data([3]), Data([4, 5, 6])) },
        ]
    }()

    @Test(arguments: others)
    func `a code is valid only for what it was made for`(other: Parts) throws {
        let parts = Parts()
        let metadataKey = try RandomBytes.secret(count: 32)
        let keys = try VaultKeys(metadataKey: metadataKey, vault: parts.vault)
        var recipient = try keys.recipient(parts.encryptedKey, of: parts.wrappingKey, parts.additionalData)
        #expect(try keys.authenticates(recipient, of: parts.wrappingKey, parts.additionalData))
        recipient.encryptedKey = other.encryptedKey
        #expect(try !keys.authenticates(recipient, of: other.wrappingKey, other.additionalData))
    }

    @Test func `a code of another metadata key or of another length is not valid`() throws {
        let parts = Parts()
        let keys = try VaultKeys(metadataKey: RandomBytes.secret(count: 32), vault: parts.vault)
        let others = try VaultKeys(metadataKey: RandomBytes.secret(count: 32), vault: parts.vault)
        let foreign = try others.recipient(parts.encryptedKey, of: parts.wrappingKey, parts.additionalData)
        #expect(try !keys.authenticates(foreign, of: parts.wrappingKey, parts.additionalData))
        let own = try keys.recipient(parts.encryptedKey, of: parts.wrappingKey, parts.additionalData).code
        for code in [[], Array(own.dropLast()), own + [0]] {
            let recipient = Recipient(wrappingKey: 1, encryptedKey: parts.encryptedKey, code: code)
            #expect(try !keys.authenticates(recipient, of: parts.wrappingKey, parts.additionalData))
        }
    }
}

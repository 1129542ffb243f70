import Foundation
import KeyfobPrimitives
import KeyfobTesting
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    @Suite struct ReferenceTests {
        private static let token = PersistentReference(
            itemClass: .key, identity: Data((0..<16).map { UInt8($0) }),
            locator: .init(serialNumber: "abc", objectID: Data([1, 2]), hint: 0x0102_0304_0506_0708))

        @Test func `a reference equals the one read from its bytes, including its locator`() throws {
            let parsed = try PersistentReference(Self.token.data)
            #expect(parsed == Self.token && parsed.locator == Self.token.locator)
            let row = PersistentReference(itemClass: .genericPassword, identity: Self.token.identity)
            #expect(row.data.count == 20 && row.data.prefix(4) == Data("genp".utf8))
            #expect(try PersistentReference(row.data) == row)
            #expect(row != Self.token)
        }

        private static let malformed: [(what: String, bytes: Data)] = {
            let bytes = token.data
            let blank = Data(count: 16)
            func replacing(_ index: Int, _ byte: UInt8) -> Data {
                var changed = bytes
                changed[index] = byte
                return changed
            }
            return [
                ("empty", Data()), ("a class alone", Data("genp".utf8)), ("no such class", Data("gemp".utf8) + blank),
                ("an identity of 15 bytes", Data("genp".utf8) + blank.dropFirst()),
                ("a password with a locator", Data("genp".utf8) + bytes.dropFirst(4)),
                ("version 0", replacing(20, 0)), ("version 2", replacing(20, 2)), ("a byte too many", bytes + [0]),
                ("a serial number that is not text", replacing(22, 0xFF)),
                ("a serial number too long", replacing(21, 0xFF)),
                ("an id too long", replacing(25, 3)), ("a class that is not text", Data([0xFF, 0xFE, 0xFD, 0xFC]) + blank),
            ]
        }()

        @Test(arguments: malformed)
        func `malformed references are refused`(row: (what: String, bytes: Data)) {
            #expect(code { _ = try PersistentReference(row.bytes) } == .invalidReference, "\(row.what)")
        }

        @Test func `every truncated reference is refused, except at the start of the locator`() {
            for count in 0..<Self.token.data.count where count != 20 {
                #expect(code { _ = try PersistentReference(Self.token.data.prefix(count)) } == .invalidReference)
            }
        }

        @Test func `100,000 random inputs are refused or read without loss`() {
            var generator = SystemRandomNumberGenerator()
            var accepted = 0
            for round in 0..<100_000 {
                var bytes = round % 2 == 0
                    ? [UInt8](Self.token.data)
                    : (0..<Int.random(in: 0...64, using: &generator)).map { _ in .random(in: 0...255, using: &generator) }
                if round % 2 == 0 {
                    for _ in 0..<Int.random(in: 1...3, using: &generator) {
                        bytes[.random(in: bytes.indices, using: &generator)] = .random(in: 0...255, using: &generator)
                    }
                    bytes = Array(bytes.prefix(.random(in: 0...bytes.count, using: &generator)))
                }
                // Slices too, because the indices of a caller's data need not begin at 0.
                let data = (Data([0]) + bytes).dropFirst()
                do throws(KeychainError) {
                    let parsed = try PersistentReference(data)
                    #expect(parsed.data == Data(bytes))
                    accepted += 1
                } catch {
                    #expect(error.code == .invalidReference)
                }
            }
            #expect(accepted > 0)
        }

        @Test func `a well-formed reference to a missing item is not found in any class`() throws {
            let test = try TestKeychain()
            try test.keychain.add(GenericPassword(service: "s"), secret: nil)
            for itemClass in ItemClass.allCases {
                let reference = PersistentReference(itemClass: itemClass, identity: Data(count: 16))
                #expect(code { _ = try test.keychain.item(reference) } == .itemNotFound)
                #expect(code { try test.keychain.delete(Criteria(reference)) } == .itemNotFound)
                #expect(code { try test.keychain.update(Criteria(reference), [.label: "x"]) } == .itemNotFound)
            }
            // The identity of an item does not identify an item of another class.
            let item = try #require(test.keychain.find(.genericPasswords).first?.reference)
            let retagged = PersistentReference(itemClass: .internetPassword, identity: item.identity)
            #expect(code { _ = try test.keychain.item(retagged) } == .itemNotFound)
            #expect(code { try test.keychain.delete(Criteria(retagged)) } == .itemNotFound)
            #expect(try test.keychain.find(.genericPasswords).count == 1)
        }

        @Test(.needs(.importsECKeys, .makesECKeys, .seesOtherPrograms, .storesCertificates)) func `references of objects stay valid after relabelling, for other processes and beside new objects`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let certificate = try Certificate(der: TestCertificate().der)
            let stored = try keychain.add(CertificateItem(certificate))
            let key = try keychain.keys.generate(.p256, label: "key")
            let references = try [stored.reference, key.reference].map { try #require($0) }
            _ = try keychain.keys.generate(.p256, label: "neighbour")
            try keychain.update(Criteria(references[1]), [.label: "renamed", .applicationTag: "tag"])
            try test.tool(["--type", "cert", "--id", certificate.publicKey.identifier.hexadecimal, "--set-id", certificate.publicKey.identifier.hexadecimal])
            let other = try test.reopen()
            for reference in references {
                let again = try PersistentReference(reference.data)
                #expect(try other.item(again).reference == reference)
            }
            #expect(try other.item(references[1]).attributes[.label] == "renamed")
            try other.delete(Criteria(references[1]))
            #expect(code { _ = try keychain.item(references[1]) } == .itemNotFound)
            #expect(try keychain.find(.keys).compactMap(\.label) == ["neighbour", "neighbour"])
        }
    }
}

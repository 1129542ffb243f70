import Foundation
import KeyfobPrimitives
import KeyfobTesting
import KeyfobOpenSSL
import Testing

@testable import Keyfob

extension EveryToken {
    @Suite struct SecretTests {
        private static let names = [
            "plain", "\u{E9}", "e\u{301}", "nul\0inside", "nul\0", "\u{202E}right to left", "👩‍👩‍👧", "", " ", "%'\"; --",
            "ÅΩ\u{212B}",
            String(repeating: "long", count: 5000),
        ]

        @Test func `names of any bytes make separate items`() throws {
            let test = try TestKeychain()
            for name in Self.names {
                try test.keychain.add(GenericPassword(service: name, account: name), secret: SecretBytes(name))
            }
            let other = try test.reopen()
            #expect(try other.find(.genericPasswords).map(\.service.utf8.count) == Self.names.map(\.utf8.count))
            for name in Self.names {
                let found = try other.find(.genericPassword(service: name, account: name))
                #expect(found.count == 1)
                #expect(found.first.map { Array($0.service.utf8) } == Array(name.utf8))
                #expect(try other.secret(of: #require(found.first)) == SecretBytes(name))
            }
        }

        @Test(arguments: [0, 1, 59, 60, 61, 1019, 1020, 1021, 4096, 20 << 20])
        func `a secret of any size and any bytes is returned unchanged`(count: Int) throws {
            let test = try TestKeychain()
            let secret = try RandomBytes.secret(count: count)
            let added = try test.keychain.add(GenericPassword(service: "s"), secret: secret)
            #expect(try test.reopen().secret(of: added) == secret)
        }

        @Test func `no secret and the empty secret differ, and 32 MiB is the limit`() throws {
            let test = try TestKeychain()
            let none = try test.keychain.add(GenericPassword(service: "none"), secret: nil)
            let empty = try test.keychain.add(GenericPassword(service: "empty"), secret: SecretBytes([]))
            #expect(try test.keychain.secret(of: none) == nil)
            #expect(try test.keychain.secret(of: empty)?.isEmpty == true)
            #expect(!none.item.hasSecret && empty.item.hasSecret)
            let large = SecretBytes([UInt8](repeating: 1, count: (32 << 20) + 1))
            #expect(code { try test.keychain.add(GenericPassword(service: "large"), secret: large) } == .dataTooLarge)
            #expect(try test.keychain.find(.genericPassword(service: "large")).isEmpty)
        }
    }
}

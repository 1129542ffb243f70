import Foundation
import Testing

@testable import Keyfob

@Suite struct AttributeTests {
    private static let sample: ItemAttributes = [
        .account: "a", .port: 443, .generic: .data(Data([0, 255])),
        .creationDate: .date(Date(timeIntervalSinceReferenceDate: 0.5)),
    ]

    @Test func `encoded attributes decode to the same values, in byte order of the names`() throws {
        let decoded = try #require(ItemAttributes(encoded: Self.sample.encoded))
        #expect(decoded == Self.sample)
        #expect(decoded.names.map(\.rawValue) == ["acct", "cdat", "gena", "port"])
        #expect(decoded[.port] == 443 && decoded[.account] == "a" && decoded[.label] == nil)
        var changed = decoded
        changed[.account] = "longer than before"
        changed[.port] = nil
        changed[.label] = ""
        #expect(changed.names.map(\.rawValue) == ["acct", "cdat", "gena", "labl"])
        #expect(ItemAttributes(encoded: changed.encoded) == changed)
        #expect(!"\(changed)".contains("longer"))
    }

    private static func entry(_ name: String, _ kind: UInt8, _ count: [UInt8], _ value: [UInt8]) -> [UInt8] {
        Array(name.utf8) + [kind] + count + value
    }

    private static let malformed: [(what: String, bytes: [UInt8])] = [
        ("a length past the end", entry("acct", 2, [0, 0, 0, 2], [1])),
        ("a length of 4 GiB", entry("acct", 2, [255, 255, 255, 255], [1])),
        ("no kind 0", entry("acct", 0, [0, 0, 0, 0], [])),
        ("no kind 5", entry("acct", 5, [0, 0, 0, 8], Array(repeating: 0, count: 8))),
        ("a number of 7 bytes", entry("acct", 3, [0, 0, 0, 7], Array(repeating: 0, count: 7))),
        ("a date of 9 bytes", entry("acct", 4, [0, 0, 0, 9], Array(repeating: 0, count: 9))),
        ("text that is not UTF-8", entry("acct", 1, [0, 0, 0, 1], [0xFF])),
        ("text with a surrogate", entry("acct", 1, [0, 0, 0, 3], [0xED, 0xA0, 0x80])),
        ("a name twice", entry("acct", 2, [0, 0, 0, 0], []) + entry("acct", 2, [0, 0, 0, 0], [])),
        ("names out of order", entry("svce", 2, [0, 0, 0, 0], []) + entry("acct", 2, [0, 0, 0, 0], [])),
        ("bytes after the last entry", entry("acct", 2, [0, 0, 0, 0], []) + [0]),
        ("a name that is not ASCII", [0xC3, 0xA9, 0x61, 0x61, 2, 0, 0, 0, 0]),
        ("half a head", Array("acct".utf8) + [1, 0, 0]),
    ]

    @Test(arguments: malformed)
    func `malformed encodings are refused`(row: (what: String, bytes: [UInt8])) {
        #expect(ItemAttributes(encoded: row.bytes) == nil, "\(row.what)")
    }

    @Test func `every truncated encoding is refused or consists of whole entries`() {
        let bytes = Self.sample.encoded
        for count in 0..<bytes.count {
            guard let parsed = ItemAttributes(encoded: Array(bytes.prefix(count))) else { continue }
            #expect(parsed.allSatisfy { Self.sample[$0.name] == $0.value })
        }
    }

    @Test func `random bytes never crash the parser`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<50_000 {
            var bytes = Self.sample.encoded
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                bytes[Int.random(in: bytes.indices, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            guard let parsed = ItemAttributes(encoded: bytes) else { continue }
            for (name, value) in parsed { #expect(parsed[name]?.matches(value) == true) }
        }
    }

    struct Coercion: Sendable {
        let itemClass: ItemClass
        let name: AttributeName
        let value: AttributeValue
        let result: AttributeValue?
        init(_ itemClass: ItemClass, _ name: AttributeName, _ value: AttributeValue, _ result: AttributeValue?) {
            (self.itemClass, self.name, self.value, self.result) = (itemClass, name, value, result)
        }
    }

    private static let moment = AttributeValue.date(Date(timeIntervalSinceReferenceDate: 1))

    private static let coercions = [
        Coercion(.genericPassword, .account, "abc", "abc"),
        Coercion(.genericPassword, .account, .data(Data([0, 1])), .data(Data([0, 1]))),
        Coercion(.genericPassword, .account, 7, 7),
        Coercion(.genericPassword, .account, moment, nil),
        Coercion(.certificate, .issuer, "abc", .data(Data("abc".utf8))),
        Coercion(.certificate, .issuer, 0x0102_0304, .data(Data([4, 3, 2, 1]))),
        Coercion(.certificate, .issuer, moment, nil),
        Coercion(.genericPassword, .accessGroup, .data(Data("grp".utf8)), "grp"),
        Coercion(.genericPassword, .accessGroup, .data(Data([0xFF])), nil),
        Coercion(.genericPassword, .accessGroup, 1, nil),
        Coercion(.internetPassword, .port, "443", 443),
        Coercion(.internetPassword, .port, "-1", -1),
        Coercion(.internetPassword, .creator, "0443", "0443"),
        Coercion(.internetPassword, .creator, "+443", "+443"),
        Coercion(.internetPassword, .port, true, 1),
        Coercion(.internetPassword, .protocol, "http", "http"),
        Coercion(.internetPassword, .port, .data(Data([1])), nil),
        Coercion(.internetPassword, .port, moment, nil),
        Coercion(.key, .startDate, moment, moment),
        Coercion(.key, .startDate, 1, nil),
        Coercion(.key, .startDate, "2001-01-01", nil),
    ]

    @Test(arguments: coercions)
    func `values are converted as Apple's keychain does`(row: Coercion) {
        var result: AttributeValue?
        let error = code { result = try ClassSchema.of(row.itemClass).coerce(row.value, for: row.name) }
        #expect(result == row.result && error == (row.result == nil ? .invalidArgument : nil))
    }

    @Test(arguments: ItemClass.allCases)
    func `an attribute that a class does not have is refused`(itemClass: ItemClass) {
        #expect(
            code { _ = try ClassSchema.of(itemClass).coerce("x", for: AttributeName(rawValue: "zzzz")) }
                == .noSuchAttribute)
    }

    @Test func `text and bytes match each other; composed and decomposed text does not`() {
        #expect(AttributeValue.string("abc").matches(.data(Data("abc".utf8))))
        #expect(!AttributeValue.string("1").matches(.number(1)))
        #expect("\u{E9}" == "e\u{301}")
        #expect(!AttributeValue.string("\u{E9}").matches(.string("e\u{301}")))
        #expect(AttributeValue.string("\u{E9}") != .string("e\u{301}"))
    }
}

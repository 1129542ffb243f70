import Foundation
import KeyfobPrimitives
import TestSupport
import Testing

@testable import Keyfob

@Suite struct ConfigurationReadingTests {
    private static func seal() throws -> PassphraseSeal {
        try PassphraseSeal(
            SecretBytes(utf8: "1234"), under: SecretBytes(utf8: "passphrase"), keychain: "k", purpose: .passphrase)
    }

    private static func configuration(
        name: String = "login", module: KeychainConfiguration.ModuleLocation = .softHSM, pinSource: String? = nil,
        sealedPIN: PassphraseSeal? = nil, recoverySeal: PassphraseSeal? = nil, unlockTimeout: Int = 28_800,
        created: TimeInterval = 1_795_271_677, in directory: URL = URL(fileURLWithPath: "/k/login", isDirectory: true)
    ) -> KeychainConfiguration {
        KeychainConfiguration(
            directory: directory, schema: KeychainConfiguration.schema, name: name, uuid: UUID(), token: "pkcs11:token=a%20b", module: module,
            pinSource: pinSource, sealedPIN: sealedPIN,
            recoverySeal: recoverySeal, unlockTimeout: unlockTimeout, created: Date(timeIntervalSince1970: created))
    }

    private static func encoder() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys]
        return encoder
    }

    @Test func `a written configuration is read without loss`() throws {
        let sealed = try Self.seal()
        let rows = [
            Self.configuration(), Self.configuration(name: "Schl\u{FC}ssel\u{2028}bund\t\u{7}"),
            Self.configuration(module: .path("/usr/lib/a b.so")), Self.configuration(module: .registered("tpm2")),
            Self.configuration(pinSource: "file:/tmp/x"), Self.configuration(sealedPIN: sealed),
            Self.configuration(sealedPIN: sealed, recoverySeal: sealed, unlockTimeout: 0),
            // Leap days, a century year without one, the epoch, and the second before it.
            Self.configuration(created: 951_782_400), Self.configuration(created: 1_709_164_799),
            Self.configuration(created: 4_107_542_400), Self.configuration(created: 0), Self.configuration(created: -1),
        ]
        for row in rows {
            for formatting in [JSONEncoder.OutputFormatting.sortedKeys, [.prettyPrinted, .withoutEscapingSlashes]] {
                let encoder = Self.encoder()
                encoder.outputFormatting = formatting
                let text = try encoder.encode(row)
                let read = try #require(KeychainConfiguration(json: [UInt8](text), in: row.directory))
                // Compared in encoded form, which contains every member.
                #expect(try Self.encoder().encode(read) == Self.encoder().encode(row))
            }
        }
    }

    @Test(arguments: [316_537_545_600, -99_999_999_999] as [TimeInterval])
    func `a keychain made with a clock beyond year 9999 or before year 1 can be read`(created: TimeInterval) throws {
        let directory = try TemporaryDirectory()
        let keychains = Keychains(Directories(root: directory.url("keyfob")))
        let place = keychains.directories.keychains.appendingPathComponent("login", isDirectory: true)
        try PrivateFile.createDirectory(place)
        try keychains.write(Self.configuration(created: created, in: place))
        #expect(try keychains.configuration("login").name == "login")
    }

    @Test(arguments: ["schema", "name", "uuid", "token", "module", "unlockTimeout", "created"])
    func `a configuration without a member, or with a value of another type, is refused`(member: String) throws {
        let text = try Self.encoder().encode(Self.configuration())
        var members = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
        let place = URL(fileURLWithPath: "/k/login", isDirectory: true)
        members["of a later version"] = [1, 2.5, true]
        #expect(KeychainConfiguration(json: [UInt8](try JSONSerialization.data(withJSONObject: members)), in: place) != nil)
        members[member] = ["x"]
        #expect(KeychainConfiguration(json: [UInt8](try JSONSerialization.data(withJSONObject: members)), in: place) == nil)
        members[member] = nil
        #expect(KeychainConfiguration(json: [UInt8](try JSONSerialization.data(withJSONObject: members)), in: place) == nil)
    }

    @Test(arguments: [
        #"{"a":1"#, #"{"a":1}}"#, #"{"a" 1}"#, #"{"a":01}"#, #"{"a":1,}"#, #"{"a":1,"a":2}"#, #"[1 2]"#, "", "tru", "-",
        "1.", "1e", #""\x""#, #""\ud800""#, #""\ud800\u0041""#, #""\udc00""#, "\"\n\"", #""abc"#, "nullx", "{,}",
        String(repeating: "[", count: 100) + String(repeating: "]", count: 100),
    ])
    func `invalid JSON is refused`(text: String) {
        #expect(JSONText(Array(text.utf8)) == nil)
    }

    @Test(arguments: [
        (#" {"a":[1,-2,3.5,1e3,true,false,null,"x"]} "#,
            JSONText.object([
                .init(
                    name: "a",
                    value: .array([
                        .integer(1), .integer(-2), .number("3.5"), .number("1e3"), .boolean(true), .boolean(false),
                        .null,
                        .string("x"),
                    ]))
            ])),
        (#""\ud83d\ude00\u00e4\/\b\f\n\r\t\"\\""#, .string("\u{1F600}\u{E4}/\u{8}\u{C}\n\r\t\"\\")),
        ("0", .integer(0)), ("92233720368547758080", .number("92233720368547758080")), ("{}", .object([])),
        ("[ ]", .array([])),
    ])
    func `valid JSON is read`(text: String, value: JSONText) {
        #expect(JSONText(Array(text.utf8)) == value)
    }

    @Test func `a text that is not UTF-8 is refused`() {
        #expect(JSONText([0x22, 0xC3, 0x28, 0x22]) == nil)
    }
}

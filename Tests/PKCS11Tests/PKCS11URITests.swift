import CP11Kit
import Foundation
import Glibc
import KeyfobPrimitives
import PKCS11
import TestSupport
import Testing

@Suite struct PKCS11URITests {
    /// The table of `Fixtures/PKCS11URI/uris.json`.
    private struct Table: Decodable {
        struct Valid: Decodable {
            let uri: String
            /// The decoded values by their names in RFC 7512, with an `id` in hexadecimal digits.
            let attributes: [String: String]
            /// Path attributes that p11-kit does not know, or whose value it cannot hold, as they are printed.
            let unrecognized: [String]?
            let printed: String
        }

        struct Invalid: Decodable {
            let uri: String
            let error: String
        }

        let valid: [Valid]
        let invalid: [Invalid]

        init() throws {
            self = try JSONDecoder().decode(Table.self, from: Data(contentsOf: Fixtures.url("PKCS11URI/uris.json")))
        }
    }

    /// The attributes of a URI in the form of the table.
    private func attributes(of uri: PKCS11URI) -> [String: String] {
        let type: [ObjectClass: String] = [
            .certificate: "cert", .data: "data", .privateKey: "private", .publicKey: "public",
            .secretKey: "secret-key",
        ]
        let values: [(String, String?)] = [
            ("library-manufacturer", uri.libraryManufacturer), ("library-description", uri.libraryDescription),
            ("library-version", uri.libraryVersion.map { "\($0.major).\($0.minor)" }),
            ("slot-id", uri.slotID.map { "\($0)" }), ("slot-description", uri.slotDescription),
            ("slot-manufacturer", uri.slotManufacturer), ("token", uri.token), ("manufacturer", uri.manufacturer),
            ("model", uri.model), ("serial", uri.serial), ("object", uri.object),
            ("type", uri.type.flatMap { type[$0] }), ("id", uri.id?.hexadecimal), ("pin-source", uri.pinSource),
            ("pin-value", uri.pinValue.map { String(decoding: $0.copyBytes(), as: UTF8.self) }),
            ("module-name", uri.moduleName), ("module-path", uri.modulePath),
        ]
        let present = values.compactMap { name, value in value.map { (name, $0) } }
        return uri.vendorQuery.merging(present) { first, _ in first }
    }

    @Test func `the URIs of the table have their attributes, and print in one order`() throws {
        for row in try Table().valid {
            let uri = try PKCS11URI(row.uri)
            #expect(attributes(of: uri) == row.attributes, "\(row.uri)")
            #expect(uri.unrecognizedAttributes == row.unrecognized ?? [], "\(row.uri)")
            #expect(uri.description == row.printed, "\(row.uri)")
            let again = try PKCS11URI(row.printed)
            #expect(again.description == row.printed, "\(row.uri)")
            #expect(again.unrecognizedAttributes == uri.unrecognizedAttributes, "\(row.uri)")
        }
    }

    @Test(
        "what we print is what p11-kit prints",
        arguments: [
            "pkcs11:library-version=2.40;library-manufacturer=m%20n;library-description=d;slot-manufacturer=sm;"
                + "slot-id=3;slot-description=sd;model=mo;serial=0123;manufacturer=ma;token=to;object=o%2Fb;id=%00%7E;"
                + "type=secret-key"
                + "?module-path=/x&module-name=n&pin-source=%7Cc%20d",
            "pkcs11:token=;object=", "pkcs11:type=data;id=~._-", "pkcs11:token=a%26b%3Bc%3Fd%25",
        ])
    func sameAsP11Kit(text: String) throws {
        let uri = try unsafe #require(p11_kit_uri_new())
        defer { unsafe p11_kit_uri_free(uri) }
        try #require(unsafe p11_kit_uri_parse(text, P11_KIT_URI_FOR_ANY, uri) == 0)
        var printed: UnsafeMutablePointer<CChar>?
        try #require(unsafe p11_kit_uri_format(uri, P11_KIT_URI_FOR_ANY, &printed) == 0)
        defer { unsafe free(printed) }
        let theirs = try unsafe String(cString: #require(printed))
        #expect(try PKCS11URI(text).description == theirs)
    }

    @Test func `the malformed URIs of the table are refused with their reasons`() throws {
        for row in try Table().invalid {
            let error = #expect(throws: PKCS11URIError.self, "\(row.uri)") { try PKCS11URI(row.uri) }
            #expect(error?.code.rawValue == row.error, "\(row.uri)")
        }
    }

    @Test(arguments: [
        ("pkcs11:object=a?pin-value=1", true), ("PKCS11:PIN-VALUE=1", true), ("x pin%2dvalue = 1", true),
        ("pkcs11:a?pin=1", true), ("pkcs11:a?pin-value:1", true), ("pkcs11:object=a?pin-source=file:pin.txt", false),
        ("pkcs11:object=a?pinfile=/pin-value", false), ("PIN value", false), ("pkcs11:object=pin", false),
        ("pin=1", false), ("pkcs11:spin=1", false),
    ])
    func `a text with a PIN is recognised by the name of the attribute`(text: String, holdsPIN: Bool) {
        #expect(PKCS11URI.seemsToHoldPIN(text) == holdsPIN)
    }

    @Test func `an invented attribute name cannot break out of its place`() throws {
        var uri = try PKCS11URI("pkcs11:token=a")
        uri.vendorQuery = ["x y&pin-source": "|rm"]
        #expect(uri.description == "pkcs11:token=a?x%20y%26pin-source=%7Crm")
        #expect(throws: PKCS11URIError.self) { try PKCS11URI(uri.description) }
    }

    @Test func `the PIN is readable in one place and printed nowhere`() throws {
        let uri = try PKCS11URI("pkcs11:token=a?pin-value=s3cr%65t-p%69n")
        #expect(uri.pinValue == SecretBytes(utf8: "s3cret-pin"))
        #expect(uri.hasPINValue)
        var dumped = ""
        dump(uri, to: &dumped)
        for text in ["\(uri)", String(reflecting: uri), dumped] {
            #expect(!text.contains("s3cr"))
            #expect(!text.contains("pin-value"))
        }
        let error = #expect(throws: PKCS11URIError.self) { try PKCS11URI("pkcs11:?pin-value=s3cret&pin-source=s3cret") }
        #expect(error.map { !"\($0)".contains("s3cr") } == true)
    }

    @Test func `equality compares the PIN and ignores the order`() throws {
        #expect(try PKCS11URI("pkcs11:token=a;object=b") == PKCS11URI("pkcs11:object=b;token=a"))
        #expect(try PKCS11URI("pkcs11:?pin-value=a") != PKCS11URI("pkcs11:?pin-value=b"))
        #expect(try PKCS11URI("pkcs11:token=a") != PKCS11URI("pkcs11:token=A"))
        #expect(try PKCS11URI("pkcs11:token=") != PKCS11URI("pkcs11:"))
    }

    @Test("Random identifiers and labels survive the round trip", arguments: 0..<200)
    func roundTrip(seed: Int) throws {
        var generator = SystemRandomNumberGenerator()
        var uri = PKCS11URI()
        uri.id = (0..<(seed % 40)).map { _ in UInt8.random(in: 0...255, using: &generator) }
        uri.object = String((0..<(seed % 17)).compactMap { _ in
            Unicode.Scalar(UInt32.random(in: 0...0x2FFF, using: &generator)).map(Character.init)
        })
        uri.token = String((0..<(seed % 9)).compactMap { _ in
            Unicode.Scalar(UInt32.random(in: 0x21...0x7FF, using: &generator)).map(Character.init)
        })
        uri.pinSource = "|cat '/a b/\(seed)%;&=?#'"
        let again = try PKCS11URI(uri.description)
        #expect(again == uri)
        #expect(again.id == uri.id)
        #expect(again.object.map { Array($0.utf8) } == uri.object.map { Array($0.utf8) })
        #expect(again.pinSource == uri.pinSource)
    }

    /// OpenSC shows each PIN of a card as a token of its own.
    @Test(arguments: [
        ("card (User PIN)", "card (Signature PIN)", true), ("card (User PIN)", "card (User PIN)", false),
        ("card (User PIN)", "new (User PIN)", false), ("card", "new", false), ("card", "card (PIN)", false),
    ])
    func `a token with another PIN of the same card is not the same token`(
        label: String, other: String, isSibling: Bool
    ) {
        var uri = PKCS11URI()
        uri.token = label
        #expect(uri.isSibling(other) == isSibling)
    }
}

import CP11Kit
import Glibc
import KeyfobPrimitives
import PKCS11
import Testing

@Suite struct PKCS11URITests {
    // The examples of RFC 7512, section 3, and our output in its fixed order.
    @Test(
        "the examples of RFC 7512 parse and print in one order",
        arguments: [
            ("pkcs11:", "pkcs11:"),
            ("pkcs11:object=my-pubkey;type=public", "pkcs11:object=my-pubkey;type=public"),
            ("pkcs11:object=my-key;type=private?pin-source=file:/etc/token",
             "pkcs11:object=my-key;type=private?pin-source=file%3A%2Fetc%2Ftoken"),
            ("pkcs11:token=The%20Software%20PKCS%2311%20Softtoken;manufacturer=Snake%20Oil,%20Inc.;model=1.0;"
                + "object=my-certificate;type=cert;id=%69%95%3E%5C%F4%BD%EC%91;serial=?pin-source=file:/etc/token_pin",
             "pkcs11:model=1.0;manufacturer=Snake%20Oil%2C%20Inc.;serial=;token=The%20Software%20PKCS%2311%20Softtoken;"
                + "id=%69%95%3E%5C%F4%BD%EC%91;object=my-certificate;type=cert?pin-source=file%3A%2Fetc%2Ftoken_pin"),
            ("pkcs11:object=my-sign-key;type=private?module-name=mypkcs11",
             "pkcs11:object=my-sign-key;type=private?module-name=mypkcs11"),
            ("pkcs11:object=my-sign-key;type=private?module-path=/mnt/libmypkcs11.so.1",
             "pkcs11:object=my-sign-key;type=private?module-path=%2Fmnt%2Flibmypkcs11.so.1"),
            ("pkcs11:token=Software%20PKCS%2311%20softtoken;manufacturer=Snake%20Oil,%20Inc.?pin-value=the-pin",
             "pkcs11:manufacturer=Snake%20Oil%2C%20Inc.;token=Software%20PKCS%2311%20softtoken"),
            ("pkcs11:slot-description=Sun%20Metaslot", "pkcs11:slot-description=Sun%20Metaslot"),
            ("pkcs11:library-manufacturer=Snake%20Oil,%20Inc.;library-description=Soft%20Token%20Library;"
                + "library-version=1.23",
             "pkcs11:library-description=Soft%20Token%20Library;library-manufacturer=Snake%20Oil%2C%20Inc.;"
                + "library-version=1.23"),
            ("pkcs11:token=A?pin-source=%7C/usr/bin/echo%20x", "pkcs11:token=A?pin-source=%7C%2Fusr%2Fbin%2Fecho%20x"),
            ("pkcs11:token=T?vendor-b=2&vendor-a=1", "pkcs11:token=T?vendor-a=1&vendor-b=2"),
            ("PKCS11:slot-id=327", "pkcs11:slot-id=327"), ("pkcs11:slot-id=007", "pkcs11:slot-id=7"),
            ("pkcs11:slot-id=18446744073709551614", "pkcs11:slot-id=18446744073709551614"),
            ("pkcs11:object-type=cert?pinfile=/a", "pkcs11:type=cert?pin-source=%2Fa"),
            ("pkcs11:library-version=3", "pkcs11:library-version=3.0"),
            ("pkcs11:token=%C3%A9t%C3%A9;object=日本", "pkcs11:token=%C3%A9t%C3%A9;object=%E6%97%A5%E6%9C%AC"),
            ("pkcs11:id=%00%01%ff;object=a%00b", "pkcs11:id=%00%01%FF;object=a%00b"),
        ])
    func examples(text: String, printed: String) throws {
        let uri = try PKCS11URI(text)
        #expect(uri.description == printed)
        #expect(try PKCS11URI(printed).description == printed)
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

    @Test(
        "a malformed URI is refused with its reason",
        arguments: [
            ("", .badScheme), ("pkcs11", .badScheme), ("http:token=a", .badScheme), ("pkcs12:token=a", .badScheme),
            ("pkcs11:token", .badSyntax), ("pkcs11:=a", .badSyntax), ("pkcs11:?=a", .badSyntax),
            ("pkcs11:;token=a", .badSyntax), ("pkcs11:token=a;;id=b", .badSyntax), ("pkcs11:slot-id=x", .badSyntax),
            ("pkcs11:token=%zz", .badEncoding), ("pkcs11:token=%4", .badEncoding), ("pkcs11:id=%", .badEncoding),
            ("pkcs11:token=%FF", .badEncoding), ("pkcs11:object=%C3", .badEncoding),
            ("pkcs11:token=%00abc", .badEncoding), ("pkcs11:serial=a%00", .badEncoding),
            ("pkcs11:?pin-value=a%00b", .badEncoding), ("pkcs11:token=a\0;id=b", .badEncoding),
            ("pkcs11:token=a;token=b", .duplicateAttribute), ("pkcs11:id=a;id=a", .duplicateAttribute),
            ("pkcs11:?pin-value=a&pin-value=a", .duplicateAttribute),
            ("pkcs11:?pin-value=a&pin-source=b", .conflictingPIN),
            ("pkcs11:token=a;pin-value=1?pin-source=x", .conflictingPIN),
            ("pkcs11:token=a;pin-value=1;pin-source=x", .conflictingPIN),
            ("pkcs11:pinfile=/a?pin-value=1", .conflictingPIN),
            ("pkcs11:token=a;pin-value=1?pin-value=2", .duplicateAttribute),
            ("pkcs11:?pin-source=/a&pinfile=/b", .duplicateAttribute),
            ("pkcs11:pinfile=/a?pin-source=/b", .duplicateAttribute),
            ("pkcs11:type=cert;object-type=private", .duplicateAttribute),
            ("pkcs11:objecttype=cert;type=cert", .duplicateAttribute),
            ("pkcs11:?x-a=1&x-a=2", .duplicateAttribute),
            ("pkcs11:token=a; token=b", .badSyntax), ("pkcs11:token=a;to ken=b", .badSyntax),
            ("pkcs11:to\nken=a", .badSyntax), ("pkcs11:token=a?pin -value=1&pin-source=x", .badSyntax),
            ("pkcs11:?x y=1", .badSyntax), ("pkcs11:x%20y=1", .badSyntax), ("pkcs11:é=1", .badSyntax),
            ("pkcs11:slot-id=18446744073709551621", .badSyntax), ("pkcs11:slot-id=18446744073709551615", .badSyntax),
            ("pkcs11:slot-id=", .badSyntax), ("pkcs11:slot-id= 5", .badSyntax), ("pkcs11:slot-id=5 ", .badSyntax),
            ("pkcs11:slot-id=+5", .badSyntax), ("pkcs11:slot-id=-1", .badSyntax),
            ("pkcs11:library-version=1.2.3", .badVersion), ("pkcs11:library-version=x", .badVersion),
            ("pkcs11:library-version=256", .badVersion),
        ] as [(String, PKCS11URIError.Code)])
    func malformed(text: String, code: PKCS11URIError.Code) {
        let error = #expect(throws: PKCS11URIError.self) { try PKCS11URI(text) }
        #expect(error?.code == code)
    }

    @Test func `the fields hold the decoded values`() throws {
        let uri = try PKCS11URI(
            "pkcs11:token=a%20b;serial=01;model=m;manufacturer=f;object=o%00p;type=private;id=%00%01%ff;slot-id=7;"
                + "library-version=2.6?pin-source=%7Ccat%20x&module-name=n&module-path=/p.so&x-y=z")
        #expect(uri.token == "a b")
        #expect(uri.serial == "01")
        #expect(uri.model == "m")
        #expect(uri.manufacturer == "f")
        #expect(uri.object == "o\0p")
        #expect(uri.type == .privateKey)
        #expect(uri.id == [0, 1, 255])
        #expect(uri.slotID == 7)
        #expect(uri.libraryVersion == .init(major: 2, minor: 6))
        #expect(uri.pinSource == "|cat x")
        #expect(uri.moduleName == "n")
        #expect(uri.modulePath == "/p.so")
        #expect(uri.vendorQuery == ["x-y": "z"])
        #expect(!uri.hasPINValue)
        #expect(uri.unrecognizedAttributes.isEmpty)
    }

    @Test func `the scheme and the names of RFC 7512 may be in capitals, and are printed in lower case`() throws {
        let uri = try PKCS11URI("PkCs11:Token=A;SLOT-ID=7;X-Y=z?PIN-Source=file:/P&Module-Name=N&x-z=y")
        #expect(uri.description == "pkcs11:slot-id=7;token=A;X-Y=z?pin-source=file%3A%2FP&module-name=N&x-z=y")
        let secret = try PKCS11URI("PKCS11:object=a?PIN-VALUE=4711")
        #expect(secret.pinValue == SecretBytes(utf8: "4711"))
        #expect(!secret.description.contains("4711"))
        #expect(throws: PKCS11URIError.self) { try PKCS11URI("pkcs11:token=a;TOKEN=b") }
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

    @Test(
        "an unknown path attribute is kept and printed",
        arguments: [
            ("pkcs11:x-color=red%20;token=a", "pkcs11:token=a;x-color=red%20"),
            ("pkcs11:type=nonsense", "pkcs11:type=nonsense"),
            ("pkcs11:object=o;token=0123456789012345678901234567890123456789",
             "pkcs11:object=o;token=0123456789012345678901234567890123456789"),
        ])
    func unknown(text: String, printed: String) throws {
        let uri = try PKCS11URI(text)
        #expect(uri.unrecognizedAttributes.count == 1)
        #expect(uri.description == printed)
        #expect(try PKCS11URI(printed).unrecognizedAttributes == uri.unrecognizedAttributes)
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
}

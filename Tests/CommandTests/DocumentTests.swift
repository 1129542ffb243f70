import Foundation
import Testing

@testable import KeyfobCLI

@Suite struct DocumentTests {
    private let document = Document([
        "name": "db/prod", "count": 3, "ok": true, "gone": Value.null,
        "nested": ["z": "first", "a": "second"] as Members,
    ])

    @Test func `JSON starts with the schema and keeps the order of its members`() throws {
        let expected =
            #"{"schema":"keyfob/v1","name":"db/prod","count":3,"ok":true,"gone":null,"nested":{"z":"first","a":"second"}}"#
        #expect(try document.rendered(as: .json) == expected + "\n")
    }

    @Test(arguments: [
        ("plain", #""plain""#), ("a\"b\\c", #""a\"b\\c""#), ("\n\r\t", #""\n\r\t""#), ("\u{1B}[31m", #""\u001b[31m""#),
        ("\u{0}", #""\u0000""#), ("\u{9B}x\u{2028}", #""\u009bx\u2028""#), ("Schlüssel 🔑", #""Schlüssel 🔑""#),
    ])
    func `a JSON string escapes what a parser or a terminal would misread`(text: String, json: String) throws {
        #expect(Value.string(text).json == json)
        let parsed = try JSONSerialization.jsonObject(with: Data(json.utf8), options: .fragmentsAllowed)
        #expect(parsed as? String == text)
    }

    @Test func `YAML keeps the order and quotes text that looks like something else`() throws {
        let yaml = try Document(["answer": "no", "when": "2025-11-21", "n": 7, "list": ["a"]]).rendered(as: .yaml)
        #expect(yaml == "schema: \"keyfob/v1\"\nanswer: \"no\"\nwhen: \"2025-11-21\"\nn: 7\nlist:\n- \"a\"\n")
    }

    @Test func `an element of a YAML list is printed as soon as it is ready, and as part of the whole`() throws {
        let elements: [Members] = [
            ["name": "no", "uses": ["sign", "derive"], "of": ["n": 1, "z": [String]()] as Members],
            ["name": String(repeating: "long ", count: 40)], ["none": Value.null],
        ]
        let first: Members = ["keychain": "login"]
        let whole = try Document(first + ["items": elements, "count": 3]).rendered(as: .yaml)
        var stream = ListStream(.yaml, members: first, listName: "items")
        for element in elements { try stream.add(element) }
        let text = stream.buffer
        #expect(whole == text + "count: 3\n")
    }

    @Test func `a shell that evaluates the env form gets the exact bytes`() throws {
        let secret = "it's $HOME `id` \\ \"x\"\nline 2"
        let text = try Document(["secret": secret, "sub": ["two-part": "v"] as Members]).rendered(as: .env)
        let result = try Tool("/bin/sh", ["-c", "eval \"$1\"; printf %s \"$SECRET|$SUB_TWO_PART\"", "sh", text]).run()
        #expect(result.output == secret + "|v")
    }

    @Test func `text with a zero byte reaches a shell completely, in base64`() throws {
        let text = try Document(["value": "a\0b", "sub": ["x": "\0"] as Members]).rendered(as: .env)
        #expect(text == "VALUE_B64='YQBi'\nSUB_X_B64='AA=='\n")
    }

    @Test func `the tsv form has one row per element and one column per name`() throws {
        let list = Document(["items": [["name": "a\tb", "n": 1], ["name": "c", "extra": "x\u{1B}[2J\u{9B}"]] as [Members]])
        #expect(try list.rendered(as: .tsv) == "name\tn\textra\na\\tb\t1\t\nc\t\tx\\u001b[2J\\u009b\n")
    }

    @Test func `a list in a row of the tsv form is one cell, so that its length changes no column`() throws {
        let mixed = Value.array([.object(["n": 3]), .null, .boolean(true)])
        let list = Document([
            "keys": [
                ["name": "a", "uses": ["sign", "derive"], "last": 1], ["name": "b", "uses": [String](), "last": 2],
                ["name": "c", "uses": ["x\ty"], "last": ["of": mixed] as Members],
            ] as [Members],
        ])
        let expected = """
            name\tuses\tlast\tlast.of
            a\tsign,derive\t1\t
            b\t\t2\t
            c\tx\\ty\t\t{"n":3},,true

            """
        #expect(try list.rendered(as: .tsv) == expected)
        // A single thing has a row for each.
        #expect(try Document(["uses": ["a", "b"]]).rendered(as: .tsv) == "uses.0\ta\nuses.1\tb\n")
        let household = try TestHome.unattended()
        try #require(household.keyfob(["key", "generate", "k"]).status == 0)
        let keys = try household.keyfob(["key", "ls", "--format", "tsv"])
        #expect(keys.output.contains("\tuses\t") && keys.output.contains("\tsign,derive\t"), "\(keys.output)")
    }

    @Test func `the tsv form of an empty list is empty, and that of a result with one has a row per member`() throws {
        let list = Document(["keychain": "login", "items": [String]()])
        #expect(try list.rendered(as: .tsv).isEmpty)
        #expect(try list.rendered(as: .tsv, isListing: false) == "keychain\tlogin\n")
        let household = try TestHome()
        let lock = try household.keyfob(["lock", "--all", "--format", "tsv"])
        #expect(lock.output == "action\tnone\nchanged\tfalse\ndry_run\tfalse\n", "\(lock.error)")
    }

    @Test func `the tsv form of a single thing has one row per member`() throws {
        #expect(try Document(["name": "a", "key": ["type": "ec"] as Members]).rendered(as: .tsv) == "name\ta\nkey.type\tec\n")
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00Z"), (951_782_400, "2000-02-29T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"),
        (1_763_719_200, "2025-11-21T10:00:00Z"), (4_107_542_400, "2100-03-01T00:00:00Z"),
        (-62_135_596_800, "0001-01-01T00:00:00Z"), (253_402_300_799, "9999-12-31T23:59:59Z"),
    ])
    func `times are RFC 3339 in UTC`(seconds: Int, text: String) {
        #expect(RFC3339.string(from: Date(timeIntervalSince1970: Double(seconds))) == text)
    }

    @Test(arguments: [
        ("2026-12-24", "2026-12-24T00:00:00Z"), ("2028-02-29", "2028-02-29T00:00:00Z"),
        ("2026-12-23T23:00:01Z", "2026-12-23T23:00:01Z"), ("2026-12-23t23:00:01.9z", "2026-12-23T23:00:01Z"),
        ("2026-12-23T23:30:00+02:30", "2026-12-23T21:00:00Z"), ("2026-12-23T23:30:00-02:30", "2026-12-24T02:00:00Z"),
        ("2026-12-23 23:00", nil), ("2026-12-23T23:00:00", nil), ("2026-12-23T23:00Z", nil), ("2026-12-24junk", nil),
        ("2026-12-24T", nil), ("2026-11-31", nil), ("2026-02-29", nil), ("2026-13-01", nil), ("2026-00-10", nil),
        ("2026-12-24T25:00:00Z", nil), ("2026-12-24T23:60:00Z", nil), ("2026-12-24T23:00:60Z", nil),
        ("2026-12-24T23:00:00+24:00", nil), ("2026-12-24T23:00:00+0200", nil), ("T25:00:00Z", nil), (" 2026-12-24", nil),
        ("24-12-2026", nil), ("----------", nil), ("2026-12-2٤", nil), ("", nil),
    ])
    func `a time on the command line is a day or RFC 3339, and nothing else`(text: String, moment: String?) {
        #expect((Moment(argument: text)?.date).map(RFC3339.string) == moment)
    }

    @Test func `fingerprints are lower-case hexadecimal behind their algorithm`() {
        #expect(Value.fingerprint(sha256: [0x0A, 0xFF]) == .string("sha256:0aff"))
    }

    @Test func `an option overrides the variable, and two contradictory options are refused`() throws {
        #expect(try OutputFormat.resolve(option: .yaml, json: false, environment: "json") == .yaml)
        #expect(try OutputFormat.resolve(option: nil, json: true, environment: "yaml") == .json)
        #expect(try OutputFormat.resolve(option: nil, json: false, environment: "tsv") == .tsv)
        #expect(try OutputFormat.resolve(option: nil, json: false, environment: "") == .table)
        #expect(throws: UsageError.self) { try OutputFormat.resolve(option: .env, json: true, environment: nil) }
        #expect(throws: UsageError.self) { try OutputFormat.resolve(option: nil, json: false, environment: "xml") }
    }
}

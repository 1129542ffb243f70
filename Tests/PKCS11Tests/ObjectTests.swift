import KeyfobPrimitives
import PKCS11
import TestSupport
import Testing

@Suite("Objects") struct ObjectTests {
    private func dataObject(_ label: String, _ value: [UInt8]) -> AttributeTemplate {
        [
            .objectClass(.data), .token(true), .isPrivate(true), .label(label), .application("keyfob tests"),
            .value(value),
        ]
    }

    @Test("A search finds an object that was created, and none that does not match")
    func createAndFind() throws {
        let token = try TestToken.make(label: "find")
        let session = try token.openSession()
        let one = try session.create(dataObject("one", [1, 2, 3]))
        let two = try session.create(dataObject("two", []))
        let all = try session.findObjects()
        #expect(Set(all) == [one, two])
        let labelled = try session.findObjects([.objectClass(.data), .label("one")])
        #expect(labelled == [one])
        let missing = try session.findObjects([.label("three")])
        #expect(missing.isEmpty)
    }

    @Test("A search returns many objects, up to its limit", arguments: [0, 1, 127, 128, 129, 300])
    func limits(limit: Int) throws {
        let token = try TestToken.make(label: "limits")
        let session = try token.openSession()
        for index in 0..<300 {
            _ = try session.create([
                .objectClass(.data), .token(false), .isPrivate(false), .label("\(index)"), .value([0]),
            ])
        }
        let all = try session.findObjects([.objectClass(.data)])
        #expect(Set(all).count == 300)
        let some = try session.findObjects([.objectClass(.data)], limit: limit)
        #expect(some.count == limit)
        // A search that stayed open would make this call fail as an active operation.
        let again = try session.findObjects([.label("7")])
        #expect(again.count == 1)
    }

    @Test("Other programs see a public object, and no private one")
    func seenByOthers() throws {
        let token = try TestToken.make(label: "others")
        let session = try token.openSession()
        _ = try session.create(dataObject("hidden", [1]))
        _ = try session.create([
            .objectClass(.data), .token(true), .isPrivate(false), .label("shown"), .value([2]),
        ])
        let result = try run(
            "pkcs11-tool", ["--module", TestToken.modulePath, "--token-label", token.label, "--list-objects"],
            environment: token.environment)
        #expect(result.stdout.contains("'shown'"))
        #expect(!result.stdout.contains("'hidden'"))
    }

    @Test("Private objects disappear at logout, and their handles stay invalid after the next login")
    func handlesAfterLogout() throws {
        let token = try TestToken.make(label: "handles")
        let session = try token.openSession()
        let old = try session.create(dataObject("private", [9]))
        try session.logout()
        let hidden = try session.findObjects()
        #expect(hidden.isEmpty)
        try session.login(pin: token.pin)
        let error = try refusal { try session.attributes([.label], of: old) }
        #expect(error?.returnValue == .objectHandleInvalid)
        #expect(error?.recovery == .lookUpAgain)
        let isBroken = session.isBroken
        #expect(!isBroken)
        let found = try session.findObjects([.label("private")])
        #expect(found.count == 1 && found.first != old)
    }

    @Test("A destroyed object cannot be found or used")
    func destroy() throws {
        let token = try TestToken.make(label: "destroy")
        let session = try token.openSession()
        let object = try session.create(dataObject("gone", [1]))
        try session.destroy(object)
        let found = try session.findObjects()
        #expect(found.isEmpty)
        let error = try refusal { try session.destroy(object) }
        #expect(error?.returnValue == .objectHandleInvalid)
        #expect(error?.function == .destroyObject)
    }

    @Test("A copy has the requested changes, and remains when the original is destroyed")
    func copy() throws {
        let token = try TestToken.make(label: "copy")
        let session = try token.openSession()
        let original = try session.create(dataObject("original", [1, 2]))
        let copy = try session.copy(original, changing: [.label("copy")])
        try session.destroy(original)
        let values = try session.attributes([.label, .value, .token], of: copy)
        #expect(values.label == "copy")
        #expect(values[.value] == [1, 2])
        #expect(values.bool(.token) == true)
    }

    @Test("A label can be changed; attributes that the token protects cannot")
    func setAttributes() throws {
        let token = try TestToken.make(label: "set")
        let session = try token.openSession()
        let object = try session.create(dataObject("before", [1]))
        try session.setAttributes([.label("after")], of: object)
        let values = try session.attributes([.label], of: object)
        #expect(values.label == "after")
        let error = try refusal { try session.setAttributes([.value([2])], of: object) }
        #expect(error?.returnValue == .attributeReadOnly)
    }

    @Test("An incomplete template is refused and leaves nothing behind")
    func incompleteTemplate() throws {
        let token = try TestToken.make(label: "incomplete")
        let session = try token.openSession()
        let error = try refusal { try session.create([.objectClass(.certificate), .token(true)]) }
        #expect(error?.returnValue == .templateIncomplete)
        let empty = try refusal { try session.create([]) }
        #expect(empty?.function == .createObject)
        let found = try session.findObjects()
        #expect(found.isEmpty)
    }

    @Test("A read-only session refuses to write, and a closed session refuses every call")
    func readOnlySession() throws {
        let token = try TestToken.make(label: "readonly")
        let session = try token.openSession(readWrite: false)
        let error = try refusal { try session.create(dataObject("no", [1])) }
        #expect(error?.returnValue == .sessionReadOnly)
    }

    @Test("Values of every kind are read back unchanged", arguments: [0, 1, 255, 4096, 4097, 100_000])
    func sizes(count: Int) throws {
        let token = try TestToken.make(label: "sizes")
        let session = try token.openSession()
        let value = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let object = try session.create(dataObject("grüße \u{1F511}", value))
        let values = try session.attributes(
            [.objectClass, .token, .label, .application, .value, .modulus], of: object)
        #expect(values.objectClass == .data)
        #expect(values.bool(.token) == true)
        #expect(values.label == "grüße \u{1F511}")
        #expect(values.string(.application) == "keyfob tests")
        #expect(values[.value] == value)
        #expect(values[.modulus] == nil)
        let secret = try session.secretAttribute(.value, of: object)
        #expect(secret == SecretBytes(value))
    }
}

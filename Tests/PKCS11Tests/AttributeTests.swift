import CP11Kit
import KeyfobPrimitives
@testable import PKCS11
import TestSupport
import Testing

@Suite("Attributes") struct AttributeTests {
    @Test("A template has C's layout, with each value aligned for a number")
    func layout() throws {
        let template: AttributeTemplate = [
            .objectClass(.secretKey), .token(true), .label("abc"), .secretValue(SecretBytes([7, 8, 9, 10, 11])),
            .id([]),
            .ulong(.valueLength, 0x1122_3344_5566_7788),
        ]
        try unsafe template.withCTemplate { (attributes, count) throws(PKCS11Error) in
            #expect(count == 6)
            guard let attributes = unsafe attributes else {
                throw PKCS11Error(function: .createObject, returnValue: .ok)
            }
            var read: [[UInt8]] = []
            for index in 0..<6 {
                let attribute = unsafe attributes[index]
                let address = unsafe UInt(bitPattern: attribute.pValue)
                #expect(address % 8 == 0)
                unsafe read.append(Array(UnsafeRawBufferPointer(
                    start: attribute.pValue, count: Int(attribute.ulValueLen))))
            }
            let type = unsafe attributes[0].type
            #expect(type == CKA_CLASS)
            #expect(read[0] == [4, 0, 0, 0, 0, 0, 0, 0])
            #expect(read[1] == [1])
            #expect(read[2] == Array("abc".utf8))
            #expect(read[3] == [7, 8, 9, 10, 11])
            #expect(read[4] == [])
            #expect(read[5] == [0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11])
        }
    }

    @Test("An empty template is a null pointer and zero")
    func emptyLayout() throws {
        try unsafe AttributeTemplate().withCTemplate { (attributes, count) throws(PKCS11Error) in
            let isNothing = unsafe attributes == nil
            #expect(isNothing)
            #expect(count == 0)
        }
    }

    @Test("A value that grows during a read is read again, and not reported as absent", arguments: [1, 2, 1000])
    func growth(times: Int) throws {
        let token = try TestToken.make(label: "growing")
        let directory = try TemporaryDirectory()
        let faulty = try FaultyModule(in: directory)
        let session = try token.behind(faulty).openSession(loggedIn: false)
        // Longer than the first buffer offered.
        let object = try session.create([
            .objectClass(.data), .token(false), .isPrivate(false), .label(String(repeating: "a", count: 1000)),
        ])
        try faulty.say("growing=\(times)")
        if times < 3 {
            let values = try session.attributes([.objectClass, .label, .id], of: object)
            #expect(values[.label]?.count == 1000 + 200 * times && values[.id] == nil)
            #expect(values.objectClass == .data)
        } else {
            for _ in 0..<2 {
                let error = try refusal { _ = try session.attributes([.label], of: object) }
                // Not the error of a broken object, which lists skip.
                #expect(error?.returnValue == .bufferTooSmall && error?.recovery == .final)
            }
            let error = try refusal { _ = try session.secretAttribute(.label, of: object) }
            #expect(error?.returnValue == .bufferTooSmall)
        }
    }

    @Test("A secret that grows during a read is read again")
    func growthOfSecret() throws {
        let token = try TestToken.make(label: "growing")
        let directory = try TemporaryDirectory()
        let faulty = try FaultyModule(in: directory, saying: "growing=2")
        let session = try token.behind(faulty).openSession(loggedIn: false)
        let object = try session.create([.objectClass(.data), .token(false), .isPrivate(false), .label("a")])
        #expect(try session.secretAttribute(.label, of: object)?.count == 401)
    }

    @Test("Neither descriptions nor mirrors show a value")
    func noValuesInDescriptions() {
        let template: AttributeTemplate = [
            .label("planted-label"), .secretValue(SecretBytes(utf8: "planted-secret")),
            .value(Array("planted-value".utf8)),
        ]
        var text = "\(template) \(template.attributes)"
        dump(template, to: &text)
        #expect(!text.contains("planted"))
        #expect(text.contains("CKA_VALUE"))
        #expect(!text.contains("112"))
    }

    @Test("The subscript replaces, appends and removes")
    func templateSubscript() {
        var template: AttributeTemplate = [.label("a"), .token(true)]
        template[.label] = .label("b")
        template[.id] = .id([1])
        template[.token] = nil
        #expect(template.attributes.map(\.type) == [.label, .id])
        #expect(template[.label]?.value == Array("b".utf8))
        #expect(template[.token] == nil)
    }

    @Test("A date is eight digits")
    func date() {
        #expect(Attribute.date(.startDate, year: 2026, month: 1, day: 9).value == Array("20260109".utf8))
    }

    struct Count: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let types: [AttributeType]
        let valueCount: Int
        let calls: Int
    }

    @Test("Reading attributes takes one call, and at most three", arguments: [
        Count(testDescription: "known sizes", types: [.objectClass, .token, .isPrivate], valueCount: 10, calls: 1),
        Count(testDescription: "usual sizes", types: [.objectClass, .label, .application, .value],
            valueCount: 4096, calls: 1),
        Count(testDescription: "a large value", types: [.objectClass, .label, .value], valueCount: 5000, calls: 3),
        Count(testDescription: "a missing number", types: [.objectClass, .keyType, .label], valueCount: 1, calls: 1),
        Count(testDescription: "a missing value", types: [.objectClass, .modulus, .label], valueCount: 1, calls: 2),
        Count(testDescription: "one large, one missing", types: [.modulus, .value, .label], valueCount: 9000, calls: 3),
    ])
    func callCount(_ row: Count) throws {
        let token = try TestToken.make(label: "count")
        let counting = try CountingModule(token.module)
        let own = try token.openSession(loggedIn: false)
        let session = counting.session(own)
        let object = try session.create([
            .objectClass(.data), .token(false), .isPrivate(false), .label("counted"), .application("tests"),
            .value([UInt8](repeating: 5, count: row.valueCount)),
        ])
        let before = CountingModule.calls(own)
        let values = try session.attributes(row.types, of: object)
        let after = CountingModule.calls(own)
        #expect(after - before == row.calls)
        #expect(values.label == (row.types.contains(.label) ? "counted" : nil))
        #expect(values[.value]?.count == (row.types.contains(.value) ? row.valueCount : nil))
        #expect(values[.keyType] == nil && values[.modulus] == nil)
        try own.close()
    }
}

/// A copy of SoftHSM's function table that counts the attribute reads of each session.
struct CountingModule {
    private static let counts = Lock<[UInt: Int]>([:])
    // Set once before the table is used, always to the same function.
    nonisolated(unsafe) private static var original: CK_C_GetAttributeValue?
    let module: Module

    init(_ base: Module) throws {
        let table = UnsafeMutablePointer<CK_FUNCTION_LIST>.allocate(capacity: 1)
        unsafe table.initialize(to: base.functions.table.pointee)
        Self.counts.withLock { _ in
            if unsafe Self.original == nil { unsafe Self.original = unsafe table.pointee.C_GetAttributeValue }
        }
        unsafe table.pointee.C_GetAttributeValue = { session, object, attributes, count in
            CountingModule.counts.withLock { $0[session, default: 0] += 1 }
            guard let original = unsafe CountingModule.original else { return CKR_FUNCTION_FAILED }
            return unsafe original(session, object, attributes, count)
        }
        // The base module closes its own sessions: two `Module` objects would open and close sessions at the same time.
        unsafe table.pointee.C_CloseSession = { _ in CKR_OK }
        // The test support keeps the base module loaded, so the functions stay valid.
        module = try unsafe Module(
            functions: FunctionList(table), path: "counting", name: nil, initializationArguments: nil, release: nil)
    }

    /// Wraps a session of the base module as one whose reads are counted. Valid while that session is open.
    func session(_ session: borrowing Session) -> Session {
        Session(
            slot: Slot(module: module, id: session.slot.id), handle: session.handle, generation: module.generation)
    }

    /// The number of attribute reads in a session.
    static func calls(_ session: borrowing Session) -> Int {
        let handle = session.handle
        return counts.withLock { $0[handle, default: 0] }
    }
}

import CP11Kit
import Dispatch
import KeyfobPrimitives
@testable import PKCS11
import TestSupport
import Testing

@Suite("Session state") struct SessionStateTests {
    @Test("A search left open makes signing fail, and marks the session")
    func searchLeftOpen() throws {
        let token = try TestToken.make(label: "open")
        let session = try token.openSession()
        let key = try session.generateKey(Mechanism(.genericSecretKeyGeneration), template: [
            .objectClass(.secretKey), .keyType(.genericSecret), .valueLength(32), .token(false), .sign(true),
        ])
        let mac = try session.sign([1], with: key, using: Mechanism(.sha256HMAC))
        #expect(mac.count == 32)
        let start = unsafe try #require(unsafe session.functions.table.pointee.C_FindObjectsInit)
        let started = start(session.handle, nil, 0)
        #expect(started == CKR_OK)
        let error = try refusal { try session.sign([1], with: key, using: Mechanism(.sha256HMAC)) }
        #expect(error?.function == .signInit)
        #expect(error?.returnValue == .operationActive)
        #expect(error?.recovery == .reopenSession)
        let isBroken = session.isBroken
        #expect(isBroken)
    }

    @Test("Threads that share a session are refused, and their calls never reach the token at the same time")
    func shared() throws {
        final class Shared: Sendable {
            let session: Session
            init(_ session: consuming Session) { self.session = session }
        }
        let token = try TestToken.make(label: "shared")
        let shared = Shared(try token.openSession())
        let key = try shared.session.generateKey(Mechanism(.genericSecretKeyGeneration), template: [
            .objectClass(.secretKey), .keyType(.genericSecret), .valueLength(32), .token(false), .sign(true),
        ])
        let mac = try shared.session.sign([1], with: key, using: Mechanism(.sha256HMAC))
        // Stands for a call in progress on another thread.
        try shared.session.begin(.sign)
        for call in [
            { _ = try shared.session.sign([1], with: key, using: Mechanism(.sha256HMAC)) },
            { _ = try shared.session.findObjects() }, { _ = try shared.session.info() },
            { _ = try shared.session.attributes([.objectClass], of: key) },
        ] as [() throws -> Void] {
            let error = try refusal(call)
            #expect(error?.returnValue == .operationActive)
        }
        shared.session.end()
        let isBroken = shared.session.isBroken
        #expect(!isBroken)

        let wrong = Lock<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<200 {
                do {
                    if try shared.session.sign([1], with: key, using: Mechanism(.sha256HMAC)) != mac {
                        wrong.withLock { $0.append("another MAC") }
                    }
                } catch let error as PKCS11Error {
                    if error.returnValue != .operationActive { wrong.withLock { $0.append("\(error)") } }
                } catch {
                    wrong.withLock { $0.append("\(error)") }
                }
            }
        }
        #expect(wrong.withLock { $0 } == [])
        let after = try shared.session.sign([1], with: key, using: Mechanism(.sha256HMAC))
        #expect(after == mac)
    }

    @Test(
        "A size is one, or none where the token does not show the value, or too much",
        arguments: [(0, 0), (1 << 26, 1 << 26), (.max, nil)] as [(CK_ULONG, Int?)])
    func sizes(length: CK_ULONG, size: Int?) throws {
        #expect(try Session.size(length, of: .value) == size)
    }

    @Test("A value larger than the read limit is an error, and not absent")
    func tooLarge() throws {
        let token = try TestToken.make(label: "large")
        let session = try token.openSession()
        let value = [UInt8](repeating: 7, count: (1 << 26) + 1)
        let object = try session.create([
            .objectClass(.data), .token(false), .isPrivate(false), .label("large"), .value(value),
        ])
        for read in [
            { (session: borrowing Session) throws in _ = try session.attributes([.label, .value], of: object) },
            { (session: borrowing Session) throws in _ = try session.secretAttribute(.value, of: object) },
        ] as [(borrowing Session) throws -> Void] {
            let error = try refusal { try read(session) }
            #expect(error?.returnValue == .attributeValueInvalid)
        }
        let label = try session.attributes([.label], of: object)[.label]
        #expect(label == Array("large".utf8))
    }

    @Test("A stale key handle is an error at the start, and the session stays usable")
    func staleKey() throws {
        let token = try TestToken.make(label: "stale")
        let session = try token.openSession()
        let error = try refusal {
            try session.sign([1], with: ObjectHandle(rawValue: 0xffff), using: Mechanism(.sha256HMAC))
        }
        #expect(error?.recovery == .lookUpAgain)
        let isBroken = session.isBroken
        #expect(!isBroken)
    }

    @Test("A session closed by the module is broken, and closing it reports that")
    func closedElsewhere() throws {
        let token = try TestToken.make(label: "closed")
        let session = try token.openSession()
        let closeAll = try #require(unsafe session.functions.table.pointee.C_CloseAllSessions)
        // Hold the lock, because other tests open and close sessions at the same time.
        let value = token.module.slotLock.withLock { _ in closeAll(token.slot.id) }
        #expect(value == CKR_OK)
        let error = try refusal { try session.findObjects() }
        #expect(error?.returnValue == .sessionHandleInvalid)
        let isBroken = session.isBroken
        #expect(isBroken)
        do throws(PKCS11Error) {
            try session.close()
            Issue.record("a closed session closed again")
        } catch {
            #expect(error.function == .closeSession)
        }
    }

    @Test("A session that goes out of scope is closed")
    func closedByScope() throws {
        let token = try TestToken.make(label: "scope")
        for _ in 0..<3 { _ = try token.openSession() }
        // The login ended with the last session; a leaked session would make this fail with "already logged in".
        let session = try token.slot.openSession()
        try session.login(pin: token.pin)
    }

    @Test("A missing function of the module is an error value")
    func missingFunction() throws {
        let module = try FakeModule.make { _ in }
        let session = try Slot(module: module, id: 0).openSession()
        let error = try refusal { try session.copy(ObjectHandle(rawValue: 1)) }
        #expect(error?.function == .copyObject)
        #expect(error?.returnValue == .functionNotSupported)
    }

    @Test("Output larger than expected is fetched again, also from a module that forgets the operation")
    func outputTooLarge() throws {
        let module = try FakeModule.make { table in
            unsafe table.C_SignInit = { session, _, _ in
                FakeModule.starts.withLock { $0 += 1 }
                return CKR_OK
            }
            unsafe table.C_Sign = { _, _, _, output, count in
                // Like NSS: a buffer that is too small ends the operation.
                guard let count = unsafe count else { return CKR_ARGUMENTS_BAD }
                let isStarted = FakeModule.starts.withLock { starts in
                    defer { starts -= starts > 0 ? 1 : 0 }
                    return starts > 0
                }
                if !isStarted { return CKR_OPERATION_NOT_INITIALIZED }
                let offered = unsafe count.pointee
                unsafe count.pointee = 3000
                if offered < 3000 { return CKR_BUFFER_TOO_SMALL }
                unsafe output?.update(repeating: 0x77, count: 3000)
                return CKR_OK
            }
        }
        let session = try Slot(module: module, id: 0).openSession()
        let signature = try session.sign([1], with: ObjectHandle(rawValue: 1), using: Mechanism(.rsaPKCS))
        #expect(signature == [UInt8](repeating: 0x77, count: 3000))
        let isBroken = session.isBroken
        #expect(!isBroken)
    }

    @Test("A module that returns wrong counts does not cause reads beyond the request")
    func absurdCounts() throws {
        let module = try FakeModule.make { table in
            unsafe table.C_FindObjectsInit = { _, _, _ in CKR_OK }
            unsafe table.C_FindObjects = { _, _, _, count in
                unsafe count?.pointee = CK_ULONG.max
                return CKR_OK
            }
            table.C_FindObjectsFinal = { _ in CKR_OK }
            unsafe table.C_GetAttributeValue = { _, _, list, _ in
                unsafe list?.pointee.ulValueLen = 1 << 40
                return CKR_OK
            }
        }
        let session = try Slot(module: module, id: 0).openSession()
        let found = try session.findObjects(limit: 5)
        #expect(found.count == 5)
        let values = try session.attributes([.label], of: ObjectHandle(rawValue: 1))
        #expect(values[.label] == nil)
    }
}

/// A module with only those functions that a test puts into its table.
enum FakeModule {
    /// The number of signatures started.
    static let starts = Lock(0)

    static func make(_ fill: (inout CK_FUNCTION_LIST) -> Void) throws -> Module {
        let table = UnsafeMutablePointer<CK_FUNCTION_LIST>.allocate(capacity: 1)
        unsafe table.initialize(to: CK_FUNCTION_LIST())
        unsafe table.pointee.C_Initialize = { _ in CKR_OK }
        unsafe table.pointee.C_OpenSession = { _, _, _, _, session in
            unsafe session?.pointee = 1
            return CKR_OK
        }
        unsafe table.pointee.C_CloseSession = { _ in CKR_OK }
        unsafe fill(&table.pointee)
        return try unsafe Module(
            functions: FunctionList(table), path: "fake", name: nil, initializationArguments: nil, release: nil)
    }
}

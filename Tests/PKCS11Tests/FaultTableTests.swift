import KeyfobPrimitives
import TestSupport
import Testing

@testable import PKCS11

/// Every C function that Keyfob calls, answering every return value that PKCS#11 2.40 lists for it, and a few that it
/// does not list.
@Suite struct FaultTableTests {
    /// How Keyfob makes a call, which decides what one failure does.
    enum Use {
        /// In an operation of a pool that may run again: `healed` lists the values after which it succeeds.
        case repeatable
        /// Once: the error reaches the caller.
        case once
        /// The answer does not matter.
        case ignored
    }

    struct Call: CustomTestStringConvertible, Sendable {
        let function: PKCS11Function
        let use: Use
        /// The values beside those of all functions.
        let values: [ReturnValue]
        /// Values after which the call succeeds although its use says otherwise, and the reverse.
        var exceptions: Set<ReturnValue> = []
        let body: @Sendable (Bench) throws -> Void

        var testDescription: String { function.rawValue }

        func heals(_ value: ReturnValue) -> Bool {
            let isException = exceptions.contains(value)
            return switch use {
            case .repeatable: FaultTableTests.healed.contains(value) != isException
            case .once: isException
            case .ignored: true
            }
        }
    }

    /// The values after which an operation that may run again succeeds, if they occur once.
    static let healed: Set<ReturnValue> = [
        .deviceMemory, .sessionCount, .tokenResourceExceeded, .sessionClosed, .sessionHandleInvalid, .operationActive,
        .operationNotInitialized, .deviceError, .deviceRemoved, .tokenNotPresent, .slotIDInvalid, .generalError,
        .functionFailed, .userNotLoggedIn, .hostMemory, .sessionReadOnly, .cryptokiNotInitialized,
    ]

    /// The values of all functions, and some that no function may answer.
    private static let general: [ReturnValue] = [
        .generalError, .hostMemory, .functionFailed, .argumentsBad, .cryptokiNotInitialized, .cantLock,
        ReturnValue(rawValue: 0x8000_0001), ReturnValue(rawValue: 0xffff_ffff),
    ]
    private static let token: [ReturnValue] = [.deviceError, .deviceMemory, .deviceRemoved]
    private static let slot = token + [.slotIDInvalid, .tokenNotPresent, .tokenNotRecognized]
    private static let session = token + [.sessionClosed, .sessionHandleInvalid]
    private static let operation = session + [.functionCanceled, .operationActive, .operationNotInitialized]
    private static let change = session + [
        .attributeReadOnly, .attributeTypeInvalid, .attributeValueInvalid, .pinExpired, .sessionReadOnly,
        .templateIncomplete, .templateInconsistent, .tokenWriteProtected, .userNotLoggedIn,
    ]
    private static let start = operation + [
        .keyFunctionNotPermitted, .keyHandleInvalid, .keySizeRange, .keyTypeInconsistent, .mechanismInvalid,
        .mechanismParameterInvalid, .pinExpired, .userNotLoggedIn,
    ]
    private static let transformation = operation + [.bufferTooSmall, .dataInvalid, .dataLengthRange]
    private static let making = change + [
        .curveNotSupported, .domainParametersInvalid, .functionCanceled, .mechanismInvalid, .mechanismParameterInvalid,
        .operationActive,
    ]

    /// Values of a failed login that the token may have answered before it checked the PIN; others end the call, since
    /// the PIN is not sent twice.
    private static let beforeLogin: Set<ReturnValue> = [
        .tokenNotPresent, .slotIDInvalid, .sessionClosed, .sessionHandleInvalid, .cryptokiNotInitialized,
    ]
    private static let login = session + [
        .functionCanceled, .operationNotInitialized, .pinIncorrect, .pinLocked, .pinExpired, .sessionReadOnlyExists,
        .userAnotherAlreadyLoggedIn, .userPINNotInitialized, .userTooManyTypes, .userTypeInvalid,
    ]

    static let calls: [Call] = [
        Call(
            function: .initialize, use: .once, values: [.cryptokiAlreadyInitialized, .needToCreateThreads],
            exceptions: [.cryptokiAlreadyInitialized]
        ) { try $0.reinitialize() },
        Call(function: .finalize, use: .ignored, values: []) { try $0.reinitialize() },
        Call(function: .getInfo, use: .once, values: []) { _ = try $0.token.module.info() },
        Call(function: .getSlotList, use: .repeatable, values: [.bufferTooSmall]) { bench in
            _ = try bench.makePool().tokenInfo()
        },
        Call(function: .getSlotInfo, use: .once, values: [.deviceError, .slotIDInvalid]) { bench in
            _ = try bench.token.slot.info()
        },
        Call(function: .getTokenInfo, use: .once, values: slot) { _ = try $0.token.slot.tokenInfo() },
        Call(function: .getMechanismList, use: .once, values: slot + [.bufferTooSmall]) { bench in
            _ = try bench.token.slot.mechanisms()
        },
        Call(function: .getMechanismInfo, use: .once, values: slot + [.mechanismInvalid]) { bench in
            _ = try bench.token.slot.mechanismInfo(.ecdsa)
        },
        Call(
            function: .openSession, use: .repeatable,
            values: slot + [
                .sessionCount, .sessionParallelNotSupported, .sessionReadWriteSOExists, .tokenWriteProtected,
            ]
        ) { try $0.makePool().withSession { _ in } },
        Call(function: .closeSession, use: .once, values: session) { bench in
            let session = try bench.token.slot.openSession()
            try session.close()
        },
        Call(function: .getSessionInfo, use: .repeatable, values: session) { try $0.makePool().withSession { _ in } },
        Call(
            function: .login, use: .repeatable, values: login,
            exceptions: healed.subtracting(beforeLogin)
        ) { try $0.loggingInAnew { _ in } },
        Call(
            function: .logout, use: .once, values: session + [.userNotLoggedIn], exceptions: [.userNotLoggedIn]
        ) { bench in
            try bench.pool.withSession { _ in }
            try bench.pool.logout()
        },
        Call(
            function: .initializeToken, use: .once, values: slot + [.pinIncorrect, .pinLocked, .sessionExists]
        ) { bench in
            try bench.token.slot.initializeToken(label: "x", securityOfficerPIN: bench.token.securityOfficerPIN)
        },
        Call(function: .initializePIN, use: .once, values: session + [.pinInvalid, .pinLengthRange]) { bench in
            try bench.once { try $0.initializePIN(bench.token.pin) }
        },
        Call(function: .setPIN, use: .once, values: session + [.pinIncorrect, .pinInvalid, .pinLocked]) { bench in
            try bench.once { try $0.setPIN(old: bench.token.pin, new: bench.token.pin) }
        },
        Call(function: .createObject, use: .once, values: making) { bench in
            try bench.once { _ = try $0.create(Bench.sessionKey) }
        },
        Call(function: .copyObject, use: .once, values: change) { bench in
            try bench.once { _ = try $0.copy(bench.secretKey(in: $0), changing: [.token(false)]) }
        },
        Call(
            function: .destroyObject, use: .once, values: session + [.actionProhibited, .objectHandleInvalid]
        ) { bench in
            try bench.once { try $0.destroy($0.create(Bench.sessionKey)) }
        },
        Call(function: .getAttributeValue, use: .repeatable, values: session + [.objectHandleInvalid]) { bench in
            try bench.pool.withSession { session in
                let key = try bench.signingKey(in: session)
                guard try session.attributes([.objectClass], of: key).objectClass == .privateKey else {
                    throw PKCS11Error(function: .getAttributeValue, returnValue: .ok, detail: "a wrong class")
                }
            }
        },
        Call(function: .setAttributeValue, use: .once, values: change + [.objectHandleInvalid]) { bench in
            try bench.once { try $0.setAttributes([.label("secret")], of: bench.secretKey(in: $0)) }
        },
        Call(
            function: .findObjectsInit, use: .repeatable,
            values: operation + [.attributeTypeInvalid, .attributeValueInvalid, .pinExpired]
        ) { bench in try bench.pool.withSession { _ = try bench.signingKey(in: $0) } },
        Call(function: .findObjects, use: .repeatable, values: operation) { bench in
            try bench.pool.withSession { _ = try bench.signingKey(in: $0) }
        },
        Call(function: .findObjectsFinal, use: .ignored, values: operation) { bench in
            try bench.pool.withSession { _ = try bench.signingKey(in: $0) }
        },
        Call(function: .encryptInit, use: .repeatable, values: start) { try $0.encrypt() },
        Call(
            function: .encrypt, use: .repeatable, values: transformation, exceptions: [.bufferTooSmall]
        ) { try $0.encrypt() },
        Call(function: .decryptInit, use: .repeatable, values: start) { try $0.decrypt() },
        Call(
            function: .decrypt, use: .repeatable,
            values: transformation + [.encryptedDataInvalid, .encryptedDataLengthRange, .userNotLoggedIn],
            exceptions: [.bufferTooSmall]
        ) { try $0.decrypt() },
        Call(function: .signInit, use: .repeatable, values: start) { try $0.sign() },
        Call(
            function: .sign, use: .repeatable, values: transformation + [.functionRejected, .userNotLoggedIn],
            exceptions: [.bufferTooSmall]
        ) { try $0.sign() },
        Call(function: .generateKey, use: .once, values: making) { bench in
            try bench.once { _ = try $0.generateKey(Mechanism(.aesKeyGeneration), template: Bench.newKey) }
        },
        Call(function: .generateKeyPair, use: .once, values: making) { bench in
            try bench.once { _ = try bench.makePair(isOnToken: false, in: $0) }
        },
        Call(
            function: .wrapKey, use: .repeatable,
            values: start + [
                .bufferTooSmall, .keyNotWrappable, .keyUnextractable, .wrappingKeyHandleInvalid, .wrappingKeySizeRange,
                .wrappingKeyTypeInconsistent,
            ], exceptions: [.bufferTooSmall]
        ) { bench in
            try bench.pool.withSession { session in
                let key = try session.create(Bench.sessionKey)
                _ = try session.wrap(key, with: bench.secretKey(in: session), using: Mechanism(.aesKeyWrap))
            }
        },
        Call(
            function: .unwrapKey, use: .once,
            values: making + [
                .unwrappingKeyHandleInvalid, .unwrappingKeySizeRange, .unwrappingKeyTypeInconsistent,
                .wrappedKeyInvalid, .wrappedKeyLengthRange,
            ]
        ) { bench in
            try bench.once { session in
                let key = try bench.secretKey(in: session)
                _ = try session.unwrap(
                    [UInt8](repeating: 0, count: 24), with: key, using: Mechanism(.aesKeyWrap), template: Bench.newKey)
            }
        },
        Call(function: .deriveKey, use: .once, values: making + [.keyHandleInvalid, .keyTypeInconsistent]) { bench in
            try bench.once { session in
                let key = try bench.signingKey(in: session)
                _ = try session.derive(from: key, using: Mechanism(.ecdsa), template: Bench.newKey)
            }
        },
        Call(
            function: .generateRandom, use: .repeatable,
            values: operation + [.randomNoRNG, .userNotLoggedIn]
        ) { try $0.pool.withSession { _ = try $0.random(count: 8) } },
        Call(function: .seedRandom, use: .once, values: operation + [.randomNoRNG, .randomSeedNotSupported]) { bench in
            try bench.once { try $0.seedRandom([1, 2, 3]) }
        },
    ]

    @Test(arguments: calls)
    func `one failure of a function is healed or reported, and the pool goes on`(call: Call) throws {
        let bench = try Bench()
        for value in Set(call.values + Self.general).sorted(by: { $0.rawValue < $1.rawValue }) {
            let error = try bench.error(of: call, answering: value, "1")
            if call.heals(value) {
                #expect(error == nil, "\(value)")
            } else {
                #expect(error?.returnValue == value, "\(value)")
                #expect(error?.function == call.function, "\(value)")
            }
            try bench.sign()
        }
        try bench.end(expecting: call.function == .closeSession ? nil : 0)
    }

    @Test(arguments: calls.filter { $0.use != .ignored })
    func `a function that goes on failing gives an error in time, and the pool goes on afterwards`(call: Call) throws {
        let bench = try Bench()
        let values: [ReturnValue] = [
            .deviceMemory, .sessionHandleInvalid, .deviceError, .tokenNotPresent, .generalError, .userNotLoggedIn,
            .cryptokiNotInitialized, ReturnValue(rawValue: 0xffff_ffff),
        ]
        for value in values where call.use != .once || !call.exceptions.contains(value) {
            let start = ContinuousClock.now
            #expect(try bench.error(of: call, answering: value, "") != nil, "\(value)")
            // A generous limit: a call may take two seconds, and the machine may be busy.
            #expect(ContinuousClock.now - start < .seconds(30), "\(value)")
            try bench.sign()
        }
        try bench.end(expecting: call.function == .closeSession ? nil : 0)
    }
}

extension FaultTableTests {
    /// A token behind a module that fails on demand, with a signing key and an AES key.
    final class Bench: Sendable {
        let token: TestToken
        let pool: SessionPool
        private let faulty: FaultyModule
        private let directory: TemporaryDirectory
        private let sealed: [UInt8]

        static let sessionKey: AttributeTemplate = [
            .objectClass(.secretKey), .keyType(.aes), .token(false), .isPrivate(true), .sensitive(false),
            .extractable(true), .secret(.value, SecretBytes([UInt8](repeating: 1, count: 16))),
        ]
        static let newKey: AttributeTemplate = [
            .objectClass(.secretKey), .keyType(.aes), .token(false), .isPrivate(true), .sensitive(true),
            .extractable(false), .valueLength(16),
        ]
        private static let cipher = Mechanism.aesCBCPad(iv: [UInt8](repeating: 0, count: 16))

        init() throws {
            directory = try TemporaryDirectory()
            faulty = try FaultyModule(in: directory)
            let token = try TestToken.make(label: "faults").behind(faulty)
            self.token = token
            pool = SessionPool(module: token.module, token: token.uri) { token.pin }
            sealed = try pool.withSession { session in
                _ = try Self.makePair(isOnToken: true, in: session)
                let key = try session.generateKey(
                    Mechanism(.aesKeyGeneration),
                    template: [
                        .objectClass(.secretKey), .keyType(.aes), .token(true), .isPrivate(true), .sensitive(true),
                        .extractable(false), .valueLength(32), .encrypt(true), .decrypt(true), .wrap(true),
                        .unwrap(true), .label("secret"),
                    ])
                return try session.encrypt([1, 2, 3], with: key, using: Self.cipher)
            }
        }

        /// The error of a call of which one function fails, or all calls of it.
        func error(of call: Call, answering value: ReturnValue, _ count: String) throws -> PKCS11Error? {
            // Otherwise a call may have to wait for a second.
            token.module.lifecycle.withLock { $0.nextReinitialization = nil }
            try faulty.say("answer=\(call.function),\(value.rawValue)" + (count.isEmpty ? "" : ",\(count)"))
            defer {
                do { try faulty.say("") } catch { Issue.record(error) }
                pool.forgetRefusal()
                token.module.lifecycle.withLock { $0.nextReinitialization = nil }
            }
            do { try call.body(self) } catch let error as PKCS11Error { return error }
            return nil
        }

        /// Checks that nothing is left open.
        func end(expecting count: Int?) throws {
            pool.close()
            guard let count else { return }
            #expect(try token.slot.tokenInfo().sessionCount == count)
        }

        func makePool() -> SessionPool {
            let token = token
            return SessionPool(module: token.module, token: token.uri) { token.pin }
        }

        func reinitialize() throws {
            try token.module.reinitialize()
        }

        /// Runs `body` in a pool that has to log in.
        func loggingInAnew(_ body: (borrowing Session) throws -> Void) throws {
            try pool.logout()
            try makePool().withSession(body)
        }

        func once(_ body: (borrowing Session) throws -> Void) throws {
            try pool.withSession(idempotent: false, body)
        }

        func sign() throws {
            try pool.withSession { session in
                let key = try signingKey(in: session)
                _ = try session.sign([UInt8](repeating: 7, count: 32), with: key, using: Mechanism(.ecdsa))
            }
        }

        func encrypt() throws {
            try pool.withSession { _ = try $0.encrypt([1, 2, 3], with: secretKey(in: $0), using: Self.cipher) }
        }

        func decrypt() throws {
            let plain = try pool.withSession { try $0.decrypt(sealed, with: secretKey(in: $0), using: Self.cipher) }
            #expect(plain == [1, 2, 3])
        }

        func signingKey(in session: borrowing Session) throws -> ObjectHandle {
            try first([.objectClass(.privateKey), .label("signer")], in: session)
        }

        func secretKey(in session: borrowing Session) throws -> ObjectHandle {
            try first([.objectClass(.secretKey), .label("secret")], in: session)
        }

        private func first(_ template: AttributeTemplate, in session: borrowing Session) throws -> ObjectHandle {
            guard let handle = try session.findObjects(template).first else {
                throw PKCS11Error(function: .findObjects, returnValue: .userNotLoggedIn)
            }
            return handle
        }

        func makePair(
            isOnToken: Bool, in session: borrowing Session
        ) throws -> ObjectHandle { try Self.makePair(isOnToken: isOnToken, in: session) }

        private static func makePair(isOnToken: Bool, in session: borrowing Session) throws -> ObjectHandle {
            try session.generateKeyPair(
                Mechanism(.ecKeyPairGeneration),
                publicTemplate: [
                    .bytes(.ecParameters, EllipticCurve.p256.parametersDER), .token(isOnToken), .isPrivate(false),
                    .verify(true), .label("signer"),
                ],
                privateTemplate: [
                    .token(isOnToken), .isPrivate(true), .sensitive(true), .extractable(false), .sign(true),
                    .label("signer"),
                ]
            ).privateKey
        }
    }
}

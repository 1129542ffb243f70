import Foundation
import KeyfobPrimitives
public import PKCS11

/// The token that `Scripts/test-tokens` started for this run.
public struct TokenUnderTest: Sendable {
    /// The kind of the token.
    public let kind: TokenKind
    /// The module, which stays loaded.
    public let module: Module
    /// The path of the module.
    public let modulePath: String
    /// The token's label.
    public let label: String
    /// The user's PIN.
    public let pin: String
    /// The parameters that the module takes when it starts; empty if it takes nothing.
    public let parameters: String
    private var existing: Set<[UInt8]>

    /// The token; `nil` if each test makes a SoftHSM token.
    public static let current: TokenUnderTest? = {
        guard kind != .softhsm else { return nil }
        do { return try TokenUnderTest() } catch { preconditionFailure("the token \(kind) cannot be used: \(error)") }
    }()

    /// The kind of the tokens of this run.
    public static let kind: TokenKind = {
        guard let name = variable("KEYFOB_TEST_TOKEN") else { return .softhsm }
        guard let kind = TokenKind(rawValue: name) else { preconditionFailure("no kind of token is called \(name)") }
        return kind
    }()

    private static func variable(_ name: String) -> String? { ProcessInfo.processInfo.environment[name] }

    private init() throws {
        kind = Self.kind
        modulePath = Self.variable("TOKEN_MODULE") ?? ""
        label = Self.variable("TOKEN_LABEL") ?? ""
        pin = Self.variable("TOKEN_PIN") ?? ""
        parameters = Self.variable("TOKEN_PARAMETERS") ?? ""
        module = try Module.load(
            path: modulePath, initializationArguments: parameters.isEmpty ? nil : parameters)
        existing = []
        existing = try withSession { session in Set(try Self.objects(in: session).map(\.name)) }
    }

    /// A URI that names the token by its label.
    public var uri: PKCS11URI {
        var uri = PKCS11URI()
        uri.token = label
        return uri
    }

    /// Destroys the objects that tests have made.
    ///
    /// - Throws: `PKCS11Error`.
    public func clear() throws {
        guard kind.abilities.contains(.storesCertificates) else { return }
        // A TPM does not release keys that this login has made or used.
        if kind == .tpm2 { try module.reinitialize() }
        try withSession { session in
            for object in try Self.objects(in: session) where !existing.contains(object.name) {
                try session.destroy(object.handle)
            }
        }
    }

    /// Runs pkcs11-tool on the token, logged in, as another program would.
    ///
    /// - Throws: `RunError`; a failure of the tool is a result.
    public func runTool(_ arguments: [String], stdin: [UInt8] = []) throws -> RunResult {
        try run(
            "pkcs11-tool", ["--module", modulePath, "--token-label", label, "--login", "--pin", pin] + arguments,
            stdin: stdin, environment: ProcessInfo.processInfo.environment)
    }

    private func withSession<Result>(_ body: (borrowing Session) throws -> Result) throws -> Result {
        guard let slot = try module.slot(matching: uri) else {
            throw PKCS11Error(function: .getSlotList, returnValue: .tokenNotPresent, detail: label)
        }
        let session = try slot.openSession(readWrite: kind.abilities.contains(.storesCertificates))
        do throws(PKCS11Error) { try session.login(pin: SecretBytes(utf8: pin)) } catch {
            guard error.returnValue == .userAlreadyLoggedIn else { throw error }
        }
        return try body(session)
    }

    private static func objects(in session: borrowing Session) throws -> [(handle: ObjectHandle, name: [UInt8])] {
        var objects: [(ObjectHandle, [UInt8])] = []
        for handle in try session.findObjects([]) {
            let values = try session.attributes([.objectClass, .id, .label], of: handle)
            var name: [UInt8] = []
            for type in [AttributeType.objectClass, .id, .label] { name += (values[type] ?? []) + [0] }
            objects.append((handle, name))
        }
        return objects
    }
}

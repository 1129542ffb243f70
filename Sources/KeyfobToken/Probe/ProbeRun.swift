import Foundation
import KeyfobOpenSSL
import KeyfobPrimitives
import PKCS11

/// One run of the attempts of a `TokenProbe`.
final class ProbeRun {
    private(set) var results: [TokenProbe.Result] = []
    private(set) var presentKeys: [TokenProbe.PresentKey] = []
    private(set) var leftovers = 0
    let store: TokenStore
    /// The ids of the objects that were made, by which they are removed.
    private var ids: [[UInt8]] = []
    private var isLoggedIn = false
    private var isWriteProtected = false

    init(_ store: TokenStore) { self.store = store }

    /// Makes all attempts that are possible, and removes what they made.
    ///
    /// - Throws: `KeychainError` if the token is absent or refuses the PIN; `timedOut`.
    func probe(_ info: TokenInfo) throws {
        isWriteProtected = info.flags.contains(.writeProtected)
        // The first session logs in, if there is a PIN.
        let session = try store.withSession(.login) { try $0.info() }
        isLoggedIn = session.isUserLoggedIn || !info.flags.contains(.loginRequired)
        if !info.flags.contains(.loginRequired) {
            note(.login, .works, "the token needs no login")
        } else {
            note(.login, isLoggedIn ? .works : .untried, isLoggedIn ? nil : "no PIN was given")
        }
        defer { removeObjects() }
        try attempt(.randomNumbers) { session in
            guard Set(try session.random(count: 32)).count > 1 else { throw Self.wrong("all bytes are the same") }
            return nil
        }
        guard isLoggedIn else {
            let suites = WrapSuites.all.map { TokenProbe.Capability.wrapping($0.name) }
            for capability in [.certificates, .keyImport] + Self.ofECKey + Self.ofRSAKey + suites
            where !results.contains(where: { $0.capability == capability }) {
                note(capability, .untried, "needs a login")
            }
            return
        }
        try attempt(.certificates) { try self.storeCertificate($0) }
        try attempt(.keyImport) { try self.importKey($0) }
        try probeECKey()
        try probeRSAKey()
        let listed = Set(try store.slot().mechanisms())
        for suite in WrapSuites.all.compactMap({ $0 as? any SecretKeyWrapSuite }) {
            try probe(suite, listed)
        }
        if !results.contains(where: { $0.capability.isWrapping && $0.outcome == .works }) { try probePresentKeys() }
    }

    // MARK: Attempts

    /// Runs an attempt and notes its result.
    ///
    /// - Parameter body: Returns a remark for the result, or throws.
    /// - Throws: `KeychainError` if the token is gone or does not answer in time.
    @discardableResult
    func attempt(
        _ capability: TokenProbe.Capability, _ body: (borrowing Session) throws -> String?
    ) throws -> Bool {
        do {
            note(capability, .works, try store.withSession(.generate, idempotent: false, body))
            return true
        } catch let error as KeychainError where [.tokenAbsent, .timedOut, .pinIncorrect].contains(error.code) {
            throw error
        } catch {
            note(capability, .fails, Self.words(for: error))
            return false
        }
    }

    func note(_ capability: TokenProbe.Capability, _ outcome: TokenProbe.Outcome, _ reason: String?) {
        results.append(TokenProbe.Result(capability: capability, outcome: outcome, reason: reason))
    }

    /// Returns the reason of a failure: the function of the module and its return value, if there is one.
    private static func words(for error: any Error) -> String {
        if let cause = (error as? KeychainError)?.cause as? PKCS11Error {
            return "\(cause.function.rawValue): \(cause.returnValue.name)"
        }
        if let error = error as? PKCS11Error { return "\(error.function.rawValue): \(error.returnValue.name)" }
        return (error as? KeychainError)?.message ?? String(describing: error)
    }

    static func wrong(_ message: String) -> KeychainError { KeychainError(.tokenContractViolation, message) }

    // MARK: Objects

    /// Returns a new id. Each object has its own, because some tokens replace a key that has the same id.
    func newID() throws -> [UInt8] {
        let id = try RandomBytes.bytes(count: 20)
        ids.append(id)
        return id
    }

    static let labelBytes = Array(TokenProbe.label.utf8)

    /// Makes an object in the session, or on the token if the token makes no such session object.
    ///
    /// - Parameter make: Makes the object; its parameter is the value of `CKA_TOKEN`.
    func preferringSession<Object>(_ make: (Bool) throws -> Object) throws -> Object {
        do { return try make(false) } catch let error {
            let cause = (error as? KeychainError)?.cause ?? error
            guard !isWriteProtected, let refusal = cause as? PKCS11Error,
                refusal.isRefusalOfSuite || refusal.isUninformative
            else { throw error }
            do { return try make(true) } catch {
                // The first refusal concerns the token in general.
                throw refusal
            }
        }
    }

    /// Destroys what is left of the objects on the token.
    private func removeObjects() {
        leftovers = 0
        for id in ids {
            // The first error must not keep the other objects on the token.
            do {
                leftovers += try store.withSession(.destroy) { session in
                    for handle in try session.findObjects([.id(id), .token(true)]) { try session.destroy(handle) }
                    return try session.findObjects([.id(id), .token(true)]).count
                }
            } catch { leftovers += 1 }
        }
        store.forgetHandles()
    }

    // MARK: Keys on the token

    /// Looks for keys on the token that wrap. Keys that need the PIN at each use are left out.
    private func probePresentKeys() throws {
        let objects = try store.withSession(.read) { try store.list(in: $0).objects }
        for object in objects
        where [.privateKey, .secretKey].contains(object.objectClass) && !object.id.isEmpty
            && object.flags.contains(.isPrivate) && !object.flags.contains(.extractable)
            && !object.flags.contains(.alwaysAuthenticate)
        {
            guard objects.count(where: { $0.objectClass == object.objectClass && $0.id == object.id }) == 1 else {
                continue
            }
            // A key that libcrypto does not accept cannot wrap.
            let publicKey = object.objectClass == .privateKey ? try? object.publicHalf(among: objects) : nil
            guard object.objectClass == .secretKey || publicKey != nil else { continue }
            // A key that does not wrap is not an error.
            guard let suite = try? store.withSession(.unwrap, {
                try store.wrappingKey(object, publicKey: publicKey, in: $0).suite.name
            }) else { continue }
            var uri = PKCS11URI()
            uri.id = [UInt8](object.id)
            uri.type = object.objectClass
            presentKeys.append(TokenProbe.PresentKey(uri: uri, suite: suite))
        }
        let names = presentKeys.map { "\($0.suite) with \($0.uri)" }
        note(
            .presentKey, names.isEmpty ? .fails : .works,
            names.isEmpty ? "no key on the token can do it" : names.joined(separator: ", "))
    }
}

extension AttributeTemplate {
    /// The template of a temporary object.
    ///
    /// - Parameter isOnToken: Whether it is a token object.
    func temporary(onToken isOnToken: Bool) -> AttributeTemplate {
        AttributeTemplate(attributes.map { $0.type == .token ? .token(isOnToken) : $0 })
    }
}

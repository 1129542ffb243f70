import Foundation
import GRDB
import Keyfob
import KeyfobTesting
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import KeychainServices

/// A keychain for one test and the four functions on it.
///
/// Dictionaries are written with Apple's raw values, because the constants have their own test.
final class SecItemFixture: @unchecked Sendable {  // Immutable except for the groups, which a test sets between calls.
    let throwaway: ThrowawayKeychain
    var keychain: Keychain { throwaway.keychain }
    var groups: [String]? = nil

    init() throws { throwaway = try TestKeychain.make() }

    typealias Dictionary = [String: Any]

    func use<Result>(_ body: () throws -> Result) rethrows -> Result {
        try SecKeychainUse(keychain, accessGroups: groups, during: body)
    }

    func add(_ attributes: Dictionary) -> OSStatus { use { SecItemAdd(attributes as CFDictionary, nil) } }
    func update(_ query: Dictionary, _ changes: Dictionary) -> OSStatus {
        use { SecItemUpdate(query as CFDictionary, changes as CFDictionary) }
    }
    func delete(_ query: Dictionary) -> OSStatus { use { SecItemDelete(query as CFDictionary) } }
    func copy(_ query: Dictionary) -> OSStatus { use { SecItemCopyMatching(query as CFDictionary, nil) } }

    /// The state of the result pointer after a call.
    struct Answer {
        let status: OSStatus
        let value: AnyObject?
        /// Whether the pointer was written to.
        let isTouched: Bool
        var data: Data? { value as? Data }
        var dictionary: [String: Any]? { value as? [String: Any] }
        var array: [Any]? { value as? [Any] }
        var dictionaries: [[String: Any]]? { value as? [[String: Any]] }
    }

    func adding(_ attributes: Dictionary) -> Answer {
        unsafe answer { unsafe SecItemAdd(attributes as CFDictionary, $0) }
    }
    func copying(_ query: Dictionary) -> Answer {
        unsafe answer { unsafe SecItemCopyMatching(query as CFDictionary, $0) }
    }

    /// Generates a key pair on the keychain's token or in memory.
    func generating(_ parameters: Dictionary) throws -> SecKey {
        let key = use { SecKeyCreateRandomKey(parameters as CFDictionary, nil) }
        return try #require(key)
    }

    private func answer(_ call: (UnsafeMutablePointer<CFTypeRef?>) -> OSStatus) -> Answer {
        let untouched = NSObject()
        var result: CFTypeRef? = untouched
        let status = use { unsafe call(&result) }
        let isTouched = result !== untouched
        return Answer(status: status, value: isTouched ? result : nil, isTouched: isTouched)
    }

    /// Expects a sequence of statuses.
    func expect(
        _ expected: OSStatus, _ status: OSStatus, _ what: String = "", sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(status == expected, "\(what)", sourceLocation: sourceLocation)
    }

    /// Runs pkcs11-tool on the keychain's token, as another program does.
    func tool(_ arguments: [String]) throws {
        let pin = try String(contentsOfFile: #require(keychain.objects.pinFile), encoding: .utf8)
        let result = try TestToken.runTool(arguments, onToken: keychain.name, pin: pin)
        try #require(result.status == 0, "pkcs11-tool \(arguments): \(result.stderr)")
    }

    /// Opens a separate connection to the vault's file, as another program does.
    func sql(_ statement: String, _ arguments: StatementArguments = StatementArguments()) throws {
        let queue = try DatabaseQueue(path: keychain.configuration.vault)
        try queue.writeWithoutTransaction { try $0.execute(sql: statement, arguments: arguments) }
    }
}

/// Merges attributes; the right side takes precedence.
func + (left: [String: Any], right: [String: Any]) -> [String: Any] { left.merging(right) { $1 } }

/// A generic password.
func genp(_ account: String, _ service: String, _ more: [String: Any] = [:]) -> [String: Any] {
    ["class": "genp", "acct": account, "svce": service] + more
}

var wantsAttributes: [String: Any] { ["r_Attributes": true] }
var wantsData: [String: Any] { ["r_Data": true] }
var wantsReference: [String: Any] { ["r_Ref": true] }
var wantsPersistent: [String: Any] { ["r_PersistentRef": true] }
var wantsAll: [String: Any] { ["m_Limit": "m_LimitAll"] }

/// A key and its certificate, made by the openssl command.
struct TestPair {
    let key: PrivateKey
    let certificate: Certificate
    var secKey: SecKey { SecKey(.memory(key)) }
    var secPublicKey: SecKey { SecKey(.public(key.publicKey)) }
    var secCertificate: SecCertificate { SecCertificate(certificate) }
    var secIdentity: SecIdentity { SecIdentity(certificate: secCertificate, privateKey: secKey) }

    init(
        _ name: String = "example.org", _ options: [String] = [],
        key: [String] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    ) throws {
        let directory = try TemporaryDirectory()
        let result = try run(
            "openssl",
            ["req", "-x509", "-nodes", "-subj", "/O=Keyfob/CN=\(name)", "-days", "30"] + options + key
                + ["-keyout", directory.file("key.pem"), "-outform", "DER", "-out", directory.file("cert.der")])
        try #require(result.status == 0, "openssl: \(result.stderr)")
        self.key = try PrivateKey.load(try Data(contentsOf: directory.url("key.pem")))
        certificate = try Certificate(der: try Data(contentsOf: directory.url("cert.der")))
    }
}

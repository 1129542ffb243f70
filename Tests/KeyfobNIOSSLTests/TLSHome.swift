#if NIOSSL
import Foundation
import Keyfob
import KeyfobNIOSSL
import KeyfobPrimitives
import KeyfobTesting
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

/// The keychain of one test, and an authority in files beside it. The openssl command makes the root, the intermediate
/// and the certificates that they issue.
final class TLSHome: Sendable {
    let keychain: Keychain
    let directory: TemporaryDirectory
    /// Removed with the home.
    private let throwaway: ThrowawayKeychain?

    /// A home on a SoftHSM token.
    convenience init() throws {
        let throwaway = try TestToken.retrying { try ThrowawayKeychain() }
        try self.init(throwaway.keychain, throwaway, TemporaryDirectory())
    }

    /// A home on a token that can be removed, slowed down and so on.
    static func faulty(
        saying words: String = "", timeout: Duration = Keychain.Options().timeout
    ) throws -> (home: TLSHome, module: FaultyModule) {
        let directory = try TemporaryDirectory()
        let token = try TestToken.make(label: "faulty")
        let module = try FaultyModule(in: directory, saying: words)
        _ = try token.behind(module)
        let pin = try directory.write(Array(TestToken.pinText.utf8), to: "pin")
        var options = Keychain.Options()
        options.timeout = timeout
        let made = try Keychains(Directories(root: directory.url("keyfob"))).create(
            token.label, on: .existing(token.uri, .path(module.path), pin: token.pin, pinSource: .file(pin)),
            options: options)
        return (try TLSHome(made.keychain, nil, directory), module)
    }

    private init(_ keychain: Keychain, _ throwaway: ThrowawayKeychain?, _ directory: TemporaryDirectory) throws {
        self.keychain = keychain
        self.throwaway = throwaway
        self.directory = directory
        try Data(Self.extensions.utf8).write(to: directory.url("ext"))
        try shell(
            """
            openssl ecparam -name prime256v1 -genkey -noout -out root.key
            openssl req -x509 -new -key root.key -subj "/CN=Test Root" -days 30 -out root.pem
            openssl ecparam -name prime256v1 -genkey -noout -out inter.key
            openssl req -new -key inter.key -subj "/CN=Test Intermediate" |
                openssl x509 -req -CA root.pem -CAkey root.key -set_serial 2 -days 30 -extfile ext -extensions ca -out inter.pem
            """)
    }

    private static let extensions = """
        [ca]
        basicConstraints=critical,CA:true
        keyUsage=critical,keyCertSign
        [server]
        extendedKeyUsage=serverAuth
        subjectAltName=DNS:localhost,IP:127.0.0.1
        [client]
        extendedKeyUsage=clientAuth
        [email]
        extendedKeyUsage=emailProtection
        subjectAltName=DNS:localhost
        [encipher]
        keyUsage=keyEncipherment
        subjectAltName=DNS:localhost
        [other]
        subjectAltName=DNS:other.example

        """

    func file(_ name: String) -> String { directory.file(name) }

    /// Runs a script in the directory; its failure is a failure of the test.
    @discardableResult
    func shell(_ script: String) throws -> String {
        let result = try run("sh", ["-euc", script], directory: directory.file("."))
        try #require(result.status == 0, "\(script): \(result.stderr)")
        return result.stdout
    }

    /// Creates a key and a certificate in files `name.key` and `name.pem`.
    func issue(
        _ name: String, _ kind: KeyKind = .p256, _ profile: String = "server",
        subject: String = "/CN=localhost"
    ) throws {
        let serial = UInt32.random(in: 1 ... .max)
        try shell(
            """
            openssl genpkey \(kind.genpkey) -out \(name).key
            openssl req -new -key \(name).key -subj "\(subject)" |
                openssl x509 -req -CA inter.pem -CAkey inter.key -set_serial \(serial) -days 20 \
                -extfile ext -extensions \(profile) -out \(name).pem
            """)
    }

    /// Stores an identity in the keychain under `label`.
    @discardableResult
    func add(
        _ label: String, _ kind: KeyKind = .p256, _ profile: String = "server", file: String? = nil,
        chain: Bool = true, isReplacing: Bool = false
    ) throws -> Identity {
        let file = file ?? label
        if !FileManager.default.fileExists(atPath: self.file("\(file).pem")) { try issue(file, kind, profile) }
        return try keychain.identities.importKeyPair(
            key: PrivateKey.load(contents("\(file).key")), certificate: certificate(file),
            chain: chain ? [certificate("inter")] : [], label: label, isReplacing: isReplacing
        ).identity
    }

    /// Stores a second version under the same label, as a renewal does: the old one stays.
    @discardableResult
    func renew(
        _ label: String, _ kind: KeyKind = .p256, _ profile: String = "server", file: String
    ) throws -> Identity {
        // Certificates have whole seconds, so the new one must have begun later.
        Thread.sleep(forTimeInterval: 1.1)
        try issue(file, kind, profile)
        let made = try keychain.identities.importKeyPair(
            key: PrivateKey.load(contents("\(file).key")), certificate: certificate(file),
            chain: [certificate("inter")])
        // Sets the label in a way that does not change another item of the name.
        let reference = try #require(made.identity.item.reference)
        _ = try keychain.update(Criteria(reference), [.label: .string(label)])
        return try keychain.find(.identity(label: label)).first { $0.der == made.identity.der } ?? made.identity
    }

    func contents(_ name: String) throws -> Data { try Data(contentsOf: directory.url(name)) }

    func certificate(_ name: String) throws -> KeyfobOpenSSL.Certificate {
        try KeyfobOpenSSL.Certificate(pem: contents(name + ".pem"))
    }

    /// The id that key and certificate of `name.pem` have on the token, in the form that tools take.
    func id(of name: String) throws -> String {
        try certificate(name).publicKey.identifier.map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }

    var pin: String {
        get throws {
            let source = try #require(keychain.configuration.pinSource)
            return try String(contentsOfFile: String(source.dropFirst(5)), encoding: .utf8)
        }
    }

    /// Runs pkcs11-tool on the token, logged in: another process, which knows nothing of Keyfob.
    @discardableResult
    func tool(_ arguments: [String]) throws -> RunResult {
        let result = try run(
            "pkcs11-tool",
            ["--module", TestToken.modulePath, "--token-label", keychain.name, "--login", "--pin", try pin] + arguments,
            environment: ["SOFTHSM2_CONF": TestToken.configurationPath])
        try #require(result.status == 0, "pkcs11-tool \(arguments): \(result.stderr)")
        return result
    }

    /// Opens a session with the keychain's token, bypassing the keychain.
    func withSession<Result>(_ body: (borrowing Session) throws -> Result) throws -> Result {
        try TestToken.withSession(PKCS11URI(keychain.configuration.token), pin: SecretBytes(utf8: pin), body)
    }
}

/// The kinds of keys that servers have.
enum KeyKind: String, CaseIterable, Sendable {
    case rsa, p256, p384, p521, ed25519

    var genpkey: String {
        switch self {
        case .rsa: "-algorithm RSA -pkeyopt rsa_keygen_bits:2048"
        case .p256: "-algorithm EC -pkeyopt ec_paramgen_curve:P-256"
        case .p384: "-algorithm EC -pkeyopt ec_paramgen_curve:P-384"
        case .p521: "-algorithm EC -pkeyopt ec_paramgen_curve:P-521"
        case .ed25519: "-algorithm ED25519"
        }
    }
}

/// The code of the `KeychainError` that `body` throws; `nil` if it throws none.
func code(_ body: () async throws -> Void) async -> KeychainError.Code? {
    do {
        try await body()
        return nil
    } catch let error as KeychainError {
        return error.code
    } catch {
        Issue.record("not a KeychainError: \(error)")
        return nil
    }
}
#endif

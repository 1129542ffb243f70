import Foundation
import Keyfob
import KeyfobPrimitives
import PKCS11

extension KeyfobBench {
    /// The time of the cheapest call through the pool, and signatures a second of 64 callers that share four sessions.
    static func pool(seconds: Double) throws {
        let environment = ProcessInfo.processInfo.environment
        guard let module = environment["KEYFOB_BENCH_MODULE"], let token = environment["KEYFOB_BENCH_TOKEN"],
            let pin = environment["KEYFOB_BENCH_PIN"]
        else { throw KeychainError(.invalidArgument, "KEYFOB_BENCH_MODULE, _TOKEN and _PIN must name the token.") }
        var uri = PKCS11URI()
        uri.token = token
        let pool = SessionPool(
            module: try Module.load(path: module), token: uri, configuration: .init(maximumSessions: 4)
        ) { SecretBytes(utf8: pin) }
        _ = try pool.withSession { try $0.info() }
        var count = 0
        let clock = ContinuousClock()
        let start = clock.now
        while clock.now < start + .seconds(seconds) {
            for _ in 0..<100 { _ = try pool.withSession { try $0.info() } }
            count += 100
        }
        print("lease", (clock.now - start) / .microseconds(1) / Double(count), "us")

        let pair = try pool.withSession(idempotent: false) { session in
            try session.generateKeyPair(
                Mechanism(.ecKeyPairGeneration),
                publicTemplate: [.token(true), .ecParameters(EllipticCurve.p256.parametersDER), .verify(true)],
                privateTemplate: [.token(true), .isPrivate(true), .sensitive(true), .extractable(false), .sign(true)])
        }
        let digest = [UInt8](repeating: 7, count: 32)
        print("sign-64-callers-4-sessions", try rate(seconds: seconds, threads: 64) {
            _ = try pool.withSession { try $0.sign(digest, with: pair.privateKey, using: Mechanism(.ecdsa)) }
        }, "sign/s")
        try pool.withSession { session in
            try session.destroy(pair.privateKey)
            try session.destroy(pair.publicKey)
        }
    }

    /// The time of reading one password again and again, in a keychain below `root` on the token of the environment.
    static func read(root: String, seconds: Double) throws {
        let environment = ProcessInfo.processInfo.environment
        guard let module = environment["TOKEN_MODULE"], let token = environment["TOKEN_LABEL"],
            let pin = environment["TOKEN_PIN"]
        else { throw KeychainError(.invalidArgument, "Scripts/token sets the variables that name the token.") }
        var uri = PKCS11URI()
        uri.token = token
        let parameters = environment["TOKEN_PARAMETERS"].flatMap { $0.isEmpty ? nil : $0 }
        let keychain = try Keychains(Directories(root: URL(fileURLWithPath: root))).create(
            "bench",
            on: .existing(uri, .path(module, parameters: parameters), pin: SecretBytes(utf8: pin), pinSource: nil),
            wrappingKey: environment["TOKEN_WRAPPING_KEY"].map { try PKCS11URI($0) }
        ).keychain
        let item = try keychain.add(GenericPassword(service: "bench"), secret: SecretBytes(utf8: "correct horse"))
        _ = try keychain.secret(of: item)
        var count = 0
        let clock = ContinuousClock()
        let start = clock.now
        repeat {
            _ = try keychain.secret(of: item)
            count += 1
        } while clock.now < start + .seconds(seconds)
        print("unwrap", (clock.now - start) / .microseconds(1) / Double(count), "us")
    }
}

import Foundation
import KeyfobOpenSSL

/// Certificates that sign themselves.
enum Authority {
    static func issue(_ algorithm: KeyAlgorithm) throws -> (key: PrivateKey, certificate: KeyfobOpenSSL.Certificate) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("keyfob-tls-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let key = try PrivateKey.generate(algorithm)
        try key.pkcs8PEM(passphrase: nil).copyData().write(to: folder.appendingPathComponent("key.pem"))
        let openssl = Process()
        openssl.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        openssl.arguments = [
            "req", "-x509", "-key", folder.path + "/key.pem", "-subj", "/CN=localhost", "-days", "9",
            "-addext", "subjectAltName=DNS:localhost", "-out", folder.path + "/cert.pem",
        ]
        openssl.standardError = FileHandle.nullDevice
        try openssl.run()
        openssl.waitUntilExit()
        return (key, try KeyfobOpenSSL.Certificate(pem: Data(contentsOf: folder.appendingPathComponent("cert.pem"))))
    }
}

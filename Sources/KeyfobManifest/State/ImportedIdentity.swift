import Foundation
import Keyfob
package import KeyfobOpenSSL
import KeyfobPrimitives

/// A key and its certificates from the files of a manifest.
package struct ImportedIdentity: Sendable {
    package let key: PrivateKey
    package let certificate: Certificate
    /// All certificates of the files.
    package let chain: [Certificate]

    /// Reads the files; `nil` if one of them is missing.
    ///
    /// - Throws: `ManifestError` if the files do not have exactly one key and its certificate; `KeychainError` if one
    ///   of them cannot be opened, with the place in the manifest.
    init?(_ entry: ImportEntry, _ sources: SecretSources) throws {
        let files = try entry.paths.compactMap { path in try Self.content(of: path, entry).map { (path, $0) } }
        guard files.count == entry.paths.count else { return nil }
        var keys: [PrivateKey] = []
        var certificates: [Certificate] = []
        for (path, data) in files {
            do {
                let (found, above) = try Self.parts(of: data, path, entry, sources)
                keys += found
                certificates += above
            } catch let error as KeychainError where !error.message.hasPrefix(entry.position.description) {
                throw error.with(message: "\(entry.position): \(error.message)")
            }
        }
        guard keys.count == 1, let key = keys.first else {
            throw Self.error("the files have \(keys.count) private keys instead of one", entry)
        }
        let own = certificates.filter { $0.publicKey == key.publicKey }
        guard let certificate = Certificate.current(among: own, on: Date()).first else {
            throw Self.error("the files have no certificate of the private key", entry)
        }
        self.key = key
        self.certificate = certificate
        chain = certificates
    }

    private static func error(_ message: String, _ entry: ImportEntry) -> ManifestError {
        ManifestError([ManifestProblem(message, at: entry.position)])
    }

    private static func content(of path: String, _ entry: ImportEntry) throws -> Data? {
        guard let file = OpenFile(path: path, flags: O_RDONLY | O_NOCTTY | O_NONBLOCK) else {
            guard errno != ENOENT else { return nil }
            throw error("\(path) cannot be read", entry)
        }
        return try file.read(limit: 16 << 20).copyData()
    }

    /// The keys and certificates of a file.
    private static func parts(
        of data: Data, _ path: String, _ entry: ImportEntry, _ sources: SecretSources
    ) throws -> (keys: [PrivateKey], certificates: [Certificate]) {
        let name = URL(fileURLWithPath: path).lastPathComponent
        guard !entry.isPKCS12 else {
            let contents = try KeyFile.pkcs12(
                data, fileName: name, passphrase: sources.passphrase(of: entry), allowsLegacy: entry.allowsLegacy)
            return (contents.identities.map(\.key), contents.certificates.map(\.certificate))
        }
        var (keys, certificates): ([PrivateKey], [Certificate]) = ([], [])
        if data.firstRange(of: Data("PRIVATE KEY-----".utf8)) != nil {
            keys.append(try KeyFile.load(data, fileName: name) { try sources.passphrase(of: entry) })
        }
        if data.firstRange(of: Data("CERTIFICATE-----".utf8)) != nil {
            certificates = try KeyFile.certificates(data, fileName: name)
        }
        guard !keys.isEmpty || !certificates.isEmpty else {
            throw error("\(name) contains neither a private key nor a certificate in PEM", entry)
        }
        return (keys, certificates)
    }
}

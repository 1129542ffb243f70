import COpenSSL
import Foundation
import KeyfobPrimitives

/// The authorities that the system trusts.
public enum SystemRoots {
    /// The places that are tried, in this order: where OpenSSL looks, then where distributions keep their bundle.
    ///
    /// `SSL_CERT_FILE` names another file, as it does for every program that uses OpenSSL.
    public static var candidates: [String] {
        var paths: [String] = []
        if let name = unsafe X509_get_default_cert_file_env(), let value = unsafe getenv(name) {
            paths.append(unsafe String(cString: value))
        }
        if let path = unsafe X509_get_default_cert_file() { paths.append(unsafe String(cString: path)) }
        return paths + [
            "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem",
        ]
    }

    /// The certificates of the first of `candidates` that exists; those that cannot be read are passed over.
    ///
    /// Blocks for reading some 200 KB, about 10 ms. Empty where the system has no bundle.
    ///
    /// - Throws: `KeyFileError` with code `unsupported` where it is no regular file but `/dev/null`, which has none: who
    ///   writes to a FIFO may never come. Else what reading the file throws.
    public static func load() throws -> [Certificate] {
        guard let path = candidates.first(where: { FileManager.default.fileExists(atPath: $0) }) else { return [] }
        var status = stat()
        if unsafe stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            guard path != "/dev/null" else { return [] }
            throw KeyFileError(.unsupported, "\(path) is no regular file")
        }
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        return PEM.blocks(in: data).compactMap { block in
            guard block.label == "CERTIFICATE", let content = block.content else {
                return nil
            }
            // One broken entry must not make the others unknown.
            return try? Certificate(der: content.copyData())
        }
    }
}

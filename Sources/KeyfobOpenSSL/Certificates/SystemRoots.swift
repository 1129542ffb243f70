import COpenSSL
import Foundation
import KeyfobPrimitives

/// The authorities that the system trusts.
public enum SystemRoots {
    /// The paths that are tried in order: OpenSSL's default, then the bundles of common distributions.
    ///
    /// As in every program that uses OpenSSL, `SSL_CERT_FILE` names another file.
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

    /// Returns the certificates of the first of `candidates` that exists, without those that cannot be read.
    ///
    /// Blocks about 10 ms to read some 200 KB. The result is empty if the system has no bundle, or if the path is
    /// `/dev/null`.
    ///
    /// - Throws: `KeyFileError` (`unsupported`) if it is not a regular file: reading a FIFO could block forever.
    ///   Otherwise the errors of reading the file.
    public static func load() throws -> [Certificate] {
        guard let path = candidates.first(where: { FileManager.default.fileExists(atPath: $0) }) else { return [] }
        var status = stat()
        if unsafe stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            guard path != "/dev/null" else { return [] }
            throw KeyFileError(.unsupported, "\(path) is not a regular file")
        }
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        return PEM.blocks(in: data).compactMap { block in
            guard block.label == "CERTIFICATE", let content = block.content else {
                return nil
            }
            // One malformed entry must not hide the others.
            return try? Certificate(der: content.copyData())
        }
    }
}

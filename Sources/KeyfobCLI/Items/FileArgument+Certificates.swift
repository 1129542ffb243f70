import Keyfob
import KeyfobOpenSSL

extension FileArgument {
    /// Reads the certificates of the file.
    ///
    /// - Parameter timeout: The value of `--timeout`, if given.
    /// - Throws: `KeychainError` if the file cannot be read or contains no certificate.
    func certificates(waiting timeout: TimeSpan?) throws -> [Certificate] {
        try KeyFile.certificates(read(waiting: timeout), fileName: name)
    }
}

extension Certificate {
    /// The first of several certificates that issued none of the others.
    static func leaf(of all: [Certificate]) -> Certificate {
        all.first { one in !all.contains { $0 != one && $0.isIssued(by: one) } } ?? all[0]
    }
}

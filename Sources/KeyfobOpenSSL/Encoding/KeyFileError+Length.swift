extension KeyFileError {
    /// Throws `damaged` if the DER that should fill `data` is truncated or followed by other bytes.
    static func checkLength(of bytes: some Collection<UInt8>, count: Int) throws(KeyFileError) {
        guard let header = DERHeader(bytes) else { throw KeyFileError(.damaged, "it is not DER") }
        if header.total > count { throw KeyFileError(.damaged, "it ends after \(count) of \(header.total) bytes") }
        if header.total < count { throw KeyFileError(.damaged, "\(count - header.total) bytes follow its end") }
    }
}

import OpenSSL

/// Trust in the anchors of the system.
enum SystemTrust {
    /// Whether a certificate is one of the system's anchors or was issued below one, and is valid now.
    static func isTrusted(_ certificate: Certificate) throws -> Bool { false }
}

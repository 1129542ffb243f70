package import KeyfobOpenSSL

/// A key that an agent serves.
package struct SSHAgentKey: Sendable {
    /// The public key in the form that the protocol sends.
    package let blob: [UInt8]
    /// The name that lists of the agent show, without control characters: lists have one line for each key.
    package let comment: String
    /// The type of the key.
    let algorithm: KeyAlgorithm
    /// Signs a message; the signature has the form that X.509 uses.
    let sign: @Sendable (_ message: [UInt8], _ scheme: SignatureScheme) async throws -> [UInt8]

    /// Creates a key; `nil` for keys that OpenSSH does not support.
    package init?(
        _ publicKey: PublicKey, comment: String,
        sign: @escaping @Sendable (_ message: [UInt8], _ scheme: SignatureScheme) async throws -> [UInt8]
    ) {
        guard let blob = OpenSSHKey.blob(of: publicKey) else { return nil }
        self.blob = blob
        self.comment = TerminalSafe.text(comment)
        algorithm = publicKey.algorithm
        self.sign = sign
    }

    /// Creates a key that a token signs with; `nil` for keys that OpenSSH does not support.
    package init?(_ key: TokenKey, comment: String) {
        self.init(key.publicKey, comment: comment) { try await key.sign($0, using: $1) }
    }

    /// The fingerprint as OpenSSH prints it.
    package var fingerprint: String { OpenSSHKey.fingerprint(ofBlob: blob) }
}

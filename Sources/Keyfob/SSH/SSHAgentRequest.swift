package import KeyfobPrimitives

/// A request of the agent protocol (draft-ietf-sshm-ssh-agent).
package enum SSHAgentRequest: Equatable, Sendable {
    /// Lists the public keys.
    case listKeys
    /// Signs `data` with the key of a public key.
    case sign(key: [UInt8], data: [UInt8], flags: UInt32)
    /// Removes a key from the agent.
    case remove(key: [UInt8])
    /// Removes all keys from the agent.
    case removeAll
    /// Locks the agent with a passphrase.
    case lock(SecretBytes)
    /// Unlocks it.
    case unlock(SecretBytes)
    /// Asks which extensions the agent supports.
    case queryExtensions
    /// A request of another type, such as one to add a key or one of another extension, or one with wrong content.
    case unsupported

    private enum Kind {
        static let requestIdentities: UInt8 = 11
        static let signRequest: UInt8 = 13
        static let removeIdentity: UInt8 = 18
        static let removeAllIdentities: UInt8 = 19
        static let lock: UInt8 = 22
        static let unlock: UInt8 = 23
        static let `extension`: UInt8 = 27
    }

    /// Parses a message without its length. The caller wipes it, because it may contain a passphrase.
    package init(_ message: ArraySlice<UInt8>) {
        do { self = try Self.parsed(message) } catch { self = .unsupported }
    }

    private static func parsed(_ message: ArraySlice<UInt8>) throws(SSHReader.Truncation) -> Self {
        var reader = SSHReader(message)
        let request: Self
        switch try reader.byte() {
        case Kind.requestIdentities: request = .listKeys
        case Kind.signRequest:
            let (key, data) = (Array(try reader.string()), Array(try reader.string()))
            request = .sign(key: key, data: data, flags: try reader.number())
        case Kind.removeIdentity: request = .remove(key: Array(try reader.string()))
        case Kind.removeAllIdentities: request = .removeAll
        case Kind.lock: request = .lock(SecretBytes(try reader.string()))
        case Kind.unlock: request = .unlock(SecretBytes(try reader.string()))
        case Kind.extension:
            guard try reader.string().elementsEqual("query".utf8) else { return .unsupported }
            request = .queryExtensions
        default: return .unsupported
        }
        return reader.isAtEnd ? request : .unsupported
    }
}

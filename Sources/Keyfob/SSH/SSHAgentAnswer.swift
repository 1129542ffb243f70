/// An answer of the agent protocol (draft-ietf-sshm-ssh-agent).
package enum SSHAgentAnswer: Equatable, Sendable {
    /// The request was refused, failed, or is not supported.
    case failure
    /// The request was carried out.
    case success
    /// The keys.
    case keys([(blob: [UInt8], comment: String)])
    /// A signature in the form of the protocol.
    case signature([UInt8])
    /// The names of the supported extensions.
    case extensions([String])

    private enum Kind {
        static let failure: UInt8 = 5
        static let success: UInt8 = 6
        static let identitiesAnswer: UInt8 = 12
        static let signResponse: UInt8 = 14
        static let extensionResponse: UInt8 = 29
    }

    /// The whole message: its length, its type and its content.
    package var message: [UInt8] {
        var writer = SSHWriter()
        switch self {
        case .failure: writer.append(byte: Kind.failure)
        case .success: writer.append(byte: Kind.success)
        case .keys(let keys):
            writer.append(byte: Kind.identitiesAnswer)
            writer.append(number: UInt32(keys.count))
            for (blob, comment) in keys {
                writer.append(string: blob)
                writer.append(string: comment.utf8)
            }
        case .signature(let signature):
            writer.append(byte: Kind.signResponse)
            writer.append(string: signature)
        case .extensions(let names):
            writer.append(byte: Kind.extensionResponse)
            writer.append(string: "query".utf8)
            for name in names { writer.append(string: name.utf8) }
        }
        var message = SSHWriter()
        message.append(string: writer.bytes)
        return message.bytes
    }

    package static func == (left: Self, right: Self) -> Bool { left.message == right.message }
}

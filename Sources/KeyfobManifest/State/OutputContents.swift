import Foundation
import Glibc
import PKCS11
package import Keyfob
package import KeyfobOpenSSL
package import KeyfobPrimitives

/// The contents of files for programs.
package struct OutputContents: Sendable {
    private let keychain: Keychain
    private let certificates: [Certificate]

    /// - Parameter certificates: All certificates of the keychain.
    package init(of keychain: Keychain, certificates: [Certificate]) {
        self.keychain = keychain
        self.certificates = certificates
    }

    /// Reads the certificates of a keychain.
    ///
    /// - Throws: `KeychainError` if the keychain cannot be unlocked or the token cannot be read.
    package init(of keychain: Keychain) throws {
        // An object that is not a certificate cannot be part of a chain.
        self.init(of: keychain, certificates: try keychain.find(.certificates).compactMap { try? $0.certificate() })
    }

    /// The content of a file about an identity.
    ///
    /// - Throws: `KeychainError` if the identity is not on the token.
    package func bytes(_ content: OutputEntry.Content, of identity: Identity) throws -> SecretBytes {
        let leaf = try identity.certificate()
        switch content {
        case .chain:
            let chain = CertificateChain.order(leaf: leaf, candidates: certificates)
            return SecretBytes(utf8: chain.withoutRoot.map(\.pem).joined())
        case .certificate, .value: return SecretBytes(utf8: leaf.pem)
        case .keyURI: return SecretBytes(utf8: try keychain.objects.uri(of: identity).description + "\n")
        }
    }
}

extension OutputEntry {
    /// The numbers of the owner and the group; `nil` for one that is not given.
    ///
    /// - Throws: `ManifestError` for a user or group that does not exist.
    package func ownership() throws(ManifestError) -> (owner: UInt32?, group: UInt32?) {
        (
            try owner.map { name throws(ManifestError) in try Self.number(ofUser: name, at: position) },
            try group.map { name throws(ManifestError) in try Self.number(ofGroup: name, at: position) }
        )
    }

    private static func number(ofUser name: String, at position: Position) throws(ManifestError) -> UInt32 {
        // The largest number means "unchanged" to chown(2).
        if let number = UInt32(name), number != .max { return number }
        var entry = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: entrySize)
        guard unsafe getpwnam_r(name, &entry, &buffer, buffer.count, &found) == 0, unsafe found != nil else {
            throw ManifestError([ManifestProblem("there is no user \"\(name)\"", at: position)])
        }
        return unsafe entry.pw_uid
    }

    private static func number(ofGroup name: String, at position: Position) throws(ManifestError) -> UInt32 {
        if let number = UInt32(name), number != .max { return number }
        var entry = unsafe Glibc.group()
        var found: UnsafeMutablePointer<Glibc.group>?
        var buffer = [CChar](repeating: 0, count: entrySize)
        guard unsafe getgrnam_r(name, &entry, &buffer, buffer.count, &found) == 0, unsafe found != nil else {
            throw ManifestError([ManifestProblem("there is no group \"\(name)\"", at: position)])
        }
        return unsafe entry.gr_gid
    }

    /// Room for the texts of an entry; a group may have many members.
    private static let entrySize = 1 << 18

    /// The beginning of a file; `nil` if it cannot be read.
    private static func content(of path: String, limit: Int) -> SecretBytes? {
        guard let file = OpenFile(path: path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else { return nil }
        return try? file.read(limit: limit)
    }

    /// The state of the file.
    ///
    /// - Parameter content: What the file should contain; `nil` if that is not known yet.
    /// - Throws: `ManifestError` if the file cannot be written, or its owner does not exist.
    package func state(comparedWith content: SecretBytes?) throws -> FileState {
        let (owner, group) = try ownership()
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else {
            let directory = OpenFile.directory(of: path)
            guard unsafe access(directory, W_OK) == 0 else {
                throw ManifestError([
                    ManifestProblem(
                        "no file can be written in \(directory)", at: position, hint: "make that directory first")
                ])
            }
            return .missing
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw ManifestError([ManifestProblem("\(path) is not a file", at: position, hint: "name the file itself")])
        }
        var differing: [String] = []
        if let content {
            // A file that cannot be read counts as a different one.
            if Self.content(of: path, limit: content.count + 1) != content { differing.append("content") }
        } else {
            differing.append("content")
        }
        if status.st_mode & 0o7777 != mode { differing.append("mode") }
        if let owner, status.st_uid != owner { differing.append("owner") }
        if let group, status.st_gid != group { differing.append("group") }
        return .present(differing: differing)
    }
}

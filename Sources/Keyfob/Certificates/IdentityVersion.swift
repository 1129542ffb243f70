import Foundation
import PKCS11

/// How the versions of an identity are named.
///
/// An identity is known by a name, which is the label of its certificate on the token. The version in use bears the
/// name itself, so that every program which looks for the name finds that certificate and no other; an older one bears
/// the name and the day on which it expires.
///
/// A key keeps the label that it was generated under: the name for the first, the name and the day of its making for
/// those of renewals. It is told by its public key, not by its label, and changing the label of a private key is the
/// one thing that a kill can turn into its loss (``TokenPlan/Object/certificate``). The command lists it under the name
/// that its identity has now.
enum IdentityVersion {
    /// The label of an older version, or of the key of a newer one; one that is taken gets a number.
    static func label(_ name: String, _ date: Date, taken: Set<String>) -> String {
        let day = name + "@" + date.formatted(.iso8601.year().month().day())
        guard taken.contains(day) else { return day }
        // Not the number of versions: some of them may have been retired.
        return (2...).lazy.map { "\(day).\($0)" }.first { !taken.contains($0) } ?? day
    }

    /// Whether a label is that of an older version of a name, or of a key that was made for a renewal.
    static func isVersion(_ label: String, of name: String) -> Bool {
        let stem = name + "@"
        // By bytes: "é" is a name of its own however it is composed, and nobody's version of the other.
        guard label.utf8.starts(with: stem.utf8) else { return false }
        let day = String(decoding: label.utf8.dropFirst(stem.utf8.count), as: UTF8.self)
        return day.wholeMatch(of: /\d{4}-\d{2}-\d{2}(\.\d+)?/) != nil
    }

    /// The name that a version is one of; `nil` for a label that is no version's.
    static func name(ofVersion label: String) -> String? {
        guard let position = label.utf8.lastIndex(of: UInt8(ascii: "@")) else { return nil }
        let name = String(label[..<position])
        return !name.isEmpty && isVersion(label, of: name) ? name : nil
    }
}

extension KeychainItem {
    /// The name that an identity, its certificate or its key is an older version of, such as `api` for
    /// `api@2026-05-02`; `nil` for what is in use.
    public var nameOfVersion: String? { label.flatMap { IdentityVersion.name(ofVersion: $0) } }
}

extension TokenObject {
    /// The same object under a label.
    func relabelled(_ bytes: Data?) -> TokenObject {
        var object = self
        object.label = bytes.map { bytes in
            String(validating: bytes, as: UTF8.self).map { .string($0) } ?? .data(bytes)
        }
        return object
    }
}

import Foundation
import PKCS11

/// How the versions of an identity are named.
///
/// The name of an identity is the name of its certificate's row in the vault. The version in use has the name itself;
/// an older version has the name and the day on which it expires. A key keeps the name that it was made under: the
/// name for the first key, the name and the day of the renewal for later ones. Keys and certificates belong together by
/// the public key, never by their names.
enum IdentityVersion {
    /// The label of an older version, or of the key of a newer one; one that is taken gets a number.
    static func label(
        _ name: String, _ date: Date, isTaken: (String) throws -> Bool
    ) rethrows -> String {
        let day = name + "@" + date.formatted(.iso8601.year().month().day())
        guard try isTaken(day) else { return day }
        // Not the number of versions: some of them may have been retired.
        var number = 2
        while try isTaken("\(day).\(number)") { number += 1 }
        return "\(day).\(number)"
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

import Foundation
import PKCS11

/// The naming of an identity's versions.
///
/// The name of an identity is the name of its certificate's row in the vault. The current version has the name itself;
/// an older version has the name and the day on which it expires. A key keeps the name under which it was made: the
/// name for the first key, the name and the day of the renewal for later ones. Keys and certificates are matched by the
/// public key, never by name.
enum IdentityVersion {
    /// The label of an older version, or of the key of a newer one; a number is appended if the label is taken.
    static func label(
        _ name: String, _ date: Date, isTaken: (String) throws -> Bool
    ) rethrows -> String {
        let day = name + "@" + date.formatted(.iso8601.year().month().day())
        guard try isTaken(day) else { return day }
        // The number of versions does not help, since some of them may have been retired.
        var number = 2
        while try isTaken("\(day).\(number)") { number += 1 }
        return "\(day).\(number)"
    }

    /// Whether a label is that of an older version of a name, or of a key made for its renewal.
    static func isVersion(_ label: String, of name: String) -> Bool {
        let stem = name + "@"
        // Compared by bytes: different compositions of "é" are different names.
        guard label.utf8.starts(with: stem.utf8) else { return false }
        let day = String(decoding: label.utf8.dropFirst(stem.utf8.count), as: UTF8.self)
        return day.wholeMatch(of: /\d{4}-\d{2}-\d{2}(\.\d+)?/) != nil
    }

    /// The name of which a label is a version; `nil` for a label that is not a version.
    static func name(ofVersion label: String) -> String? {
        guard let position = label.utf8.lastIndex(of: UInt8(ascii: "@")) else { return nil }
        let name = String(label[..<position])
        return !name.isEmpty && isVersion(label, of: name) ? name : nil
    }
}

extension KeychainItem {
    /// The name of which this identity, certificate or key is an older version, such as `api` for `api@2026-05-02`;
    /// `nil` for the version in use.
    public var nameOfVersion: String? { label.flatMap { IdentityVersion.name(ofVersion: $0) } }
}

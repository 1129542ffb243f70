import Foundation

// The form in which an access control lies in the vault: protection, a zero byte, the flags in hex.
extension SecAccessControl {
    /// The bytes to store.
    var stored: Data { Data("\(protection)\0\(String(flags.rawValue, radix: 16))".utf8) }

    /// The access control behind stored bytes, or `nil` for bytes that are none.
    convenience init?(stored: Data) {
        let parts = stored.split(separator: 0, omittingEmptySubsequences: false)
        guard parts.count == 2, let protection = String(validating: parts[0], as: UTF8.self),
            let digits = String(validating: parts[1], as: UTF8.self), let flags = CFOptionFlags(digits, radix: 16)
        else { return nil }
        self.init(protection: protection, flags: SecAccessControlCreateFlags(rawValue: flags))
    }

    /// Whether anything must be shown before the item is used.
    var isConstrained: Bool { !flags.isEmpty }
}

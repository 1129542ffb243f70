import Foundation

// The stored form of an access control: protection, a zero byte, the flags in hexadecimal.
extension SecAccessControl {
    /// The bytes to store.
    var stored: Data { Data("\(protection)\0\(String(flags.rawValue, radix: 16))".utf8) }

    /// Decodes stored bytes; `nil` for other bytes.
    convenience init?(stored: Data) {
        let parts = stored.split(separator: 0, omittingEmptySubsequences: false)
        guard parts.count == 2, let protection = String(validating: parts[0], as: UTF8.self),
            let digits = String(validating: parts[1], as: UTF8.self), let flags = CFOptionFlags(digits, radix: 16)
        else { return nil }
        self.init(protection: protection, flags: SecAccessControlCreateFlags(rawValue: flags))
    }

    /// Whether using the item requires any authentication.
    var isConstrained: Bool { !flags.isEmpty }
}

import KeychainServices

/// A result code of Keychain Services as a person writes it.
struct ResultCode: Hashable {
    /// The number.
    let status: Int32

    /// A code by its number.
    init(_ status: Int32) { self.status = status }

    /// A number in decimal, or in hexadecimal after `0x`; `nil` for what is neither or has more than 32 bits.
    ///
    /// Hexadecimal digits are those of the 32 bits, as `security` prints them: `0xFFFFFFCE` is -50.
    init?(number text: some StringProtocol) {
        let lowercase = text.lowercased()
        if lowercase.hasPrefix("0x") {
            guard let bits = UInt32(lowercase.dropFirst(2), radix: 16) else { return nil }
            status = Int32(bitPattern: bits)
        } else {
            guard let number = Int32(lowercase) else { return nil }
            status = number
        }
    }

    /// A number as in `init(number:)`, or a name such as `errSecParam`.
    init?(_ text: String) {
        if let code = ResultCode(number: text) {
            self = code
        } else if let known = StatusDescription.all.first(where: { $0.name.lowercased() == text.lowercased() }) {
            status = known.status
        } else {
            return nil
        }
    }

    /// What is known about it.
    var known: StatusDescription? { StatusDescription(status) }

    /// The 32 bits in hexadecimal, as `security` prints them.
    var hexadecimal: String {
        let digits = String(UInt32(bitPattern: status), radix: 16, uppercase: true)
        return "0x" + String(repeating: "0", count: 8 - digits.count) + digits
    }
}

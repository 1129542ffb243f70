import KeychainServices

/// A result code of Keychain Services on the command line.
struct ResultCode: Hashable {
    /// The numeric code.
    let status: Int32

    /// Creates a code from its number.
    init(_ status: Int32) { self.status = status }

    /// Parses a decimal number, or a hexadecimal one after `0x`; `nil` for other text and for more than 32 bits.
    ///
    /// Hexadecimal digits give the 32 bits, as `security` prints them: `0xFFFFFFCE` is -50.
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

    /// Parses a number as in `init(number:)`, or a name such as `errSecParam`.
    init?(_ text: String) {
        if let code = ResultCode(number: text) {
            self = code
        } else if let known = StatusDescription.all.first(where: { $0.name.lowercased() == text.lowercased() }) {
            status = known.status
        } else {
            return nil
        }
    }

    /// The name and message of the code, if it is known.
    var known: StatusDescription? { StatusDescription(status) }

    /// The 32 bits in hexadecimal, as `security` prints them.
    var hexadecimal: String {
        let digits = String(UInt32(bitPattern: status), radix: 16, uppercase: true)
        return "0x" + String(repeating: "0", count: 8 - digits.count) + digits
    }
}

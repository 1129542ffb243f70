/// An object identifier (X.660) in dotted form, such as "2.5.4.3".
public struct OID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The dotted form.
    public let rawValue: String

    /// Creates an identifier from its dotted form, which is not checked.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Decodes the content octets of the DER.
    init?(content: some Collection<UInt8>) {
        guard Self.isValid(content: content) else { return nil }
        // Written without general number formatting, because certificates are listed by the thousand, each with some
        // twenty identifiers.
        var text: [UInt8] = []
        text.reserveCapacity(32)
        var arc: UInt64 = 0
        var octets: [UInt8] = []
        for byte in content {
            // Nearly every arc fits into a word. Larger ones, such as that of a UUID, are collected as octets.
            if arc >> 56 != 0 || !octets.isEmpty { octets.append(byte & 0x7F) }
            if octets.isEmpty { arc = arc << 7 | UInt64(byte & 0x7F) }
            guard byte & 0x80 == 0 else { continue }
            if !octets.isEmpty {
                var digits = Self.digits(arc, octets)
                if text.isEmpty {
                    text = [0x32]
                    Self.subtract80(from: &digits)
                }
                text.append(0x2E)
                text += digits.reversed().map { 0x30 + $0 }
                (arc, octets) = (0, [])
                continue
            }
            if text.isEmpty {
                let first = min(arc / 40, 2)
                text.append(0x30 + UInt8(first))
                arc -= 40 * first
            }
            text.append(0x2E)
            Self.append(arc, to: &text)
            arc = 0
        }
        rawValue = String(decoding: text, as: UTF8.self)
    }

    /// Returns the decimal digits, least significant first, of a number that is continued by groups of seven bits.
    private static func digits(_ number: UInt64, _ groups: [UInt8]) -> [UInt8] {
        var digits: [UInt8] = []
        var rest = number
        while rest > 0 {
            digits.append(UInt8(rest % 10))
            rest /= 10
        }
        for group in groups {
            var carry = Int(group)
            for index in digits.indices {
                carry += Int(digits[index]) * 128
                digits[index] = UInt8(carry % 10)
                carry /= 10
            }
            while carry > 0 {
                digits.append(UInt8(carry % 10))
                carry /= 10
            }
        }
        return digits
    }

    /// Subtracts 80 from the number that encodes the first two arcs, which leaves the second (X.690 section 8.19.4).
    private static func subtract80(from digits: inout [UInt8]) {
        var index = 1
        var borrow = 8
        while borrow > 0, index < digits.count {
            let digit = Int(digits[index]) - borrow
            digits[index] = UInt8(digit < 0 ? digit + 10 : digit)
            borrow = digit < 0 ? 1 : 0
            index += 1
        }
        while digits.count > 1, digits.last == 0 { digits.removeLast() }
    }

    private static func append(_ number: UInt64, to text: inout [UInt8]) {
        if number >= 10 { append(number / 10, to: &text) }
        text.append(0x30 + UInt8(number % 10))
    }

    /// Whether these are the content octets of an object identifier: complete arcs, and at most 64 octets.
    static func isValid(content: some Collection<UInt8>) -> Bool {
        guard !content.isEmpty, content.count <= 64 else { return false }
        var isWhole = true
        for byte in content { isWhole = byte & 0x80 == 0 }
        return isWhole
    }

    /// The DER with tag and length; `nil` if the dotted form is invalid.
    var der: [UInt8]? {
        // Checked because parsing an integer would accept a sign.
        let arcs = rawValue.utf8.split(separator: 0x2E, omittingEmptySubsequences: false)
        guard arcs.count >= 2, arcs.allSatisfy({ !$0.isEmpty && $0.allSatisfy { (0x30...0x39).contains($0) } }),
            let first = UInt64(Substring(arcs[0])), let second = UInt64(Substring(arcs[1]))
        else { return nil }
        // The first arcs 0 and 1 allow second arcs below 40 (X.660 section A.2). A larger one would be encoded like
        // another identifier.
        guard first <= 2, second < (first == 2 ? 1 << 32 : 40) else { return nil }
        let rest = arcs.dropFirst(2).map { $0.map { $0 - 0x30 } }
        let content = ([String(first * 40 + second).utf8.map { $0 - 0x30 }] + rest).flatMap(Self.octets)
        return Self.isValid(content: content) ? DERWriter.element(DERTag.objectIdentifier, content) : nil
    }

    /// Returns the octets of an arc, in groups of seven bits, for its decimal digits.
    private static func octets(_ digits: [UInt8]) -> [UInt8] {
        var octets: [UInt8] = []
        // More digits than any valid identifier has.
        var number = digits.prefix(200).drop { $0 == 0 }
        repeat {
            var remainder = 0
            let quotient = number.map { digit -> UInt8 in
                remainder = remainder * 10 + Int(digit)
                defer { remainder %= 128 }
                return UInt8(remainder / 128)
            }
            octets.append(UInt8(remainder) | (octets.isEmpty ? 0 : 0x80))
            number = quotient.drop { $0 == 0 }
        } while !number.isEmpty
        return octets.reversed()
    }

    /// The dotted form.
    public var description: String { rawValue }
}

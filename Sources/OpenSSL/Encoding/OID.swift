/// An object identifier (X.660) in dotted form, such as "2.5.4.3".
public struct OID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The dotted form.
    public let rawValue: String

    /// An identifier by its dotted form, which is not checked.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// From the content octets of the DER.
    init?(content: some Collection<UInt8>) {
        guard Self.isValid(content: content) else { return nil }
        // Digits by hand: certificates are listed by the thousand, each with some twenty identifiers.
        var text: [UInt8] = []
        text.reserveCapacity(32)
        var arc: UInt64 = 0
        var octets: [UInt8] = []
        for byte in content {
            // Nearly every arc has room in a word; what has not, such as that of a UUID, is collected.
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

    /// The decimal digits, last one first, of a number that goes on with groups of seven bits.
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

    /// What the first two arcs share: 80 goes to the first (X.690 8.19.4).
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

    /// Whether these are the content octets of an object identifier: whole arcs, and few enough that they mean
    /// something.
    static func isValid(content: some Collection<UInt8>) -> Bool {
        guard !content.isEmpty, content.count <= 64 else { return false }
        var isWhole = true
        for byte in content { isWhole = byte & 0x80 == 0 }
        return isWhole
    }

    /// The DER, tag and length included; `nil` where the dotted form is none.
    var der: [UInt8]? {
        let arcs = rawValue.split(separator: ".", omittingEmptySubsequences: false).map { arc in
            // What reads whole numbers takes a sign, too.
            arc.utf8.allSatisfy { (0x30...0x39).contains($0) } ? UInt64(arc) : nil
        }
        // Below the first two arcs there are 40 each (X.660 A.2): a 41st would have the octets of another identifier.
        guard arcs.count >= 2, let first = arcs[0], let second = arcs[1], first <= 2,
            second < (first == 2 ? 1 << 32 : 40)
        else { return nil }
        var content: [UInt8] = []
        for arc in [first * 40 + second] + arcs.dropFirst(2) {
            // Larger ones are read, and never written: nobody asks for one by its digits.
            guard var rest = arc, rest < 1 << 63 else { return nil }
            var octets = [UInt8(rest & 0x7F)]
            rest >>= 7
            while rest > 0 {
                octets.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
                rest >>= 7
            }
            content += octets
        }
        return DERWriter.element(DERTag.objectIdentifier, content)
    }

    /// The dotted form.
    public var description: String { rawValue }
}

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
        for byte in content {
            arc = arc << 7 | UInt64(byte & 0x7F)
            guard byte & 0x80 == 0 else { continue }
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

    private static func append(_ number: UInt64, to text: inout [UInt8]) {
        if number >= 10 { append(number / 10, to: &text) }
        text.append(0x30 + UInt8(number % 10))
    }

    /// Whether these are the content octets of an object identifier: whole arcs, each below 2^63.
    static func isValid(content: some Collection<UInt8>) -> Bool {
        guard !content.isEmpty, content.count <= 64 else { return false }
        var run = 0
        for byte in content {
            run += 1
            guard run <= 9 else { return false }
            if byte & 0x80 == 0 { run = 0 }
        }
        return run == 0
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
            // As `isValid(content:)` has it.
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

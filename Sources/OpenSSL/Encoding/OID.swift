/// An object identifier (X.660) in dotted form, such as "2.5.4.3".
public struct OID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The dotted form.
    public let rawValue: String

    /// An identifier by its dotted form, which is not checked.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// From the content octets of the DER.
    init?(content: some Collection<UInt8>) {
        guard !content.isEmpty, content.count <= 64 else { return nil }
        var arcs: [UInt64] = []
        var arc: UInt64 = 0
        var isOpen = false
        for byte in content {
            guard arc < 1 << 56 else { return nil }
            arc = arc << 7 | UInt64(byte & 0x7F)
            isOpen = byte & 0x80 != 0
            if !isOpen {
                if arcs.isEmpty {
                    let first = min(arc / 40, 2)
                    arcs = [first, arc - 40 * first]
                } else {
                    arcs.append(arc)
                }
                arc = 0
            }
        }
        guard !isOpen else { return nil }
        rawValue = arcs.map(String.init).joined(separator: ".")
    }

    /// The DER, tag and length included; `nil` where the dotted form is none.
    var der: [UInt8]? {
        let arcs = rawValue.split(separator: ".", omittingEmptySubsequences: false).map { UInt64($0) }
        guard arcs.count >= 2, let first = arcs[0], let second = arcs[1], first <= 2, second < 1 << 32 else {
            return nil
        }
        var content: [UInt8] = []
        for arc in [first * 40 + second] + arcs.dropFirst(2) {
            guard var rest = arc else { return nil }
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

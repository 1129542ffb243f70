/// A public point on a known curve, decoded from either form that tokens use.
///
/// Cryptoki wraps the point of `CKA_EC_POINT` in a DER OCTET STRING; some tokens and many programs use the raw point. A
/// raw point starts with 04, which is also the tag of an OCTET STRING, and its next byte may happen to be a fitting
/// length. Only the length that the curve requires distinguishes the two.
public struct ECPoint: Hashable, Sendable, CustomStringConvertible {
    /// The curve.
    public let curve: EllipticCurve

    /// 04 || X || Y on the NIST curves; the encoded point of RFC 8032 on Ed25519.
    public let rawBytes: [UInt8]

    /// Decodes a point in either form.
    ///
    /// Returns `nil` for any other length and for compressed points. Does not check that the point lies on the curve;
    /// code that computes with it must.
    public init?(_ bytes: [UInt8], curve: EllipticCurve) {
        let raw: ArraySlice<UInt8>
        if bytes.count == curve.pointBytes {
            raw = bytes[...]
        } else if let header = Self.headers(curve).first(where: {
            bytes.count == $0.count + curve.pointBytes && bytes.starts(with: $0)
        }) {
            raw = bytes.dropFirst(header.count)
        } else {
            return nil
        }
        if curve.hasUncompressedPoints && raw.first != 0x04 { return nil }
        self.curve = curve
        self.rawBytes = Array(raw)
    }

    /// Creates a point on a NIST curve; `nil` for another curve or for coordinates of another length.
    public init?(x: [UInt8], y: [UInt8], curve: EllipticCurve) {
        guard curve.hasUncompressedPoints, x.count == curve.fieldBytes, y.count == curve.fieldBytes else { return nil }
        self.curve = curve
        self.rawBytes = [0x04] + x + y
    }

    /// The point in a DER OCTET STRING: the value of `CKA_EC_POINT`.
    public var derOctetString: [UInt8] { Self.header(tag: 0x04, count: rawBytes.count) + rawBytes }

    /// The x coordinate, `fieldBytes` long; `nil` on Ed25519.
    public var x: [UInt8]? {
        curve.hasUncompressedPoints ? Array(rawBytes[1...curve.fieldBytes]) : nil
    }

    /// The y coordinate, `fieldBytes` long; `nil` on Ed25519.
    public var y: [UInt8]? {
        curve.hasUncompressedPoints ? Array(rawBytes[(1 + curve.fieldBytes)...]) : nil
    }

    /// The curve only, since the bytes of the point tell a reader nothing.
    public var description: String { "point on \(curve)" }

    /// The DER headers before a wrapped point: an OCTET STRING, or the BIT STRING of some modules.
    private static func headers(_ curve: EllipticCurve) -> [[UInt8]] {
        [header(tag: 0x04, count: curve.pointBytes), header(tag: 0x03, count: curve.pointBytes + 1) + [0x00]]
    }

    private static func header(tag: UInt8, count: Int) -> [UInt8] {
        // The longest point of a known curve has 133 bytes, so one length byte is enough.
        count < 0x80 ? [tag, UInt8(count)] : [tag, 0x81, UInt8(count)]
    }
}

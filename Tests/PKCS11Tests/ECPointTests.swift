import PKCS11
import Testing

@Suite struct ECPointTests {
    @Test("Ten thousand random points decode from both encodings", arguments: EllipticCurve.all)
    func random(curve: EllipticCurve) throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2_500 {
            var raw = (0..<curve.pointBytes).map { _ in UInt8.random(in: 0...255, using: &generator) }
            if curve != .ed25519 { raw[0] = 4 }
            let point = try #require(ECPoint(raw, curve: curve))
            try #require(point.rawBytes == raw)
            try #require(ECPoint(point.derOctetString, curve: curve) == point)
            if let x = point.x, let y = point.y { try #require(ECPoint(x: x, y: y, curve: curve) == point) }
        }
    }

    @Test(
        "the DER header is the one that OpenSSL writes",
        arguments: [
            (.p256, [0x04, 0x41]), (.p384, [0x04, 0x61]), (.p521, [0x04, 0x81, 0x85]), (.ed25519, [0x04, 0x20]),
        ] as [(EllipticCurve, [UInt8])])
    func header(curve: EllipticCurve, header: [UInt8]) throws {
        let raw = [4] + [UInt8](repeating: 7, count: curve.pointBytes - 1)
        #expect(try #require(ECPoint(raw, curve: curve)).derOctetString == header + raw)
    }

    /// 04 is the tag of an OCTET STRING and 3F the length of the 63 bytes after it. It would be complete as DER, but it
    /// is a raw point.
    @Test func `a raw point that looks like DER is a raw point`() throws {
        let raw: [UInt8] = [0x04, 0x3f] + [UInt8](repeating: 0x11, count: 63)
        let point = try #require(ECPoint(raw, curve: .p256))
        #expect(point.rawBytes == raw)
        #expect(point.x?.first == 0x3f)
        let edwards: [UInt8] = [0x04, 0x1e] + [UInt8](repeating: 0x22, count: 30)
        #expect(try #require(ECPoint(edwards, curve: .ed25519)).rawBytes == edwards)
        // The wrapped point's content looks like DER again.
        #expect(ECPoint([0x04, 0x41] + raw, curve: .p256) == point)
    }

    @Test func `a bit string is decoded too`() throws {
        let raw = [UInt8](repeating: 5, count: 32)
        #expect(ECPoint([0x03, 0x21, 0x00] + raw, curve: .ed25519)?.rawBytes == raw)
    }

    @Test(
        "anything else is refused",
        arguments: [
            [], [4], [UInt8](repeating: 4, count: 64), [2] + [UInt8](repeating: 1, count: 32),
            [2] + [UInt8](repeating: 1, count: 64), [0x04, 0x40] + [4] + [UInt8](repeating: 1, count: 64),
            [0x04, 0x41, 0x02] + [UInt8](repeating: 1, count: 64), [UInt8](repeating: 4, count: 68),
        ] as [[UInt8]])
    func refused(bytes: [UInt8]) {
        #expect(ECPoint(bytes, curve: .p256) == nil)
    }

    @Test func `coordinates of another length are refused`() {
        #expect(ECPoint(x: [1], y: [2], curve: .p256) == nil)
        #expect(ECPoint(x: .init(repeating: 1, count: 32), y: .init(repeating: 1, count: 32), curve: .ed25519) == nil)
    }

    @Test("A curve is identified by its parameters", arguments: EllipticCurve.all)
    func parameters(curve: EllipticCurve) {
        #expect(EllipticCurve(parametersDER: curve.parametersDER) == curve)
    }

    @Test func `Ed25519 is identified by its printable name, and nothing else is guessed`() {
        #expect(EllipticCurve(parametersDER: [0x13, 0x0c] + Array("edwards25519".utf8)) == .ed25519)
        #expect(EllipticCurve(parametersDER: [0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x0a]) == nil)
        #expect(EllipticCurve(parametersDER: []) == nil)
    }
}

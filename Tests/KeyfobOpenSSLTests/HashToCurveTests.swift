import Foundation
import KeyfobOpenSSL
import Testing

@Suite struct HashToCurveTests {
    @Test(arguments: [NamedCurve.p256, .p384, .p521])
    func `a message determines a point on the curve`(curve: NamedCurve) throws {
        let points = try (0..<20).map { try PublicKey(hashing: [UInt8($0)], onto: curve) }
        #expect(Set(points.map(\.subjectPublicKeyInfo)).count == points.count)
        for (index, point) in points.enumerated() {
            try point.validate()
            #expect(point.algorithm == .ec(curve))
            #expect(try PublicKey(hashing: [UInt8(index)], onto: curve) == point)
        }
    }

    @Test func `messages are not hashed onto other curves`() {
        #expect(throws: CryptoError.self) { try PublicKey(hashing: [1], onto: .secp256k1) }
    }
}

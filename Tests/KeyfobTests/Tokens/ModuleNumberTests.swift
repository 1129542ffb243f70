import KeyfobPrimitives
import Testing

@testable import Keyfob
@testable import PKCS11

/// Numbers from a module, which may have any value.
@Suite struct ModuleNumberTests {
    @Test(arguments: [
        (0, 0), (32, 256), (1 << 60 - 1, Int.max - 7), (1 << 60, nil), (UInt(Int.max), nil), (UInt.max, nil),
    ] as [(UInt, Int?)])
    func `an impossible key length is ignored and does not end the process`(bytes: UInt, bits: Int?) throws {
        var values = AttributeValues()
        for (type, number) in [(AttributeType.objectClass, ObjectClass.secretKey.rawValue), (.valueLength, bytes)] {
            values.append(type, unsafe withUnsafeBytes(of: number) { unsafe Array($0) })
        }
        let object = try #require(TokenObject(reading: values, parsesCertificate: false))
        #expect(object.sizeInBits == bits)
    }
}

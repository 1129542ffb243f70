import Foundation
import KeyfobPrimitives

extension Certificate {
    /// The serial number in hexadecimal, as `openssl x509 -serial` has it but in lower case: whole octets without
    /// leading zeros, and a minus sign before the magnitude of a negative one.
    package var serialNumberText: String {
        let isNegative = (serialNumber.first ?? 0) >= 0x80
        let octets = isNegative ? Self.negated([UInt8](serialNumber)) : [UInt8](serialNumber)
        let magnitude = octets.drop { $0 == 0 }
        return (isNegative ? "-" : "") + (magnitude.isEmpty ? "00" : magnitude.hexadecimal)
    }

    /// The magnitude of a negative number in two's complement, of as many octets.
    private static func negated(_ octets: [UInt8]) -> [UInt8] {
        var result = octets.map { ~$0 }
        for index in result.indices.reversed() {
            result[index] &+= 1
            // No carry into the next one.
            if result[index] != 0 { break }
        }
        return result
    }
}

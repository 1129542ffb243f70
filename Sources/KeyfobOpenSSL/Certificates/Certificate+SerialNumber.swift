import Foundation
import KeyfobPrimitives

extension Certificate {
    /// The serial number in hexadecimal, as `openssl x509 -serial` prints it but in lower case.
    ///
    /// It has whole octets without leading zeros, and a minus sign before the magnitude of a negative number.
    package var serialNumberText: String {
        let isNegative = (serialNumber.first ?? 0) >= 0x80
        let octets = isNegative ? Self.negated([UInt8](serialNumber)) : [UInt8](serialNumber)
        let magnitude = octets.drop { $0 == 0 }
        return (isNegative ? "-" : "") + (magnitude.isEmpty ? "00" : magnitude.hexadecimal)
    }

    /// Returns the magnitude of a negative number in two's complement, with the same number of octets.
    private static func negated(_ octets: [UInt8]) -> [UInt8] {
        var result = octets.map { ~$0 }
        for index in result.indices.reversed() {
            result[index] &+= 1
            // There is no carry into the next octet.
            if result[index] != 0 { break }
        }
        return result
    }
}

import Foundation
import KeyfobPrimitives

extension DERElement {
    /// Returns the date of a UTCTime or GeneralizedTime in the forms of RFC 5280 section 4.1.2.5.
    func date() throws(DERError) -> Date {
        var digits: [Int] = []
        guard content.last == 0x5A else { throw DERError() }
        for byte in content.dropLast() {
            guard (0x30...0x39).contains(byte) else { throw DERError() }
            digits.append(Int(byte) - 0x30)
        }
        if tag == DERTag.utcTime, digits.count == 12 {
            digits = (digits[0] < 5 ? [2, 0] : [1, 9]) + digits
        }
        guard tag == DERTag.utcTime || tag == DERTag.generalizedTime, digits.count == 14 else { throw DERError() }
        func pair(_ index: Int) -> Int { digits[index] * 10 + digits[index + 1] }
        let civil = CivilDate(
            year: pair(0) * 100 + pair(2), month: pair(4), day: pair(6), hour: pair(8), minute: pair(10),
            second: pair(12))
        guard let civil else { throw DERError() }
        return Date(timeIntervalSince1970: Double(civil.secondsSince1970))
    }
}

extension DERWriter {
    /// Encodes a date according to RFC 5280 section 4.1.2.5: UTCTime from 1950 to 2049, otherwise GeneralizedTime.
    ///
    /// Fractions of a second are dropped. Dates outside the years 0 to 9999 are clamped to that range.
    static func time(_ date: Date) -> [UInt8] {
        let civil = CivilDate(secondsSince1970: date.timeIntervalSince1970)
        let isShort = (1950..<2050).contains(civil.year)
        let digits = (isShort ? [] : [civil.year / 100])
            + [civil.year % 100, civil.month, civil.day, civil.hour, civil.minute, civil.second]
        var text: [UInt8] = []
        for number in digits { text += [UInt8(0x30 + number / 10), UInt8(0x30 + number % 10)] }
        text.append(0x5A)
        return element(isShort ? DERTag.utcTime : DERTag.generalizedTime, text)
    }
}

import Foundation

extension DERElement {
    /// The moment of a UTCTime or GeneralizedTime in the forms that RFC 5280 4.1.2.5 allows.
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
        let year = pair(0) * 100 + pair(2)
        let (month, day, hour, minute, second) = (pair(4), pair(6), pair(8), pair(10), pair(12))
        guard (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second <= 60 else {
            throw DERError()
        }
        // Days since 1970-01-01 of the Gregorian calendar; the year starts in March, so that the leap day is last.
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
        return Date(timeIntervalSince1970: Double(days * 86400 + hour * 3600 + minute * 60 + second))
    }
}

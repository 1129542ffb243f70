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

extension DERWriter {
    /// A moment as RFC 5280 4.1.2.5 wants it: UTCTime until 2049, GeneralizedTime before 1950 and after. Whole
    /// seconds; what lies outside the years 0 to 9999 becomes the nearest moment inside.
    static func time(_ date: Date) -> [UInt8] {
        let bounded = min(max(date.timeIntervalSince1970.rounded(.down), -62_167_219_200), 253_402_300_799)
        let total = Int(bounded)
        let days = Int((Double(total) / 86_400).rounded(.down))
        let rest = total - days * 86_400
        // The year starts in March, so that the leap day is its last.
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        let fields = [month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1, rest / 3600, rest / 60 % 60, rest % 60]
        let isShort = (1950..<2050).contains(year)
        let digits = (isShort ? [year % 100] : [year / 100, year % 100]) + fields
        var text: [UInt8] = []
        for number in digits { text += [UInt8(0x30 + number / 10), UInt8(0x30 + number % 10)] }
        text.append(0x5A)
        return element(isShort ? DERTag.utcTime : DERTag.generalizedTime, text)
    }
}

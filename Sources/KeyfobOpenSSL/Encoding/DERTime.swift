import Foundation
import KeyfobPrimitives

extension DERElement {
    /// The moment of a UTCTime or GeneralizedTime, in whole seconds.
    ///
    /// RFC 5280 4.1.2.5 allows one form of each. This takes all that X.680 46 and 47 define: without seconds, with a
    /// fraction, with an offset from UTC. Local time is not taken, for it is of an unknown zone.
    ///
    /// - Throws: `DERError` for other content, and where there is no such day or time.
    func date() throws(DERError) -> Date {
        guard tag == DERTag.utcTime || tag == DERTag.generalizedTime else { throw DERError() }
        let isShort = tag == DERTag.utcTime
        var text = DecimalText(rest: content)
        let first = try text.number(isShort ? 2 : 4)
        let year = !isShort ? first : first < 50 ? 2000 + first : 1900 + first
        let (month, day, hour) = (try text.number(2), try text.number(2), try text.number(2))
        let minute = isShort || text.startsWithDigit ? try text.number(2) : nil
        let second = minute != nil && text.startsWithDigit ? try text.number(2) : nil
        var fraction = 0.0
        if !isShort, text.skip(0x2E) || text.skip(0x2C) {
            // It is one of the smallest unit that is there.
            fraction = try text.fraction() * (second != nil ? 1 : minute != nil ? 60 : 3600)
        }
        var offset = 0
        if !text.skip(0x5A) {
            let isEast = text.skip(0x2B)
            guard isEast || text.skip(0x2D) else { throw DERError() }
            let (hours, minutes) = (try text.number(2), text.startsWithDigit || isShort ? try text.number(2) : 0)
            guard hours < 24, minutes < 60 else { throw DERError() }
            offset = (isEast ? 1 : -1) * (hours * 3600 + minutes * 60)
        }
        let civil = CivilDate(
            year: year, month: month, day: day, hour: hour, minute: minute ?? 0, second: second ?? 0)
        guard text.rest.isEmpty, let civil else { throw DERError() }
        return Date(timeIntervalSince1970: Double(civil.secondsSince1970 + Int(fraction) - offset))
    }
}

/// Text of digits and signs, read from its start.
private struct DecimalText {
    var rest: ArraySlice<UInt8>

    var startsWithDigit: Bool { rest.first.map { (0x30...0x39).contains($0) } ?? false }

    /// The number of the next digits, of which there are so many.
    mutating func number(_ count: Int) throws(DERError) -> Int {
        var number = 0
        for _ in 0..<count { number = number * 10 + (try digit()) }
        return number
    }

    /// The number behind a decimal point, at least one digit.
    mutating func fraction() throws(DERError) -> Double {
        var (value, unit) = (0.0, 0.1)
        repeat {
            value += Double(try digit()) * unit
            unit /= 10
        } while startsWithDigit
        return value
    }

    /// Whether a sign comes next, which is then passed over.
    mutating func skip(_ sign: UInt8) -> Bool {
        guard rest.first == sign else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func digit() throws(DERError) -> Int {
        guard startsWithDigit else { throw DERError() }
        return Int(rest.removeFirst()) - 0x30
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

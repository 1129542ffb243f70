/// A date and time of the Gregorian calendar in UTC, convertible to and from seconds since 1970.
///
/// Used for the fixed formats of DER and of our own files, because Foundation's formatters load time zones and
/// calendars first.
package struct CivilDate: Hashable, Sendable {
    package var year, month, day, hour, minute, second: Int

    /// Creates a date and time from its fields; `nil` if one is out of range, such as 29 February of a common year.
    ///
    /// Second 60 is the first of the next minute.
    package init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        let isLeapYear = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let days = [31, isLeapYear ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard (0...9999).contains(year), (1...12).contains(month), (1...days[month - 1]).contains(day),
            (0..<24).contains(hour), (0..<60).contains(minute), (0...60).contains(second)
        else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
        (self.hour, self.minute, self.second) = (hour, minute, second)
    }

    /// Creates the date and time at a number of seconds since 1970, clamped to the years 0 to 9999.
    package init(secondsSince1970 seconds: Double) {
        let total = Int(min(max(seconds.rounded(.down), -62_167_219_200), 253_402_300_799))
        let days = Int((Double(total) / 86_400).rounded(.down))
        let rest = total - days * 86_400
        (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60)
        let shifted = days + Self.epoch
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    }

    /// The seconds since the beginning of 1970.
    package var secondsSince1970: Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - Self.epoch
        return days * 86_400 + hour * 3600 + minute * 60 + second
    }

    /// Days from March 1 of the year 0 to 1970. Years are counted from March, so that the leap day is their last.
    private static let epoch = 719_468
}

import KeyfobPrimitives
import TestSupport
import Testing

@Suite struct CivilDateTests {
    /// Times around the ends of months, years, centuries and of the supported range.
    static let seconds: [Double] = [
        0, -1, 86_399, 951_782_399, 951_782_400, 951_868_800, 4_107_542_399, 4_107_542_400, -2_203_891_200,
        -62_135_596_800, -62_167_219_200, 253_402_300_799, 1_795_500_000.75,
    ]

    @Test(arguments: seconds)
    func `a time has the fields that date(1) prints, and they give the same time`(seconds: Double) throws {
        let civil = CivilDate(secondsSince1970: seconds)
        let told = try run("date", ["-u", "-d", "@\(Int(seconds.rounded(.down)))", "+%Y %m %d %H %M %S"]).stdout
        let fields = [civil.year, civil.month, civil.day, civil.hour, civil.minute, civil.second]
        #expect(told.split { !$0.isNumber }.compactMap { Int($0) } == fields, "\(told)")
        #expect(Double(civil.secondsSince1970) == seconds.rounded(.down))
        let again = try #require(
            CivilDate(
                year: civil.year, month: civil.month, day: civil.day, hour: civil.hour, minute: civil.minute,
                second: civil.second))
        #expect(again == civil)
    }

    @Test func `every day of four centuries follows the one before`() {
        var before = CivilDate(secondsSince1970: -11_676_096_000)
        for day in 1...146_097 {
            let next = CivilDate(secondsSince1970: -11_676_096_000 + Double(day) * 86_400)
            let isNextDay = next.day == before.day + 1 && next.month == before.month && next.year == before.year
            let isNextMonth = next.day == 1 && before.day >= 28 && next.month == before.month + 1
                && next.year == before.year
            let isNextYear = (next.day, next.month, next.year) == (1, 1, before.year + 1)
                && (before.day, before.month) == (31, 12)
            if !isNextDay, !isNextMonth, !isNextYear { Issue.record("\(next) after \(before)") }
            if next.secondsSince1970 != before.secondsSince1970 + 86_400 { Issue.record("\(next)") }
            before = next
        }
    }

    @Test(arguments: [
        (2023, 2, 29, false), (2024, 2, 29, true), (2100, 2, 29, false), (2000, 2, 29, true), (2024, 2, 30, false),
        (2024, 4, 31, false), (2024, 12, 31, true), (0, 2, 29, true),
    ])
    func `a day that its month does not have is refused`(year: Int, month: Int, day: Int, isDay: Bool) {
        let civil = CivilDate(year: year, month: month, day: day, hour: 0, minute: 0, second: 0)
        #expect((civil != nil) == isDay)
    }

    @Test func `a time out of range becomes the nearest one in range, and a field out of range makes no date`() {
        #expect(CivilDate(secondsSince1970: 1e300).year == 9999)
        #expect(CivilDate(secondsSince1970: -.infinity).year == 0)
        let good = [2026, 11, 24, 23, 59, 60]
        for (place, value) in [(0, -1), (0, 10_000), (1, 0), (1, 13), (2, 0), (2, 32), (3, 24), (4, 60), (5, 61)] {
            var fields = good
            fields[place] = value
            let civil = CivilDate(
                year: fields[0], month: fields[1], day: fields[2], hour: fields[3], minute: fields[4],
                second: fields[5])
            #expect(civil == nil, "\(fields)")
        }
    }
}

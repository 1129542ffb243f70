import Foundation
import Testing

@testable import KeyfobACME

@Suite struct RetryAfterTests {
    /// 2026-11-22 01:00:00 UTC, a Sunday.
    private static let now = Date(timeIntervalSince1970: 1_795_309_200)

    static let year = 366 * 86_400

    @Test(arguments: [
        ("0", 0), ("3", 3), (" 120 ", 120), ("007", 7),
        // Numbers that overflow, as seconds or as milliseconds.
        ("9223372036854775807", year), ("9223372036854776", year), ("99999999999999999999999999", year),
        ("Sun, 22 Nov 2026 01:00:30 GMT", 30), ("Sunday, 22-Nov-26 01:00:30 GMT", 30), ("Sun Nov 22 01:00:30 2026", 30),
        ("Sun, 22 Nov 2026 00:59:00 GMT", 0), ("Fri, 31 Dec 9999 23:59:59 GMT", year),
        ("", nil), ("-1", nil), ("1.5", nil), ("3s", nil), ("soon", nil), ("٣", nil), ("Sun, 22 Nov 2026", nil),
    ] as [(String, Int?)])
    func `seconds and dates in Retry-After are accepted, and all other values are ignored`(_ text: String, _ seconds: Int?) {
        #expect(RetryAfter.pause(text, on: Self.now) == seconds.map { .seconds($0) })
    }
}

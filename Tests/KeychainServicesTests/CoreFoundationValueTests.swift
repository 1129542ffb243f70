import Foundation
import KeychainServices
import Testing

/// Core Foundation's functions that read and write through pointers.
@Suite struct CoreFoundationValueTests {
    @Test(arguments: [(0, 4, [1, 2, 3, 4]), (1, 2, [2, 3]), (4, 0, []), (3, 2, []), (-1, 2, []), (0, -1, []), (5, 0, []), (1, .max, [])])
    func `Bytes of a range are copied, and none of one that is not within`(row: (start: Int, length: Int, bytes: [UInt8])) {
        var buffer = [UInt8](repeating: 0, count: 4)
        unsafe CFDataGetBytes(Data([1, 2, 3, 4]) as CFData, CFRangeMake(row.start, row.length), &buffer)
        #expect(Array(buffer.prefix(row.bytes.count)) == row.bytes && buffer.dropFirst(row.bytes.count).allSatisfy { $0 == 0 })
    }

    @Test func `A number is stored as what is asked for, and says whether it fits`() {
        var small: Int8 = 0
        var (word, double): (Int64, Double) = (0, 0)
        let fits = unsafe CFNumberGetValue(-7 as CFNumber, .sInt8Type, &small)
        #expect(fits && small == -7)
        let isTooLarge = unsafe CFNumberGetValue(300 as CFNumber, .charType, &small)
        #expect(!isTooLarge && small == 44)
        let isWhole = unsafe CFNumberGetValue(1.5 as CFNumber, .longType, &word)
        #expect(!isWhole && word == 1)
        let isLargest = unsafe CFNumberGetValue(Int64.max as CFNumber, .sInt64Type, &word)
        #expect(isLargest && word == .max)
        let isDouble = unsafe CFNumberGetValue(1.5 as CFNumber, .doubleType, &double)
        #expect(isDouble && double == 1.5)
        let ofNothing = unsafe CFNumberGetValue(nil, .intType, &word)
        #expect(!ofNothing)
    }

    @Test func `A dictionary that is built with pointers is one for a query`() throws {
        var (keys, values) = (kCFTypeDictionaryKeyCallBacks, kCFTypeDictionaryValueCallBacks)
        let dictionary = try #require(unsafe CFDictionaryCreateMutable(nil, 0, &keys, &values))
        let (first, second) = (NSString(string: "first"), NSString(string: "second"))
        withExtendedLifetime((first, second)) {
            for value in [first, second] {
                unsafe CFDictionarySetValue(
                    dictionary, Unmanaged.passUnretained(kSecAttrLabel).toOpaque(), Unmanaged.passUnretained(value).toOpaque())
                unsafe CFDictionaryAddValue(
                    dictionary, Unmanaged.passUnretained(kSecAttrAccount).toOpaque(), Unmanaged.passUnretained(value).toOpaque())
            }
        }
        #expect(dictionary as NSDictionary as? [String: String] == ["labl": "second", "acct": "first"])
    }
}

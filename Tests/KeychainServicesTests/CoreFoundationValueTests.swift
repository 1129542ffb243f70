import Foundation
import KeychainServices
import Testing

/// Core Foundation's functions that use pointers.
@Suite struct CoreFoundationValueTests {
    @Test(arguments: [(0, 4, [1, 2, 3, 4]), (1, 2, [2, 3]), (4, 0, []), (3, 2, []), (-1, 2, []), (0, -1, []), (5, 0, []), (1, .max, [])])
    func `Bytes of a range are copied, and none of an invalid one`(row: (start: Int, length: Int, bytes: [UInt8])) {
        var buffer = [UInt8](repeating: 0, count: 4)
        unsafe CFDataGetBytes(Data([1, 2, 3, 4]) as CFData, CFRangeMake(row.start, row.length), &buffer)
        #expect(Array(buffer.prefix(row.bytes.count)) == row.bytes && buffer.dropFirst(row.bytes.count).allSatisfy { $0 == 0 })
    }

    @Test func `A number is stored as the requested type, and the result says if it fits`() {
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

    @Test func `A dictionary that is built with pointers works as a query`() throws {
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

    @Test func `Numbers, dates and bytes are made from memory`() throws {
        var (small, word, double): (Int8, Int32, Double) = (-7, 2048, 1.5)
        unsafe #expect(CFNumberCreate(nil, .charType, &small) == -7)
        unsafe #expect(CFNumberCreate(nil, .sInt32Type, &word) == 2048)
        unsafe #expect(CFNumberCreate(nil, .doubleType, &double) == 1.5)
        #expect(CFNumberCreate(nil, .sInt32Type, nil) == nil)
        let now = CFAbsoluteTimeGetCurrent()
        #expect(CFDateGetAbsoluteTime(CFDateCreate(nil, now)) == now && CFDateGetAbsoluteTime(nil) == 0)
        let data = try #require(CFDataCreateMutable(nil, 0))
        unsafe CFDataAppendBytes(data, [1, 2, 3], 2)
        unsafe CFDataAppendBytes(data, [1, 2, 3], -1)
        #expect(data as Data == Data([1, 2]))
        let copy = try #require(CFDictionaryCreateMutableCopy(nil, 0, [kSecAttrLabel: "a"] as CFDictionary))
        copy[kSecAttrLabel] = "b"
        #expect(copy == ["labl": "b"] && CFDictionaryCreateMutableCopy(nil, 0, nil) == nil)
    }

    @Test func `A pointer to a member is valid as long as the collection exists`() throws {
        let policy = SecPolicyCreateBasicX509()
        let array = [[kSecAttrLabel: "label", kSecValueRef: policy] as NSDictionary, "text" as NSString] as CFArray
        // As in code from before Swift had classes for Core Foundation types.
        let dictionary = unsafe unsafeBitCast(try #require(CFArrayGetValueAtIndex(array, 0)), to: CFDictionary.self)
        for _ in 0..<100 {
            let (first, second) = unsafe (CFArrayGetValueAtIndex(array, 1), CFArrayGetValueAtIndex(array, 1))
            unsafe #expect(first == second)
        }
        let text = unsafe unsafeBitCast(try #require(CFArrayGetValueAtIndex(array, 1)), to: CFString.self)
        #expect(text == "text")
        func value(_ key: CFString) -> AnyObject? {
            unsafe CFDictionaryGetValue(dictionary, Unmanaged.passUnretained(key).toOpaque()).map {
                unsafe Unmanaged<AnyObject>.fromOpaque($0).takeUnretainedValue()
            }
        }
        #expect(value(kSecValueRef) === policy && value(kSecAttrLabel) as? String == "label" && value(kSecAttrAccount) == nil)
        var found: UnsafeRawPointer?
        let (label, account) = unsafe (Unmanaged.passUnretained(kSecAttrLabel), Unmanaged.passUnretained(kSecAttrAccount))
        unsafe #expect(CFDictionaryGetValueIfPresent(dictionary, label.toOpaque(), &found) && found != nil)
        unsafe #expect(!CFDictionaryGetValueIfPresent(dictionary, account.toOpaque(), nil))
        unsafe #expect(CFDictionaryContainsKey(dictionary, label.toOpaque()))
        unsafe #expect(!CFDictionaryContainsKey(dictionary, account.toOpaque()) && !CFDictionaryContainsKey(dictionary, nil))
        unsafe #expect(CFArrayGetValueAtIndex(array, 2) == nil && CFArrayGetValueAtIndex(array, -1) == nil)
        unsafe #expect(CFArrayGetValueAtIndex(nil, 0) == nil && CFDictionaryGetValue(dictionary, nil) == nil)
    }

    @Test func `A pointer to a member stays valid if the collection changes, until its release`() throws {
        weak var kept: NSDictionary?
        do {
            let dictionary = NSMutableDictionary()
            let key = NSString(string: "key")
            for round in 0..<3 {
                dictionary[key] = ["round": round] as NSDictionary
                let pointer = unsafe try #require(CFDictionaryGetValue(dictionary, Unmanaged.passUnretained(key).toOpaque()))
                let member = unsafe Unmanaged<NSDictionary>.fromOpaque(pointer).takeUnretainedValue()
                #expect(member == ["round": round])
                if round == 0 { kept = member }
            }
            #expect(kept == ["round": 0])
        }
        unsafe CFArrayGetValueAtIndex(["other" as NSString] as CFArray, 0)
        #expect(kept == nil)
    }
}

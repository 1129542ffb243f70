import Foundation
import KeychainServices
import Testing

/// Core Foundation's names for Foundation's classes.
@Suite struct CoreFoundationTests {
    @Test func `A type identifier distinguishes every kind of object`() {
        let objects: [(CFTypeRef, CFTypeID)] = [
            ("text" as CFString, CFStringGetTypeID()), (Data([1]) as CFData, CFDataGetTypeID()),
            (7 as CFNumber, CFNumberGetTypeID()), (1.5 as CFNumber, CFNumberGetTypeID()),
            (kCFBooleanTrue, CFBooleanGetTypeID()), (kCFBooleanFalse, CFBooleanGetTypeID()),
            (true as CFBoolean, CFBooleanGetTypeID()), (false as AnyObject, CFBooleanGetTypeID()),
            (1 as CFNumber, CFNumberGetTypeID()), (0 as AnyObject, CFNumberGetTypeID()),
            (Date() as CFDate, CFDateGetTypeID()), (["a": 1] as CFDictionary, CFDictionaryGetTypeID()),
            (["a"] as CFArray, CFArrayGetTypeID()), (kCFNull, CFNullGetTypeID()),
            (NSSet(array: [1]), CFSetGetTypeID()), (NSError(domain: "a", code: 1), CFErrorGetTypeID()),
            (URL(filePath: "/") as CFURL, CFURLGetTypeID()), (NSMutableString(string: "a"), CFStringGetTypeID()),
            (NSMutableDictionary(), CFDictionaryGetTypeID()), (NSMutableData(), CFDataGetTypeID()),
            (NSObject(), 0),
        ]
        for (object, identifier) in objects {
            #expect(CFGetTypeID(object) == identifier, "\(type(of: object))")
        }
        let identifiers = objects.map(\.1) + [
            SecKeyGetTypeID(), SecCertificateGetTypeID(), SecIdentityGetTypeID(), SecAccessControlGetTypeID(),
        ]
        #expect(Set(identifiers).count == 16)
        #expect(CFGetTypeID(nil) == 0)
    }

    @Test func `A boolean never equals a number, and equal objects have equal hashes`() {
        #expect(!CFEqual(kCFBooleanTrue, 1 as CFNumber))
        #expect(CFEqual(kCFBooleanTrue, true as CFBoolean))
        #expect(CFEqual("a" as CFString, NSMutableString(string: "a")))
        #expect(CFHash("a" as CFString) == CFHash(NSMutableString(string: "a")))
        #expect(!CFEqual("1" as CFString, 1 as CFNumber))
        #expect(CFEqual(nil, nil))
        #expect(!CFEqual(nil, kCFNull))
        #expect(CFBooleanGetValue(kCFBooleanTrue))
        #expect(!CFBooleanGetValue(kCFBooleanFalse))
        #expect(!CFBooleanGetValue(nil))
    }

    @Test func `Every object has a hash, also an error and a decimal number`() {
        for object in [NSError(domain: "d", code: 7), NSDecimalNumber(string: "2.5"), NSNumber(value: 2.5), NSNull()] {
            let same = object.copy() as AnyObject
            #expect(CFEqual(object, same) && CFHash(object) == CFHash(same), "\(object)")
        }
        #expect(CFHash(NSDecimalNumber(string: "2")) == CFHash(2 as CFNumber))
        #expect(CFHash(nil) == 0)
    }

    @Test func `Collections and data return their sizes`() throws {
        #expect(CFArrayGetCount([1, 2] as CFArray) == 2)
        #expect(CFDictionaryGetCount([kSecClass: kSecClassKey] as CFDictionary) == 1)
        #expect(CFStringGetLength("añ𝄞" as CFString) == 4)
        let data = Data([1, 2, 3]) as CFData
        let bytes = unsafe CFDataGetBytePtr(data)
        let read = unsafe Array(UnsafeBufferPointer(start: bytes, count: CFDataGetLength(data)))
        #expect(read == [1, 2, 3])
        let copy = unsafe CFDataCreate(nil, bytes, 2)
        let impossible = unsafe CFDataCreate(nil, bytes, -1)
        #expect(CFDataGetLength(copy) == 2)
        #expect(impossible == nil)
        let fromNowhere = CFDataCreate(nil, nil, 3)
        let ofNothing = unsafe CFDataGetBytePtr(NSData())
        #expect(fromNowhere == nil)
        #expect(unsafe ofNothing == nil)
    }

    @Test func `An error returns the values it was made with`() throws {
        let error = try #require(
            CFErrorCreate(nil, "domain", -50, [kCFErrorLocalizedDescriptionKey!: "words"] as CFDictionary))
        #expect(CFErrorGetDomain(error) as String == "domain")
        #expect(CFErrorGetCode(error) == -50)
        #expect(CFErrorCopyDescription(error) as String == "words")
        #expect(CFErrorCopyUserInfo(error)["NSLocalizedDescription"] as? String == "words")
        #expect(CFErrorCopyFailureReason(error) == nil)
    }

    @Test func `A constant and the same text are one key of a set`() {
        let keys: Set<AnyHashable> = [kSecAttrAccount, "acct", AnyHashable(kSecAttrAccount as String)]
        #expect(keys.count == 1)
        let dictionary: [AnyHashable: Any] = [kSecAttrAccount: 1]
        #expect(dictionary["acct"] as? Int == 1)
    }

    @Test func `A mutable dictionary sets and removes values by key`() {
        let dictionary = NSMutableDictionary()
        dictionary.setValue("a", forKey: "acct")
        #expect(dictionary[kSecAttrAccount] as? String == "a")
        dictionary.setValue(nil, forKey: "acct")
        #expect(dictionary.count == 0)
    }
}

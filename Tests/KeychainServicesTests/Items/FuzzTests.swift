import Foundation
import Keyfob
import Testing

@testable import KeychainServices

/// Random input for the parser of dictionaries and the decoder of references.
///
/// `KEYFOB_FUZZ_SECONDS` is the duration (default two seconds), `KEYFOB_FUZZ_SEED` the seed.
@Suite("Fuzzing")
struct FuzzTests {
    /// A deterministic generator with a seed.
    struct Random: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }

    private static func number(_ name: String, or fallback: UInt64) -> UInt64 {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } ?? fallback
    }

    private static let keys: [String] =
        ClassSchema.of(.internetPassword).definitions.map(\.name.rawValue)
        + ClassSchema.of(.identity).definitions.map(\.name.rawValue)
        + [
            "class", "v_Data", "v_Ref", "v_PersistentRef", "r_Data", "r_Attributes", "r_Ref", "r_PersistentRef",
            "m_Limit", "m_Policy", "m_Issuers", "m_EmailAddressIfPresent", "m_ValidOnDate", "m_TrustedOnly",
            "m_HostOrSubdomainOfHost", "m_SubjectContains", "m_SubjectStartsWith", "m_SubjectEndsWith",
            "m_SubjectWholeString", "m_CaseInsensitive", "m_ItemList", "m_SearchList", "u_AuthUI", "u_NoAuthUI",
            "u_AuthCtx", "u_CredRef", "u_Tomb", "u_SystemKeychain", "u_ItemList", "u_OpPrompt", "nleg", "clip", "sha1",
            "UUID", "persistref", "fooo", "f", "", "x", "äöüß", "e\u{301}abc", "\0\0\0\0",
        ]

    private static func value(_ random: inout Random, _ depth: Int = 0) -> Any {
        switch Int.random(in: 0..<18, using: &random) {
        case 0: return NSNull()
        case 1: return Bool.random(using: &random)
        case 2: return Int.random(in: -3...3, using: &random)
        case 3: return Int.random(in: .min ... .max, using: &random)
        case 4: return [Double.nan, .infinity, -.infinity, 1e300, -1e300, 0.5].randomElement(using: &random) ?? 0
        case 5: return UInt64.max
        case 6: return Date(timeIntervalSinceReferenceDate: [0, .nan, .infinity, 1e18, -1e18].randomElement(using: &random) ?? 0)
        case 7: return bytes(&random, 0...64)
        case 8: return Data(["genp", "inet", "cert", "keys", "idnt", "tkpr"].randomElement(using: &random)?.utf8 ?? "".utf8) + bytes(&random, 0...40)
        case 9: return ["genp", "inet", "cert", "keys", "idnt", "apls"].randomElement(using: &random) ?? ""
        case 10: return ["syna", "m_LimitAll", "m_LimitOne", "u_AuthUIF", "u_AuthUIS", "ak", "cku", ""].randomElement(using: &random) ?? ""
        case 11: return String(decoding: bytes(&random, 0...12), as: UTF8.self)
        case 12 where depth < 3: return (0..<Int.random(in: 0...4, using: &random)).map { _ in value(&random, depth + 1) }
        case 13 where depth < 3: return Dictionary((0..<4).map { (keys[$0], value(&random, depth + 1)) }) { $1 }
        case 14: return NSDecimalNumber(string: "12345678901234567890.5")
        case 15: return SecAccessControl(protection: ["ak", "xx"].randomElement(using: &random) ?? "", flags: SecAccessControlCreateFlags(rawValue: UInt(random.next())))
        case 16: return NSUUID()
        default: return NSObject()
        }
    }

    private static func bytes(_ random: inout Random, _ counts: ClosedRange<Int>) -> Data {
        Data((0..<Int.random(in: counts, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
    }

    private static func dictionary(_ random: inout Random) -> NSDictionary {
        let dictionary = NSMutableDictionary()
        if Int.random(in: 0..<8, using: &random) > 0 {
            dictionary.setObject(
                NSString(string: ["genp", "inet", "cert", "keys", "idnt"].randomElement(using: &random) ?? ""),
                forKey: NSString(string: "class"))
        }
        for _ in 0..<Int.random(in: 0...5, using: &random) {
            let value = value(&random) as AnyObject
            if Int.random(in: 0..<60, using: &random) == 0 {
                dictionary.setObject(value, forKey: NSNumber(value: 1))
            } else {
                dictionary.setObject(value, forKey: NSString(string: keys.randomElement(using: &random) ?? ""))
            }
        }
        return dictionary
    }

    private static let documented: Set<OSStatus> = [0, -50, -4, -25299, -25300, -25303, -25306, -34018, -25308, -25293, -25302, -25309]

    @Test("any dictionary gives a documented status")
    func dictionaries() throws {
        let seed = Self.number("KEYFOB_FUZZ_SEED", or: .random(in: 0 ... .max))
        var random = Random(state: seed)
        let bench = try SecItemFixture()
        let end = Date(timeIntervalSinceNow: Double(Self.number("KEYFOB_FUZZ_SECONDS", or: 2)))
        var calls = 0
        var successes = 0
        // On a busy machine the time may be over after the first call.
        while Date() < end || (successes == 0 && calls < 8_000) {
            let (query, changes) = (Self.dictionary(&random), Self.dictionary(&random))
            // Parsing is a thousand times faster than a transaction, and contains most of the risk.
            for _ in 0..<50 {
                let other = Self.dictionary(&random)
                for purpose in [ItemRequest.Purpose.add, .search, .update, .delete] {
                    do { _ = try ItemRequest(parsing: other, for: purpose) } catch {
                        #expect(Self.documented.contains(error.status), "seed \(seed): \(error)")
                    }
                }
                do { _ = try ItemChanges(parsing: other, of: .key) } catch {
                    #expect(Self.documented.contains(error.status), "seed \(seed): \(error)")
                }
            }
            var result: CFTypeRef?
            let statuses = bench.use {
                [
                    unsafe SecItemAdd(query, &result), unsafe SecItemCopyMatching(query, &result),
                    SecItemUpdate(query, changes), SecItemDelete(query),
                ]
            }
            calls += 4
            successes += statuses.count { $0 == 0 }
            for status in statuses { #expect(Self.documented.contains(status), "seed \(seed), call \(calls): \(status)") }
        }
        print("fuzz: seed \(seed), \(calls) calls, \(successes) of them successes")
        #expect(successes > 0)
    }

    @Test("a reference of any bytes is malformed, unknown or the item's")
    func references() throws {
        let seed = Self.number("KEYFOB_FUZZ_SEED", or: .random(in: 0 ... .max))
        var random = Random(state: seed)
        let bench = try SecItemFixture()
        let pair = try TestPair()
        let references = [
            try #require(bench.adding(genp("a", "s") + wantsPersistent).data),
            try #require(bench.adding(["v_Ref": pair.secIdentity] + wantsPersistent).data),
            try #require(bench.copying(["class": "keys"] + wantsPersistent).data),
            try #require(try bench.keychain.find(.certificates).first?.reference?.data),
        ]
        let end = Date(timeIntervalSinceNow: Double(Self.number("KEYFOB_FUZZ_SECONDS", or: 2)))
        while Date() < end {
            var bytes = references.randomElement(using: &random) ?? Data()
            let original = bytes.prefix(20)
            for _ in 0..<Int.random(in: 0...3, using: &random) where !bytes.isEmpty {
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0...7, using: &random)
                case 1: bytes = Data(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
                default: bytes += Self.bytes(&random, 1...20)
                }
            }
            let status = bench.copy(["v_PersistentRef": bytes])
            if bytes.prefix(20) == original {
                #expect([0, -50].contains(status), "seed \(seed)")
            } else {
                #expect([-50, -25300, 0].contains(status), "seed \(seed)")
            }
        }
    }
}

import Foundation
import Keyfob
import Testing

@testable import KeychainServices

@Suite("Dictionaries of a caller's own class")
struct ForeignDictionaryTests {
    /// A subclass whose members need not be objects.
    private final class Foreign: NSDictionary {
        private let members: [String: Any]

        init(_ members: [String: Any]) {
            self.members = members
            unsafe super.init(objects: nil, forKeys: nil, count: 0)
        }

        required convenience init(objects: UnsafePointer<AnyObject>!, forKeys keys: UnsafePointer<NSObject>!, count: Int) {
            self.init([:])
        }
        required convenience init?(coder: NSCoder) { nil }
        required convenience init(dictionaryLiteral elements: (Any, Any)...) { self.init([:]) }

        override var count: Int { members.count }
        override func object(forKey key: Any) -> Any? { (key as? String).flatMap { members[$0] } }
        override func keyEnumerator() -> NSEnumerator { NSArray(array: Array(members.keys)).objectEnumerator() }
        override var allKeys: [Any] { Array(members.keys) }
        override var allValues: [Any] { Array(members.values) }
    }

    @Test("are read like any other, with any kind of members")
    func foreign() throws {
        let bench = try SecItemFixture()
        let item: [String: Any] = [
            "class": "genp", "acct": "ä", "svce": "s", "gena": Data([1, 2]), "type": 7, "nega": true,
            "v_Data": Data("x".utf8),
        ]
        bench.use { #expect(SecItemAdd(Foreign(item), nil) == 0) }
        for shape in ["m_Limit": 1, "type": 7, "nega": true, "gena": Data([1, 2])] as [String: Any] {
            let query = genp("ä", "s", [shape.key: shape.value, "r_Data": true])
            #expect(bench.copying(query).data == Data("x".utf8), "\(shape.key)")
            bench.use {
                var result: CFTypeRef?
                #expect(unsafe SecItemCopyMatching(Foreign(query), &result) == 0, "\(shape.key)")
                #expect(result as? Data == Data("x".utf8), "\(shape.key)")
            }
        }
        bench.use {
            #expect(SecItemCopyMatching(Foreign(genp("ä", "s", ["type": 8])), nil) == -25300)
            #expect(SecItemCopyMatching(Foreign(["class": 1]), nil) == -50)
            #expect(SecItemUpdate(Foreign(genp("ä", "s")), Foreign(["labl": "l"])) == 0)
        }
        #expect(bench.copying(genp("ä", "s") + wantsAttributes).dictionary?["labl"] as? String == "l")
        bench.use { #expect(SecItemDelete(Foreign(genp("ä", "s"))) == 0) }
    }

    /// A subclass with one key more than values.
    private final class Uneven: NSDictionary {
        override var count: Int { 2 }
        override func object(forKey key: Any) -> Any? { nil }
        override func keyEnumerator() -> NSEnumerator { NSArray(array: allKeys).objectEnumerator() }
        override var allKeys: [Any] { ["class", "acct"] }
        override var allValues: [Any] { ["genp"] }
    }

    @Test("are read as far as they are consistent")
    func uneven() throws {
        let bench = try SecItemFixture()
        bench.expect(-25300, bench.use { SecItemCopyMatching(Uneven(), nil) })
    }

    @Test("no class has more attributes than the parser assumes", arguments: ItemClass.allCases)
    func attributes(_ itemClass: ItemClass) {
        #expect(AttributeCoding.count(of: itemClass) <= AttributeCoding.most)
    }
}

import Foundation
import KeyfobOpenSSL
import Testing

@testable import KeychainServices

/// One call after some others, with its input and expected result.
///
/// The tables cover rules that have no behaviour vector.
struct CallRow {
    /// The state of the caller's pointer after the call.
    enum Answer {
        /// It was left unchanged.
        case untouched
        /// It was set to `nil`.
        case nothing
        case data(Data)
        /// 20 bytes that begin with the raw value of a class.
        case persistent(String)
        case object(NSObject)
        /// A dictionary with these members, and without those that are `nil` here.
        case members([String: NSObject?])
        /// An array with the given number of elements.
        case array(Int)
    }

    enum Function { case add, copy, delete, update([String: Any]) }

    let name: String
    /// The items that are added before; each addition must succeed.
    let given: [[String: Any]]
    let function: Function
    let dictionary: [String: Any]
    let status: OSStatus
    let answer: Answer
    /// The searches afterwards, with their number of matches.
    let after: [([String: Any], Int)]

    init(
        _ name: String, _ function: Function, _ dictionary: [String: Any], _ status: OSStatus,
        _ answer: Answer = .untouched, given: [[String: Any]] = [], after: [([String: Any], Int)] = []
    ) {
        (self.name, self.function, self.dictionary, self.status) = (name, function, dictionary, status)
        (self.answer, self.given, self.after) = (answer, given, after)
    }

    /// Makes the calls on a keychain, and removes all items.
    func run(_ bench: SecItemFixture) {
        defer { bench.empty() }
        for item in given { bench.expect(0, bench.add(item), "\(name): given \(item)") }
        switch function {
        case .add: check(bench.adding(dictionary))
        case .copy: check(bench.copying(dictionary))
        case .delete: bench.expect(status, bench.delete(dictionary), name)
        case .update(let changes): bench.expect(status, bench.update(dictionary, changes), name)
        }
        for (query, count) in after {
            let found = bench.copying(query + wantsAll + wantsPersistent)
            #expect((found.status == -25300 ? 0 : found.array?.count) == count, "\(name): \(query)")
        }
    }

    private func check(_ found: SecItemFixture.Answer) {
        #expect(found.status == status, "\(name)")
        switch answer {
        case .untouched: #expect(!found.isTouched, "\(name)")
        case .nothing: #expect(found.isTouched && found.value == nil, "\(name)")
        case .data(let data): #expect(found.data == data, "\(name)")
        case .persistent(let tag):
            #expect(found.data?.count == 20 && found.data?.prefix(4) == Data(tag.utf8), "\(name)")
        case .object(let object): #expect(found.value as? NSObject == object, "\(name)")
        case .array(let count): #expect(found.array?.count == count, "\(name)")
        case .members(let members):
            #expect(found.dictionary != nil, "\(name)")
            for (key, value) in members { #expect(found.dictionary?[key] as? NSObject == value, "\(name): \(key)") }
        }
    }
}

extension SecItemFixture {
    /// Removes all items that a row can have stored.
    fileprivate func empty() {
        for itemClass in ["cert", "keys", "genp", "inet"] {
            for tombstone in [false, true] {
                _ = delete(["class": itemClass, "sync": "syna", "tomb": tombstone])
            }
        }
    }
}

@Suite("Calls and their results")
struct CallTableTests {
    static let tables: [(name: String, rows: @Sendable () throws -> [CallRow])] = [
        ("1.3", CallRow.common), ("1.4 1.5", CallRow.passwords), ("1.6", CallRow.certificates), ("1.7", CallRow.keys),
        ("1.8", CallRow.identities), ("1.10", CallRow.numbers), ("2.4", CallRow.additions), ("2.5", CallRow.searches),
        ("2.6", CallRow.changes), ("2.7", CallRow.removals), ("2.8", CallRow.shapes), ("2.10", CallRow.tombstones),
    ]

    @Test("a section", arguments: tables.indices)
    func section(_ index: Int) throws {
        let bench = try SecItemFixture()
        for row in try Self.tables[index].rows() { row.run(bench) }
    }
}

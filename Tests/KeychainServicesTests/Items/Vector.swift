import Testing

/// A numbered test of the behaviour of Apple's functions.
struct Vector: Sendable, CustomTestStringConvertible {
    let number: Int
    let name: String
    let run: @Sendable (SecItemFixture) throws -> Void

    init(_ number: Int, _ name: String, _ run: @escaping @Sendable (SecItemFixture) throws -> Void) {
        self.number = number
        self.name = name
        self.run = run
    }

    var testDescription: String { "V\(number) \(name)" }

    static let all = groupA + groupB + groupC + groupD + groupE + groupF + groupG + groupH + groupI + groupJ + groupK

    /// Rows that do not apply here, and the reasons.
    static let notApplicable: [Int: String] = [
        71: "no item here ever had a 12-byte reference; that one is well-formed and not found, BadInputTests checks",
        78: "SecItemDeleteAll is private to Apple's daemon",
        86: "as V71", 87: "as V71",
        127: "access groups have one source, not Apple's three kinds of entitlements",
        134: "publishing a card's objects as rows is private to Apple's daemon; here the token is read itself",
        146: "adding asks for nothing here, so nothing can fail twenty times; V142 has a wrong answer",
        147: "a token always has its PIN: there is no passcode that could be removed",
        158: "a vault has one metadata key, not one for each class; damaged, the keychain cannot be unlocked",
        159: "as V158", 161: "as V158",
        167: "a damaged vault is reported, never replaced by an empty one",
        170: "connections are for writing too; what SQLite says of a file that is not is mapped: ErrorMappingTests",
        171: "the wrapping key is tried again by the session pool; faults of a token are PKCS11Tests'",
        173: "upgrades happen after unlocking, in one transaction: KeyfobTests",
        174: "as V173", 175: "as V158", 178: "as V173",
    ]

    /// The numbers of the rows here; every fourth row is kept elsewhere, for acceptance.
    static let numbers: [Int] = (1...178).filter { $0 % 4 != 0 }
}

@Suite("Behaviour vectors")
struct VectorTests {
    @Test("a row", arguments: Vector.all)
    func row(_ vector: Vector) throws {
        try vector.run(SecItemFixture())
    }

    @Test("every number of the table is run or listed with a reason, and none is both")
    func completeness() {
        let run = Vector.all.map(\.number)
        #expect(Set(run).count == run.count)
        #expect(Set(run).isDisjoint(with: Vector.notApplicable.keys))
        #expect(Set(run).union(Vector.notApplicable.keys) == Set(Vector.numbers))
    }
}

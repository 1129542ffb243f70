import Foundation
import Glibc
import PKCS11
import TestSupport
import Testing

@testable import KeyfobToken

/// The abilities of the token without which a test is skipped.
struct Needs: TestTrait, SuiteTrait {
    let abilities: Set<TokenKind.Ability>
    var isRecursive: Bool { true }
}

extension Trait where Self == Needs {
    /// Skips the test on tokens that lack one of the abilities.
    static func needs(_ abilities: TokenKind.Ability...) -> Self { Needs(abilities: Set(abilities)) }
}

/// Cancels the test case on tokens that cannot generate keys of the kind.
func needs(_ specification: KeySpecification) throws {
    let ability: TokenKind.Ability =
        switch specification.kind {
        case .rsa: .makesRSAKeys
        case .aes: .makesAESKeys
        case .ed25519: .makesEd25519Keys
        case .ec(.p521): .makesP521Keys
        case .ec: .makesECKeys
        }
    guard !TokenUnderTest.kind.abilities.contains(ability) else { return }
    try Test.cancel("\(TokenUnderTest.kind.rawValue) lacks: \(ability.rawValue)")
}

/// Skips tests by their `Needs`, and records each for the table of `Scripts/test-tokens`.
struct Recorded: TestTrait, SuiteTrait, TestScoping {
    var isRecursive: Bool { true }

    func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { test.isSuite || testCase == nil ? nil : self }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let needed = test.traits.reduce(into: Set<TokenKind.Ability>()) { $0.formUnion(($1 as? Needs)?.abilities ?? []) }
        let kind = TokenUnderTest.kind
        let missing = needed.subtracting(kind.abilities).map(\.rawValue).sorted()
        record([missing.isEmpty ? "ran" : "skipped", test.name] + needed.map(\.rawValue).sorted())
        guard missing.isEmpty else { try Test.cancel("\(kind.rawValue) lacks: \(missing.joined(separator: ", "))") }
        try await function()
    }

    /// Appends a line to the file that the variable `KEYFOB_TEST_RECORD` names.
    private func record(_ fields: [String]) {
        guard let path = ProcessInfo.processInfo.environment["KEYFOB_TEST_RECORD"] else { return }
        let line = fields.joined(separator: "\t") + "\n"
        let file = unsafe open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        _ = unsafe write(file, line, line.utf8.count)
        close(file)
    }
}

extension Trait where Self == Recorded {
    /// Skips the tests of the suite by their `needs`, and records them.
    static var recorded: Self { Recorded() }
}

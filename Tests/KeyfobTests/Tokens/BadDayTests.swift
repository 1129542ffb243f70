import Foundation
import TestSupport
import Testing

/// Tokens whose daemon or card goes away and comes back while eight threads use them.
///
/// A module reads its environment when it is loaded, so each token is used by a process of its own.
@Suite(.serialized) struct BadDayTests {
    /// The results of the calls that began after the token came back.
    private struct Round {
        let text: String
        /// The time until each thread had completed a call, in milliseconds; `nil` if one had not in 15 seconds.
        let slowest: Int?
        let failures: String
        let logins: [String]

        init(_ line: String) {
            text = line
            let parts = line.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
            slowest = parts.first.flatMap { Int($0.dropFirst("slowest ".count)) }
            failures = parts.count > 1 ? String(parts[1].dropFirst("failures ".count)) : "?"
            logins = parts.count > 2 ? parts[2].split(separator: " ").dropFirst().map(String.init) : []
        }

        var isGood: Bool {
            guard let slowest else { return false }
            return slowest <= 2000 && failures.isEmpty && logins.count { $0 == "CKR_OK" } <= 1
        }
    }

    /// Starts a process that makes a keychain on the token and uses it from eight threads.
    private func start(_ kind: TokenKind, _ token: StartedToken, in directory: TemporaryDirectory) throws -> Child {
        let home = directory.file("home")
        try FileManager.default.createDirectory(
            atPath: home, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let key = kind.wrappingKey ?? ""
        let child = try Child(
            root: directory.file("root"), tokens: directory.file("tokens"), keychain: "load",
            ["load", token.label, token.module, token.pin, key],
            environment: token.environment.merging(["HOME": home, "XDG_RUNTIME_DIR": home]) { $1 })
        while true {
            let line = try #require(child.line(), "the process ended")
            if line == "ready" { return child }
        }
    }

    private static let installed = [TokenKind.opencryptoki, .tpm2, .remote, .piv, .ykcs11].filter(\.isInstalled)

    /// The ways to lose a token for a while, by kind.
    private static let losses = installed.flatMap { kind in
        (["drop"] + ([.piv, .ykcs11].contains(kind) ? ["pull"] : [])).map { (kind, $0) }
    }

    @Test(
        .enabled(if: !installed.isEmpty, "no token but SoftHSM is installed: Scripts/install-dependencies tokens"),
        arguments: losses)
    func `calls of eight threads succeed after one login when the token is back`(
        kind: TokenKind, loss: String
    ) throws {
        let directory = try TemporaryDirectory()
        let token = try StartedToken(kind)
        let child = try start(kind, token, in: directory)
        var rounds: [Round] = []
        // The time depends on the machine's load, so one good round of three is enough.
        while rounds.count < 3, !rounds.contains(where: \.isGood) {
            child.send("away")
            try #require(child.line() == "noted", "the process ended")
            try token.act(loss)
            // The calls fail meanwhile, so that the pool tries to recover before it can.
            usleep(1_200_000)
            try token.act("start")
            child.send("back")
            rounds.append(Round(try #require(child.line(), "the process ended")))
        }
        let isGood = rounds.contains { $0.isGood }
        let texts = rounds.map(\.text).joined(separator: "\n")
        #expect(isGood, "\(texts)")
        // No PIN was refused, in no round.
        let refusals = rounds.flatMap(\.logins).filter { $0.contains("PIN") }
        #expect(refusals.isEmpty)
        try child.endInput()
        #expect(child.waitForEnd().status == 0)
    }

    @Test(
        .enabled(if: !installed.isEmpty, "no token but SoftHSM is installed: Scripts/install-dependencies tokens"),
        arguments: installed)
    func `calls end at the deadline while the daemon is stopped, and work when it continues`(
        kind: TokenKind
    ) throws {
        let directory = try TemporaryDirectory()
        let token = try StartedToken(kind)
        let child = try start(kind, token, in: directory)
        child.send("away")
        try #require(child.line() == "noted", "the process ended")
        try token.act("pause")
        child.send("stopped")
        for _ in 0..<4 {
            let answer = try #require(child.line(), "the process ended").split(separator: " ")
            // openCryptoki's library needs its daemon only at the start.
            #expect(answer.first == (kind == .opencryptoki ? "done" : "timeout"), "\(answer)")
            // The deadline is three seconds.
            let elapsed = try #require(answer.last.flatMap { Int($0) })
            #expect(elapsed < 30_000)
        }
        try token.act("resume")
        child.send("back")
        let round = Round(try #require(child.line(), "the process ended"))
        #expect(round.slowest != nil && round.failures.isEmpty, "\(round.text)")
        try child.endInput()
        #expect(child.waitForEnd().status == 0)
    }
}

import Foundation
import TestSupport
import Testing

@testable import Keyfob

/// One after the other, because a signal that is passed on reaches the programs of all tests.
@Suite(.serialized) struct RunningChildrenTests {
    /// The state of a process as in proc(5): `T` for a stopped one.
    private func state(_ identifier: Int32) throws -> Character? {
        let text = try String(contentsOfFile: "/proc/\(identifier)/stat", encoding: .utf8)
        return text.split(separator: ")").last?.first { $0 != " " }
    }

    private func awaitStop(of child: SpawnedProcess) throws {
        for _ in 0..<60_000 where try state(child.identifier) != "T" { usleep(1000) }
        try #require(state(child.identifier) == "T")
    }

    @Test func `a program receives a signal that came while it was being started`() throws {
        let child = try SpawnedProcess(["sleep", "300"], environment: ["PATH": "/usr/bin:/bin"], streams: (0, 1, 2))
        let before = RunningChildren.signals
        kill(child.identifier, SIGSTOP)
        try awaitStop(of: child)
        // A signal that programs of other tests ignore.
        RunningChildren.signal(SIGCONT)
        #expect(try state(child.identifier) == "T")
        RunningChildren.add(child.identifier, since: before)
        defer { RunningChildren.remove(child.identifier) }
        for _ in 0..<30_000 where try state(child.identifier) == "T" { usleep(1000) }
        #expect(try state(child.identifier) != "T")
    }

    @Test func `a program receives no signal that came before it`() throws {
        let child = try SpawnedProcess(["sleep", "300"], environment: ["PATH": "/usr/bin:/bin"], streams: (0, 1, 2))
        kill(child.identifier, SIGSTOP)
        try awaitStop(of: child)
        RunningChildren.signal(SIGCONT)
        RunningChildren.add(child.identifier, since: RunningChildren.signals)
        RunningChildren.remove(child.identifier)
        #expect(try state(child.identifier) == "T")
    }
}

import Glibc
import TestSupport
import Testing

@Suite struct SpawnedProcessTests {
    /// The environment in which tests may be started: a descriptor that is not closed on exec, and an ignored signal.
    @Test func `a child has only its standard streams, and ignores and blocks no signal`() throws {
        let left = dup(STDERR_FILENO)
        defer { close(left) }
        signal(SIGUSR1, SIG_IGN)
        defer { signal(SIGUSR1, SIG_DFL) }
        // The fourth descriptor belongs to the directory that ls reads.
        #expect(try run("ls", ["/proc/self/fd"]).stdout == "0\n1\n2\n3\n")
        let lines = try run("grep", ["^Sig[BI]", "/proc/self/status"]).stdout.split(separator: "\n")
        let masks = lines.compactMap { $0.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) } }
        try #require(masks.count == 2)
        // Two signals are glibc's own and are not changed.
        for mask in masks { #expect(mask & ~(1 << 31 | 1 << 32) == 0, "\(lines)") }
    }
}

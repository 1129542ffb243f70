import Glibc
import TestSupport
import Testing

@Suite struct SpawnedProcessTests {
    @Test func `a child has its standard streams and no other descriptor, and ignores and blocks no signal`() throws {
        // As whoever runs the tests may leave them: not closed on exec, and ignored.
        let left = dup(STDERR_FILENO)
        defer { close(left) }
        signal(SIGUSR1, SIG_IGN)
        defer { signal(SIGUSR1, SIG_DFL) }
        // The fourth is the directory that `ls` reads.
        let open = try run("ls", ["/proc/self/fd"]).stdout
        #expect(open == "0\n1\n2\n3\n")
        let signals = try run("grep", ["^Sig[BI]", "/proc/self/status"]).stdout
        // From 32 on they are the C library's own.
        let masks = signals.split(whereSeparator: \.isWhitespace).compactMap { UInt64($0, radix: 16) }
        #expect(masks.map { $0 & 0x7FFF_FFFF } == [0, 0], "\(signals)")
    }
}

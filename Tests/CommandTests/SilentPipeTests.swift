import Foundation
import TestSupport
import Testing

/// Files and pipes at whose other end nobody says or takes anything.
@Suite struct SilentPipeTests {
    /// Runs a script of bash beside a FIFO `fifo`, with the command as `$0`; one that waits is killed after two minutes.
    private func bash(_ script: String, in home: IdentityHome) throws -> Tool.Result {
        try Tool(
            "/bin/bash",
            ["-c", "cd \"$1\"; mkfifo fifo; \(script)", Tool.keyfob([]).path, home.directory.path],
            environment: home.environment
        ).run()
    }

    @Test(arguments: [("fifo", true), (".", true), ("/dev/null", false), ("root.pem", false)])
    func `the system's authorities are read from a regular file, and a FIFO is not waited for`(
        file: String, isRefused: Bool
    ) throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("root")
        let result = try bash("SSL_CERT_FILE=\(file) exec timeout 120 \"$0\" cert verify ./root.pem", in: home)
        #expect((isRefused ? [1] : [0, 11]).contains(result.status), "\(result.output)\(result.error)")
        #expect(result.error.contains("\(file) is no regular file") == isRefused, "\(result.error)")
    }
}

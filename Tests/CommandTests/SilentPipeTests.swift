import Foundation
import TestSupport
import Testing

/// Files and pipes without a writer or a reader at the other end.
@Suite struct SilentPipeTests {
    /// Runs a script of bash beside a new FIFO `fifo`, with the command as `$0`.
    private func bash(_ script: String, in home: IdentityHome) throws -> Tool.Result {
        try Tool(
            "/bin/bash",
            ["-c", "cd \"$1\"; rm -f fifo; mkfifo fifo; \(script)", Tool.keyfob([]).path, home.directory.path],
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
        let expected: [Int32] = isRefused ? [1] : [0, 11]
        #expect(expected.contains(result.status), "\(result.output)\(result.error)")
        #expect(result.error.contains("\(file) is not a regular file") == isRefused, "\(result.error)")
    }

    @Test(arguments: [
        ("cert import fifo", "fifo"), ("identity import fifo", "fifo"), ("identity install web --cert fifo", "fifo"),
        ("cert verify ./web.pem --untrusted fifo", "fifo"), ("cert chain ./web.pem --untrusted fifo", "fifo"),
        ("set a --from-file fifo", "fifo"),
        // Opened for writing, and then left silent.
        ("cert import fifo 3<>fifo", "fifo"), ("set a --from-file fifo 3<>fifo", "fifo"),
        ("set a --from-fd 3 3<>fifo", "file descriptor 3"), ("set a --stdin 3<>fifo <fifo", "standard input"),
        ("set a 3<>fifo <fifo", "standard input"), ("cert import - 3<>fifo <fifo", "standard input"),
        ("set a --from-file /dev/stdin 3<>fifo <fifo", "/dev/stdin"),
    ])
    func `commands wait for data from a file or pipe as long as --timeout says`(
        words: String, name: String
    ) throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("web")
        let result = try bash("exec timeout 120 \"$0\" --timeout 1s \(words)", in: home)
        #expect(result.status == 13, "\(result.output)\(result.error)")
        #expect(
            result.error.hasPrefix("keyfob: the end of \(name) was not reached within 1 s; nothing was changed.\n"),
            "\(result.error)")
        #expect(try home.keyfob("get", "a").status == 3)
    }

    @Test(arguments: [
        "cert import fifo --timeout 200s", "cert import fifo", "cert import - --timeout 200s <fifo",
        "set a --from-file fifo --timeout 200s", "set a --from-file fifo", "set a --stdin --timeout 200s <fifo",
        "set a <fifo", "set a --from-fd 3 --timeout 200s 3<fifo", "set a --from-file /dev/stdin --timeout 200s <fifo",
        "cert import <(sleep 1; cat web.pem) --timeout 200s", "set a --from-file <(cat web.pem) --timeout 200s",
        // Available data is not waited for.
        "set a --stdin --timeout 0 <<< value", "cert import /dev/stdin --timeout 0 <web.pem",
        "set a --from-file web.pem --timeout 0", "set a --from-file /dev/null --allow-empty --timeout 0",
    ])
    func `late data is read, and available data is read at once`(words: String) throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("web")
        let writes = words.contains("fifo") ? "{ sleep 1; cat web.pem >fifo; } >/dev/null 2>&1 &" : ""
        let result = try bash("\(writes) exec timeout 210 \"$0\" \(words)", in: home)
        #expect(result.status == 0, "\(result.output)\(result.error)")
    }

    @Test(arguments: ["--stdin <fifo", "--from-fd 3 3<fifo"])
    func `a value that is not needed is not waited for, even if it comes slowly`(source: String) throws {
        let home = try IdentityHome()
        let stored = try Tool.keyfob(["set", "a"], environment: home.environment, input: Data("one".utf8)).run()
        try #require(stored.status == 0, "\(stored.error)")
        // It never ends, and is never silent for long.
        let writes = "{ while printf x; do sleep 0.2; done; } >fifo 2>/dev/null &"
        let result = try bash("\(writes) exec timeout 120 \"$0\" set a --if-missing --timeout 1s \(source)", in: home)
        #expect(result.status == 0, "\(result.output)\(result.error)")
        #expect(try home.keyfob("get", "a").output == "one\n")
    }

    @Test(arguments: ["cert export web -o fifo", "key pub web -o fifo", "key csr web -o fifo"])
    func `the reader of a FIFO is waited for as long as --timeout says`(words: String) throws {
        let home = try IdentityHome()
        let made = try home.keyfob("identity", "create", "web", "--cn", "web", "--self-signed")
        try #require(made.status == 0, "\(made.error)")
        let result = try bash("exec timeout 120 \"$0\" \(words) --timeout 1s", in: home)
        #expect(result.status == 13, "\(result.output)\(result.error)")
        #expect(result.error.contains("no program read fifo within 1 s; nothing was written."), "\(result.error)")
        for option in ["", "--timeout 200s"] {
            let reads = "{ sleep 1; exec timeout 210 cat fifo >got; } &"
            let script = "\(reads) timeout 210 \"$0\" \(words) \(option) || exit; wait; grep BEGIN got"
            let read = try bash(script, in: home)
            #expect(read.status == 0, "\(option) \(read.output)\(read.error)")
        }
    }
}

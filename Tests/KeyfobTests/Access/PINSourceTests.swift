import Foundation
import KeyfobPrimitives
import TestSupport
import Testing

@testable import Keyfob

@Suite struct PINSourceTests {
    private static let purpose = PINPurpose.unlock(keychain: "site")

    private struct TypedPrompter: Prompter {
        let answer: String
        func readSecret(prompt: String, confirm: Bool) throws(KeychainError) -> SecretBytes {
            SecretBytes(utf8: answer + (confirm ? " twice" : ""))
        }
    }

    private func read(_ text: String, _ environment: PINEnvironment = PINEnvironment()) throws -> String? {
        try PINSource(parsing: text).read(Self.purpose, from: environment).copyString()
    }

    private func code(_ body: () throws -> Void) -> KeychainError.Code? {
        #expect(throws: KeychainError.self, performing: body)?.code
    }

    @Test(arguments: [
        ("prompt", PINSource.prompt, "prompt"), ("pinentry", .pinentry, "pinentry"),
        ("env:A_B", .environment("A_B"), "env:A_B"), ("file:/run/x", .file("/run/x"), "file:/run/x"),
        ("file:///run/a%20b", .file("/run/a b"), "file:/run/a b"),
        ("file://localhost/run/x", .file("/run/x"), "file:/run/x"), ("file:x:y", .file("x:y"), "file:x:y"),
        ("fd:7", .descriptor(7), "fd:7"), ("fd:0", .standardInput, "stdin"), ("stdin", .standardInput, "stdin"),
        ("cmd:pass show a:b", .command("pass show a:b"), "cmd:pass show a:b"),
        ("|pass show a", .command("pass show a"), "cmd:pass show a"),
        ("credential:keyfob.pin", .credential("keyfob.pin"), "credential:keyfob.pin"),
    ])
    func `the grammar and RFC 7512's spellings are parsed, and their printed form parses again`(
        row: (text: String, source: PINSource, printed: String)
    ) throws {
        #expect(try PINSource(parsing: row.text) == row.source)
        #expect(row.source.description == row.printed)
        #expect(try PINSource(parsing: row.printed) == row.source)
    }

    @Test(arguments: [
        "", "1234", "Prompt", "prompt:", "env:", "env:A=B", "env:A\0B", "file:", "file://host/x", "file:///%zz", "fd:",
        "fd:-1", "fd:x", "fd:99999999999", "cmd:", "|", "credential:", "credential:a/b", "credential:..", "item:",
        "secret:hunter2",
    ])
    func `an invalid source is refused, and the error does not repeat it`(text: String) {
        let error = #expect(throws: KeychainError.self) { try PINSource(parsing: text) }
        #expect(error?.code == .invalidArgument)
        if text.count >= 4, text != "prompt:", text != "cmd:" {
            #expect(error.map { !"\($0)".contains("hunter2") && !"\($0)".contains("1234") } == true)
        }
    }

    @Test(arguments: [
        ("1234", "1234"), ("1234\n", "1234"), ("1234\r\n", "1234"), ("1234\nmore\n", "1234"), (" 12 34 \n", " 12 34 "),
        ("1234\r", "1234\r"),
    ])
    func `a file gives its first line without the newline, and nothing else is stripped`(
        row: (content: String, pin: String)
    ) throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write(row.content.utf8, to: "pin")
        #expect(try read("file:" + path) == row.pin)
        #expect(try read("cmd:cat " + path) == row.pin)
    }

    @Test(arguments: ["", "\n", "\r\n"])
    func `an empty value is an error`(content: String) throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write(content.utf8, to: "pin")
        #expect(code { _ = try read("file:" + path) } == .pinRequired)
        #expect(code { _ = try read("cmd:cat " + path) } == .pinRequired)
    }

    @Test(arguments: [0o640, 0o604, 0o660, 0o644])
    func `a file that others can reach is refused unless the caller accepts it`(mode: Int) throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("1234".utf8, to: "pin")
        unsafe chmod(path, mode_t(mode))
        #expect(code { _ = try read("file:" + path) } == .unsafeFile)
        #expect(try read("file:" + path, PINEnvironment(allowInsecureFiles: true)) == "1234")
    }

    @Test func `a directory, a missing file and another user's file are errors`() throws {
        let directory = try TemporaryDirectory()
        unsafe chmod(directory.path, 0o700)
        #expect(code { _ = try read("file:" + directory.path) } == .unsafeFile)
        #expect(code { _ = try read("file:" + directory.file("none")) } == .fileUnavailable)
        let path = try directory.write("1234".utf8, to: "pin")
        if unsafe chown(path, 65534, 65534) == 0 { #expect(code { _ = try read("file:" + path) } == .unsafeFile) }
    }

    @Test(arguments: [4096, 4097, 5000, 100_000])
    func `a PIN of more than 4096 bytes is refused and never cut`(count: Int) throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write(repeatElement(UInt8(ascii: "x"), count: count), to: "pin")
        for source in ["file:" + path, "cmd:cat " + path] {
            if count <= 4096 {
                #expect(try read(source)?.count == count)
            } else {
                #expect(code { _ = try read(source) } == .invalidArgument)
            }
        }
    }

    @Test func `an environment variable is removed after it was read, and kept by its environment`() async {
        // In this process, threads of other tests would read the environment during the change.
        await #expect(processExitsWith: .success) { try PINSourceTests().readVariable() }
    }

    private func readVariable() throws {
        let name = "KF_TEST_" + UUID().uuidString.replacingOccurrences(of: "-", with: "")
        unsafe setenv(name, "geheim\n", 1)
        let environment = PINEnvironment()
        #expect(try read("env:" + name, environment) == "geheim")
        #expect(ProcessInfo.processInfo.environment[name] == nil)
        #expect(try read("cmd:printenv \(name) || echo none", environment) == "none")
        #expect(try read("env:" + name, environment) == "geheim")
        #expect(code { _ = try read("env:" + name) } == .pinRequired)
        environment.forget()
        #expect(code { _ = try read("env:" + name, environment) } == .pinRequired)
    }

    /// A descriptor of a file, with a number so high that no other test opens a file under it in the meantime.
    ///
    /// - Parameter lowest: The lowest number; each test has its own.
    private func descriptor(of path: String, from lowest: Int32) throws -> Int32 {
        var limit = rlimit()
        try #require(unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        let low = unsafe open(path, O_RDONLY)
        defer { close(low) }
        let number = fcntl(low, F_DUPFD, min(lowest, Int32(clamping: limit.rlim_cur) - 10))
        try #require(number > low)
        return number
    }

    @Test func `a descriptor is read to its end, closed, and not read again`() throws {
        let directory = try TemporaryDirectory()
        let number = try descriptor(of: directory.write("12\n34\n".utf8, to: "pin"), from: 700)
        let environment = PINEnvironment()
        let pin = try PINSource.descriptor(number).read(Self.purpose, from: environment).copyString()
        #expect(pin == "12\n34")
        #expect(fcntl(number, F_GETFD) == -1)
        #expect(try read("fd:\(number)", environment) == "12\n34")
        #expect(code { _ = try read("fd:\(number)") } == .fileUnavailable)
    }

    @Test func `a descriptor that was read is left alone after another file got its number`() throws {
        let directory = try TemporaryDirectory()
        let number = try descriptor(of: directory.write("1234\n".utf8, to: "pin"), from: 760)
        let source = PINSource.descriptor(number)
        let environment = PINEnvironment()
        #expect(try source.read(Self.purpose, from: environment).copyString() == "1234")
        let path = try directory.write("other".utf8, to: "other")
        let other = unsafe open(path, O_RDONLY)
        try #require(dup2(other, number) == number)
        close(other)
        environment.forget()
        for environment in [environment, PINEnvironment()] {
            #expect(code { _ = try source.read(Self.purpose, from: environment) } == .fileUnavailable)
            #expect(code { _ = try read("fd:\(number)", environment) } == .fileUnavailable)
        }
        EnvironmentVariable.withhold(namedBy: "fd:\(number)")
        // Open, and still inherited by children.
        #expect(fcntl(number, F_GETFD) == 0)
        // A request for a value, or a file, by that number does not get it either.
        #expect(!InheritedDescriptors.contains(number))
        // A new source with that number means the file that is open now.
        #expect(try PINSource.descriptor(number).read(Self.purpose, from: environment).copyString() == "other")
        #expect(fcntl(number, F_GETFD) == -1)
    }

    @Test func `all threads that read a descriptor get the PIN, which it gives only once`() throws {
        let pipe = try SpawnedProcess.pipe()
        let source = PINSource.descriptor(pipe.reading)
        let environment = PINEnvironment(commandDeadline: .seconds(60))
        let purpose = Self.purpose
        let given = Lock<[String]>([])
        let threads = (0..<8).map { _ in
            POSIXThread.start("reader") {
                let pin = (try? source.read(purpose, from: environment).copyString()) ?? "none"
                given.withLock { given in given.append(pin) }
            }
        }
        // They must be waiting before the PIN is there.
        usleep(200_000)
        try OpenFile(adopting: pipe.writing, path: "pipe").write(SecretBytes(utf8: "1234\n"))
        for thread in threads { try #require(thread).join() }
        #expect(given.withLock { $0 } == Array(repeating: "1234", count: 8))
    }

    @Test func `a pipe is waited for until the deadline, and without one if a user may type at its other end`()
        throws
    {
        func read(_ environment: PINEnvironment, by script: String) throws -> String? {
            let pipe = try SpawnedProcess.pipe()
            let writer: SpawnedProcess
            do {
                defer { close(pipe.writing) }
                writer = try SpawnedProcess(
                    ["sh", "-c", script], environment: ["PATH": "/usr/bin:/bin"], streams: (0, pipe.writing, 2))
            }
            defer { writer.kill() }
            return try PINSource.descriptor(pipe.reading).read(Self.purpose, from: environment).copyString()
        }
        let prompter = TypedPrompter(answer: "")
        let attended = PINEnvironment(prompter: prompter, commandDeadline: .milliseconds(200))
        #expect(try read(attended, by: "sleep 2; echo 1234") == "1234")
        // Not the same environment with another setting: it keeps what a descriptor of that number gave.
        for limited in [
            PINEnvironment(prompter: prompter, noInput: true, commandDeadline: .milliseconds(200)),
            PINEnvironment(commandDeadline: .milliseconds(200)),
            // An explicit limit is not exceeded.
            PINEnvironment(prompter: prompter, commandDeadline: .milliseconds(200), descriptorDeadline: .zero),
        ] {
            #expect(code { _ = try read(limited, by: "sleep 100") } == .timedOut)
        }
    }

    @Test func `a command that does not end is killed with all its children`() throws {
        let directory = try TemporaryDirectory()
        let started = Date()
        let environment = PINEnvironment(commandDeadline: .seconds(2))
        let command = "cmd:sleep 300 & echo $! > '\(directory.file("child"))'; echo 1234; sleep 600"
        #expect(code { _ = try read(command, environment) } == .timedOut)
        #expect(Date().timeIntervalSince(started) < 80)
        // On a very busy machine the command may not have started its child, and there is none to kill.
        let child = (try? String(contentsOfFile: directory.file("child"), encoding: .utf8)) ?? ""
        if let child = pid_t(child.trimmingCharacters(in: .whitespacesAndNewlines)) { #expect(hasEnded(child)) }
    }

    @Test func `a child that a command leaves in the background is not waited for`() throws {
        let started = Date()
        #expect(try read("cmd:echo 1234; sleep 100 2>/dev/null &") == "1234")
        #expect(Date().timeIntervalSince(started) < 80)
    }

    @Test func `a command that fails is an error, and the message does not contain its text`() {
        let error = #expect(throws: KeychainError.self) { try read("cmd:echo hunter2; exit 3") }
        #expect(error?.code == .failed)
        #expect(error?.details["status"] == "3")
        #expect(error.map { !"\($0)".contains("hunter2") } == true)
    }

    @Test func `a command has no standard input and none of our variables`() async {
        await #expect(processExitsWith: .success) { try PINSourceTests().readBesideVariable() }
    }

    private func readBesideVariable() throws {
        let directory = try TemporaryDirectory()
        let input = unsafe open(try directory.write("typed".utf8, to: "input"), O_RDONLY)
        try #require(dup2(input, STDIN_FILENO) == STDIN_FILENO)
        unsafe setenv("KEYFOB_TEST_SECRET", "geheim", 1)
        #expect(try read("cmd:cat; echo \"[$KEYFOB_TEST_SECRET]\"") == "[]")
    }

    @Test func `a long output does not block the command`() throws {
        let started = Date()
        #expect(try read("cmd:echo 1234; seq 1 200000") == "1234")
        #expect(Date().timeIntervalSince(started) < 80)
    }

    @Test func `a credential is read from the directory that systemd made`() throws {
        let directory = try TemporaryDirectory()
        try directory.write("1234\n".utf8, to: "keyfob.pin")
        let environment = PINEnvironment(credentialsDirectory: directory.path)
        #expect(try read("credential:keyfob.pin", environment) == "1234")
        #expect(code { _ = try read("credential:other", environment) } == .fileUnavailable)
        #expect(code { _ = try read("credential:x", PINEnvironment(credentialsDirectory: nil)) } == .pinRequired)
    }

    @Test func `a prompt asks the prompter, and fails at once without one`() throws {
        let prompter = TypedPrompter(answer: "1234")
        #expect(try read("prompt", PINEnvironment(prompter: prompter)) == "1234")
        let new = try PINSource.prompt.read(.newPassphrase(keychain: "site"), from: PINEnvironment(prompter: prompter))
        #expect(new.copyString() == "1234 twice")
        #expect(code { _ = try read("prompt") } == .pinRequired)
        #expect(code { _ = try read("prompt", PINEnvironment(prompter: prompter, noInput: true)) } == .pinRequired)
        #expect(code { _ = try read("pinentry", PINEnvironment(noInput: true)) } == .pinRequired)
    }

    @Test(arguments: ["agent", "item:keyfob://login/hsm"])
    func `sources of later versions are reported as such`(text: String) throws {
        #expect(code { _ = try read(text) } == .refused)
    }

    private func pinentry(_ script: String, in directory: TemporaryDirectory) throws -> PINEnvironment {
        let path = try directory.writeProgram(script, to: "pinentry")
        return PINEnvironment(pinentryProgram: path, pinentryDeadline: .seconds(120))
    }

    @Test func `pinentry's answer is decoded`() throws {
        let directory = try TemporaryDirectory()
        let script = """
            echo 'OK Pleased to meet you'
            while read -r line; do
                echo "$line" >> \(directory.file("log"))
                case "$line" in
                    GETPIN) echo '# a comment'; echo 'S PASSWORD_FROM_CACHE'; echo 'D 12%2534%0Aab'; echo 'D c'; echo OK;;
                    OPTION*) echo 'ERR 83886254 Unknown option <Pinentry>';;
                    *) echo OK;;
                esac
            done
            """
        #expect(try read("pinentry", pinentry(script, in: directory)) == "12%34\nabc")
        let log = String(decoding: try directory.read("log"), as: UTF8.self)
        #expect(log.contains("SETDESC PIN for keychain \"site\"\n"))
    }

    @Test(arguments: [
        ("echo OK; while read -r l; do case $l in GETPIN) echo 'ERR 83886179 canceled <Pinentry>';; *) echo OK;; esac; done",
         KeychainError.Code.cancelled),
        ("echo OK; while read -r l; do case $l in GETPIN) echo 'ERR 83886142 Timeout <Pinentry>';; *) echo OK;; esac; done",
         .timedOut),
        ("echo OK; while read -r l; do case $l in GETPIN) echo 'ERR 85 No display';; *) echo OK;; esac; done", .pinRequired),
        ("exit 1", .pinRequired), ("echo OK; exit 0", .pinRequired),
    ])
    func `pinentry's refusals have different errors`(row: (script: String, code: KeychainError.Code)) throws {
        let directory = try TemporaryDirectory()
        let environment = try pinentry(row.script, in: directory)
        #expect(code { _ = try read("pinentry", environment) } == row.code)
    }

    @Test func `a pinentry that does not answer is abandoned`() throws {
        let directory = try TemporaryDirectory()
        var environment = try pinentry("exec sleep 60", in: directory)
        environment.pinentryDeadline = .milliseconds(200)
        #expect(code { _ = try read("pinentry", environment) } == .timedOut)
        environment.pinentryProgram = directory.file("none")
        #expect(code { _ = try read("pinentry", environment) } == .pinRequired)
    }

    @Test func `sources are used in their order`() throws {
        let directory = try TemporaryDirectory()
        try directory.write("1".utf8, to: "keyfob.pin")
        let with = PINEnvironment(credentialsDirectory: directory.path)
        let without = PINEnvironment(credentialsDirectory: nil)
        let variables = ["KEYFOB_PIN_SOURCE": "env:E"]
        func origin(
            _ option: PINSource?, _ uri: String?, _ variables: [String: String], _ configured: PINSource?,
            _ environment: PINEnvironment
        ) throws -> PINSourceSelection.Origin {
            try PINSourceSelection(
                option: option, uri: uri, configured: configured, environment: environment, variables: variables
            ).origin
        }
        #expect(try origin(.prompt, "file:/u", variables, .pinentry, with) == .option)
        #expect(try origin(nil, "file:/u", variables, .pinentry, with) == .uri)
        #expect(try origin(nil, nil, variables, .pinentry, with) == .environment)
        #expect(try origin(nil, nil, [:], .pinentry, with) == .configuration)
        #expect(try origin(nil, nil, [:], nil, with) == .credential)
        #expect(try origin(nil, nil, [:], nil, without) == .fallback)
        #expect(code { _ = try origin(nil, "1234", variables, .pinentry, with) } == .invalidArgument)
        #expect(code { _ = try origin(nil, nil, ["KEYFOB_PIN_SOURCE": "1234"], .pinentry, with) } == .invalidArgument)
    }
}

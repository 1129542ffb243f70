import Foundation
import Glibc
import Keyfob
import TestSupport
import Testing

@testable import KeyfobCLI

/// `keyfob run`: files in memory, signals and where secrets can be found.
@Suite struct RunFileTests {
    // Other tests run at the same time, and their programs have secrets too.
    private let canary = "canary-\(UUID().uuidString)"
    private let household: TestHome
    private var path: String { household.directory.file("secret") }

    init() throws {
        household = try TestHome.unattended()
        try household.set("key", canary)
    }

    /// A command that runs until the test ends it.
    private final class Running {
        let process: SpawnedProcess
        let output: Int32
        /// The process identifier that the program printed.
        let program: Int32

        init(_ household: TestHome, _ options: [String], _ script: String = "exec sleep 300", setup: String = ":") throws {
            let (reading, writing) = try SpawnedProcess.pipe()
            let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
            defer {
                close(writing)
                close(null)
            }
            process = try SpawnedProcess(
                [Tool.commandPath, "run"] + options + ["--", "sh", "-c", "\(setup); echo $$; \(script)"],
                environment: household.environment.merging(["PATH": "/usr/bin:/bin", "KEYFOB_NO_INPUT": "1"]) { $1 },
                streams: (null, writing, null))
            output = reading
            var line: [UInt8] = []
            var byte: UInt8 = 0
            while unsafe read(reading, &byte, 1) == 1, byte != 0x0A { line.append(byte) }
            program = Int32(String(decoding: line, as: UTF8.self)) ?? 0
        }

        deinit {
            if program > 0 { kill(program, SIGKILL) }
            close(output)
        }
    }

    @Test func `a file is in memory, for its owner alone, and vanishes with the program`() throws {
        let script = "cat \"$0\"; stat -Lc '|%a|' \"$0\"; stat -fLc %T \"$0\"; readlink \"$0\""
        let result = try household.keyfob(["run", "--file", path + "=key", "--", "sh", "-c", script, path])
        let lines = result.output.split(separator: "\n").map(String.init)
        #expect(lines.prefix(2) == ["\(canary)|600|", "tmpfs"], "\(result.error)")
        let target = try #require(lines.last)
        #expect(!FileManager.default.fileExists(atPath: target))
        #expect(!FileManager.default.fileExists(atPath: (target as NSString).deletingLastPathComponent))
        #expect(unsafe access(path, F_OK) != 0)
    }

    @Test func `an existing file is not replaced, and the program does not start`() throws {
        try household.directory.write(Array("mine".utf8), to: "secret")
        let other = household.directory.file("other")
        let result = try household.keyfob(
            ["run", "--file", other + "=key", "--file", path + "=key", "--", "sh", "-c", "echo ran"])
        #expect(result.status == 125)
        #expect(result.output.isEmpty)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
        var status = stat()
        #expect(unsafe lstat(other, &status) != 0)
    }

    @Test(arguments: [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGALRM])
    func `a signal to keyfob reaches the program, and ends keyfob as it ends the program`(number: Int32) throws {
        for options in [["--env", "A=key"], ["--file", path + "=key"], ["--mask"]] {
            let running = try Running(household, options)
            kill(running.process.identifier, number)
            #expect(running.process.wait(timeout: 60) == 128 + number, "\(options)")
            #expect(hasEnded(running.program))
            var status = stat()
            #expect(unsafe lstat(path, &status) != 0)
        }
    }

    @Test func `a program that handles a signal decides about the end`() throws {
        let running = try Running(
            household, ["--file", path + "=key"], "while :; do sleep 0.05; done", setup: "trap 'exit 9' TERM")
        kill(running.process.identifier, SIGTERM)
        #expect(running.process.wait(timeout: 60) == 9)
    }

    @Test func `after keyfob was killed the secret is on no disk, and the next command wipes it`() throws {
        let running = try Running(household, ["--file", path + "=key"])
        let target = try FileManager.default.destinationOfSymbolicLink(atPath: path)
        #expect(MemoryFileSystem.holds((target as NSString).deletingLastPathComponent))
        // The program is in the group of keyfob; only keyfob is killed.
        kill(running.process.identifier, SIGKILL)
        _ = running.process.wait(timeout: 60)
        #expect(try filesWithCanary(below: household.directory.path).isEmpty)
        let other = household.directory.file("other")
        #expect(try household.keyfob(["run", "--file", other + "=key", "--", "true"]).status == 0)
        // The program still runs and may read its file.
        #expect(try String(contentsOfFile: target, encoding: .utf8) == canary)
        kill(running.program, SIGKILL)
        #expect(hasEnded(running.program))
        let result = try household.keyfob(["run", "--file", path + "=key", "--", "cat", path])
        #expect(result.output == canary, "\(result.error)")
        #expect(!FileManager.default.fileExists(atPath: target))
    }

    @Test(arguments: ["--env", "--file", "--mask"])
    func `nothing but the program shows the secret`(option: String) throws {
        let options =
            switch option {
            case "--file": ["--file", path + "=key"]
            case "--mask": ["--mask", "--env", "A=key"]
            default: ["--env", "A=key"]
            }
        let running = try Running(household, options)
        let expected = option == "--file" ? [] : [running.program]
        // While a process executes another program, its environment is empty for a moment.
        for _ in 0..<200 where try processesWithCanary() != expected { usleep(10_000) }
        #expect(try processesWithCanary() == expected)
        #expect(try filesWithCanary(below: household.directory.path).isEmpty)
        kill(running.process.identifier, SIGTERM)
        #expect(running.process.wait(timeout: 60) == 143)
    }

    @Test func `the output is masked also where it is a pipe that the reader closes`() throws {
        let script = "echo \"x $A y\"; printf '%s' \"$A\" | cut -c1-4 | tr -d '\\n'; sleep 0.2; echo \"$A\" | cut -c5-; echo \"$A\" >&2"
        let result = try household.keyfob(["run", "--mask", "--env", "A=key", "--", "sh", "-c", script])
        let mask = OutputMask.text
        #expect(result.output == "x \(mask) y\n\(mask)\n", "\(result.output)")
        #expect(result.error == "\(mask)\n")
        let early = try Tool(
            "/bin/bash", ["-c", "\"$0\" run --mask --env A=key -- seq 1000000 | head -1; echo ${PIPESTATUS[0]}", Tool.commandPath],
            environment: household.environment
        ).run()
        #expect(early.output == "1\n141\n", "\(early.error)")
    }

    @Test func `the order of both outputs stays if they are one file`() throws {
        let script = "for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done"
        func output(_ options: String) throws -> String {
            try Tool(
                "/bin/sh", ["-c", "\"$0\" run \(options) -- sh -c \"$1\" 2>&1", Tool.commandPath, script],
                environment: household.environment
            ).run().output
        }
        #expect(try output("--mask --env A=key") == output("--env A=key"))
    }

    @Test func `output that cannot be written is a failure of keyfob`() throws {
        let result = try Tool(
            "/bin/sh", ["-c", "exec \"$0\" run --mask -- echo x >/dev/full", Tool.commandPath],
            environment: household.environment
        ).run()
        #expect(result.status == 125)
        #expect(result.error.contains("could not be written"), "\(result.error)")
    }

    /// The processes whose command line or environment contains the canary.
    private func processesWithCanary() throws -> [Int32] {
        let wanted = Array(canary.utf8)
        return try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { Int32($0) }.filter { process in
            ["cmdline", "environ"].contains { name in
                // A process may have ended, and others belong to other users.
                guard let bytes = FileManager.default.contents(atPath: "/proc/\(process)/\(name)") else { return false }
                return [UInt8](bytes).firstRange(of: wanted) != nil
            }
        }.sorted()
    }

    /// The regular files below a directory that contain the canary. Links are not followed.
    private func filesWithCanary(below directory: String) throws -> [String] {
        let wanted = Array(canary.utf8)
        return try FileManager.default.subpathsOfDirectory(atPath: directory).filter { name in
            let path = directory + "/" + name
            var status = stat()
            guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
                let bytes = FileManager.default.contents(atPath: path)
            else { return false }
            return [UInt8](bytes).firstRange(of: wanted) != nil
        }
    }
}

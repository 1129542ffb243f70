import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives
import TestSupport
import Testing

@testable import KeyfobCLI

/// Text that the user has typed in an editor.
@Suite struct SecretEditTests {
    /// A home with item `x`, and an editor. At its n-th start, the editor copies its file to `seenN`, and runs the n-th
    /// of `steps` with the file as `$1`.
    private func make(_ steps: String...) throws -> (household: TestHome, environment: [String: String]) {
        let household = try TestHome.unattended()
        try household.set("x", "old")
        let tool = Tool.keyfob([]).path
        var script = """
            #!/bin/sh
            cd '\(household.directory.path)'; unset KEYFOB_NO_INPUT
            echo x >> runs; n=$(wc -l < runs); cp "$1" seen$n
            keyfob() { '\(tool)' "$@" </dev/null >/dev/null; }
            case $n in\n
            """
        for (index, step) in steps.enumerated() { script += "\(index + 1)) \(step);;\n" }
        let editor = try household.directory.write(Array((script + "esac\n").utf8), to: "editor")
        return (household, ["EDITOR": "sh " + editor])
    }

    private func seen(_ household: TestHome, _ number: Int) throws -> String {
        String(decoding: try household.directory.read("seen\(number)"), as: UTF8.self)
    }

    private let change = "echo typed > \"$1\"; printf theirs > v; keyfob set x --replace --from-file v"

    @Test func `an item that was changed in the meantime is overwritten only on request`() throws {
        let (household, environment) = try make(change, "echo more >> \"$1\"")
        let edit = try household.keyfob(["secret", "edit", "x"], typing: ["e"], environment: environment)
        #expect(edit.result.status == 0, "\(edit.result.error)")
        #expect(edit.result.error.contains("was changed by another process"))
        #expect(try seen(household, 2) == "typed\n")
        #expect(try household.keyfob(["get", "x"]).output == "typed\nmore\n")
    }

    @Test func `without a terminal the editor of last resort is not started`() throws {
        let (household, _) = try make()
        let failure = try household.failure(["secret", "edit", "x"])
        #expect(failure.code == "refused" && failure.status == 12)
        #expect(try household.keyfob(["get", "x"]).output == "old\n")
    }

    @Test(arguments: [
        (["--user", "app"], "x/y --user=app"),
        (["--kind", "internet", "--protocol", "https", "--user", "an app", "--port", "8443"],
            "x/y --user='an app' --kind=internet --server=x/y --protocol=https --port=8443"),
    ])
    func `the error for an item that cannot be edited says how to replace it`(options: [String], words: String) throws {
        let household = try TestHome.unattended()
        try household.set("x/y", "old", options)
        // The item is the one that was found, by any kind of name.
        for selection in [[], options] {
            let failure = try household.failure(["secret", "edit", "x/y"] + selection)
            #expect(failure.hint.hasSuffix("keyfob set \(words) --replace --stdin"), "\(failure.hint)")
        }
        let shown = try household.failure(["set", "x/y", "secret", "--replace"] + options)
        let told = try #require(shown.hint.firstMatch(of: /keyfob (set .* --stdin)/)).1
        let result = try Tool(
            "/bin/sh", ["-c", "printf new | '\(Tool.keyfob([]).path)' \(told)"], environment: household.environment
        ).run()
        #expect(result.status == 0, "\(told): \(result.error)")
        #expect(try household.keyfob(["get", "x/y"]).output == "new\n")
    }

    @Test func `the text replaces another's change if the user says so`() throws {
        let (household, environment) = try make(change)
        let edit = try household.keyfob(["secret", "edit", "x"], typing: ["?", "s"], environment: environment)
        #expect(edit.result.status == 0, "\(edit.result.error)")
        #expect(try household.keyfob(["get", "x"]).output == "typed\n")
    }

    @Test func `an item that was removed in the meantime is made again if the user says so`() throws {
        let (household, environment) = try make("echo typed > \"$1\"; keyfob rm x --yes")
        let edit = try household.keyfob(["secret", "edit", "x"], typing: ["s"], environment: environment)
        #expect(edit.result.status == 0, "\(edit.result.error)")
        #expect(try household.keyfob(["get", "x"]).output == "typed\n")
    }

    @Test func `the text is discarded if the user says so, and not by an editor that fails`() throws {
        let (household, environment) = try make(change, "exit 1")
        let edit = try household.keyfob(["secret", "edit", "x"], typing: ["e", "q"], environment: environment)
        #expect(edit.result.status == 1, "\(edit.result.error)")
        #expect(edit.result.error.contains("ended with status 1") && edit.result.error.contains("was discarded"))
        #expect(try household.keyfob(["get", "x"]).output == "theirs\n")
    }

    @Test func `if questions cannot be asked, that is reported before and after`() throws {
        let (household, environment) = try make(change)
        let edit = try household.keyfob(["secret", "edit", "x"], environment: environment)
        #expect(edit.status == 13, "\(edit.error)")
        #expect(edit.error.hasPrefix("keyfob: questions cannot be asked here"))
        #expect(edit.error.contains("Your text is lost."))
        #expect(try household.keyfob(["get", "x"]).output == "theirs\n")
    }

    @Test(arguments: [("trap : INT; ", 0, "typed\n"), ("", 130, "old\n")])
    func `Ctrl-C in the editor goes to the editor, which may continue and store`(
        trap: String, status: Int32, value: String
    ) throws {
        // The test at the terminal waits for the line. The process group is the command's own.
        let (household, environment) = try make("\(trap)echo > /dev/tty; kill -INT 0; echo typed > \"$1\"")
        let edit = try household.keyfob(["secret", "edit", "x"], typing: [], environment: environment)
        #expect(edit.result.status == status, "\(edit.result.error)")
        #expect(try household.keyfob(["get", "x"]).output == value)
    }

    @Test(arguments: [("e", 0, "typed\n"), ("q", 12, "old\n")])
    func `text that is too large to be stored can be edited again`(
        answer: String, status: Int32, value: String
    ) throws {
        let (household, environment) = try make(
            "head -c 33554433 /dev/zero | tr '\\0' a > \"$1\"",
            "[ $(wc -c < \"$1\") = 33554433 ] && echo typed > \"$1\"")
        let edit = try household.keyfob(["secret", "edit", "x"], typing: [answer], environment: environment)
        #expect(edit.result.status == status, "\(edit.result.error)")
        #expect(edit.result.error.contains("the editor has written more than 32.0 MiB"))
        #expect(try household.keyfob(["get", "x"]).output == value)
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `a signal at the question about too large a text is an answer, and leaves no file`(number: Int32) throws {
        let (household, own) = try make(
            "echo \"$1\" > path; echo $PPID > command; head -c 33554433 /dev/zero > \"$1\"")
        let terminal = try PseudoTerminal()
        let command = household.directory.file("command")
        Thread {
            let prompt = "or discard it (q): "
            guard terminal.output(until: prompt).contains(prompt),
                let text = FileManager.default.contents(atPath: command).map({ String(decoding: $0, as: UTF8.self) }),
                let process = pid_t(text.trimmingBlanks)
            else { return }
            kill(process, number)
        }.start()
        // By `exec`, so that the parent of the editor is the command.
        let editor = try #require(own["EDITOR"])
        let script = "exec setsid --ctty --wait timeout --foreground -s KILL 120 \"$@\" < \"$0\""
        let edit = try Tool(
            "/bin/sh", ["-c", script, terminal.path, Tool.keyfob([]).path, "secret", "edit", "x"],
            environment: household.environment.merging(["EDITOR": "exec " + editor]) { $1 }
        ).run()
        #expect(edit.status == 128 + number, "\(edit.error)")
        #expect(edit.error.contains("the editor has written more than 32.0 MiB"))
        #expect(!FileManager.default.fileExists(atPath: try editedFile(household)))
        #expect(try household.keyfob(["get", "x"]).output == "old\n")
    }

    @Test(arguments: [SIGTERM, SIGHUP], [1, 3])
    func `a signal ends the editor and its children, and leaves no file`(number: Int32, times: Int) throws {
        // An editor that ignores signals is killed at the third one.
        let (household, environment) = try make(
            """
            \(times > 1 ? "trap '' TERM HUP" : ":"); echo "$1" > path; sleep 300 & echo $! > child
            for n in \((0..<times).map(String.init).joined(separator: " ")); do
                kill -\(number) $PPID
                # Two that wait together are one.
                while grep -q '^ShdPnd:.*[1-9a-f]' /proc/$PPID/status 2>/dev/null; do sleep 0.01; done
            done
            wait
            """)
        // By `exec`, so that the parent of the script is the command.
        let editor = try #require(environment["EDITOR"])
        let edit = try household.keyfob(["secret", "edit", "x"], environment: ["EDITOR": "exec " + editor])
        #expect(edit.status == 128 + number, "\(edit.error)")
        let path = String(decoding: try household.directory.read("path"), as: UTF8.self).trimmingBlanks
        #expect(!FileManager.default.fileExists(atPath: path))
        let child = try #require(
            pid_t(String(decoding: try household.directory.read("child"), as: UTF8.self).trimmingBlanks))
        #expect(hasEnded(child))
    }

    @Test(arguments: [SIGINT, SIGHUP])
    func `a signal in the editor and one right after it leave no file of any size`(number: Int32) throws {
        // The second is sent when the command has reaped the editor, and reads its file.
        let (household, environment) = try make(
            """
            trap '' TERM; echo "$1" > path; head -c 31457280 /dev/zero | tr '\\0' a > "$1"
            kill -\(number) $PPID
            while grep -q '^ShdPnd:.*[1-9a-f]' /proc/$PPID/status 2>/dev/null; do sleep 0.01; done
            (while kill -0 $$ 2>/dev/null; do :; done; kill -\(number) $PPID 2>/dev/null) &
            """)
        // By `exec`, so that the parent of the script is the command.
        let editor = try #require(environment["EDITOR"])
        let edit = try household.keyfob(["secret", "edit", "x"], environment: ["EDITOR": "exec " + editor])
        // A slow machine may send it when everything is done.
        #expect([0, 128 + number].contains(edit.status), "\(edit.error)")
        let directory = (try editedFile(household) as NSString).deletingLastPathComponent
        #expect(!FileManager.default.fileExists(atPath: directory))
    }

    /// The place of the editor's file, as the editor wrote it to the file `path`.
    private func editedFile(_ household: TestHome) throws -> String {
        String(decoding: try household.directory.read("path"), as: UTF8.self).trimmingBlanks
    }

    @Test func `the next edit wipes the files of a killed one`() throws {
        let (household, own) = try make("echo \"$1\" > path; kill -KILL $PPID", ":")
        let editor = try #require(own["EDITOR"])
        // In a separate directory in memory: other tests wipe the shared one, too.
        let memory = "/dev/shm/keyfob-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: memory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { do { try FileManager.default.removeItem(atPath: memory) } catch {} }
        let environment = own.merging(["XDG_RUNTIME_DIR": memory]) { $1 }
        let killed = try household.keyfob(
            ["secret", "edit", "x"], environment: environment.merging(["EDITOR": "exec " + editor]) { $1 })
        #expect(killed.status == 128 + SIGKILL)
        let path = try editedFile(household)
        try #require(FileManager.default.fileExists(atPath: path))
        let next = try household.keyfob(["secret", "edit", "x"], environment: environment)
        #expect(
            next.status == 0
                && next.error.contains("wiped the file that an earlier edit has left"), "\(next.error)")
        #expect(!FileManager.default.fileExists(atPath: (path as NSString).deletingLastPathComponent))
    }

    @Test func `an editor that outlives the command keeps its file until it ends`() throws {
        let (household, environment) = try make(
            "echo \"$1\" > path; echo $$ > editor-id; kill -KILL $PPID; exec sleep 300", ":")
        let editor = try #require(environment["EDITOR"])
        // In a separate session, so that it is not ended with the command.
        let killed = try household.keyfob(["secret", "edit", "x"], environment: ["EDITOR": "exec setsid " + editor])
        #expect(killed.status == 128 + SIGKILL)
        let process = try #require(
            pid_t(String(decoding: household.directory.read("editor-id"), as: UTF8.self).trimmingBlanks))
        defer { kill(process, SIGKILL) }
        let path = try editedFile(household)
        #expect(try household.keyfob(["secret", "edit", "x"], environment: environment).status == 0)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "old\n")
        kill(process, SIGKILL)
        #expect(hasEnded(process))
        #expect(try household.keyfob(["lock"]).status == 0)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `files of another kind are not touched`() throws {
        let memory = "/dev/shm/keyfob-test-\(UUID().uuidString)"
        try #require(MemoryFileSystem.holds("/dev/shm"))
        func directory(_ name: String, _ mode: Int) throws -> String {
            let path = memory + "/" + name
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: mode])
            try Data("x".utf8).write(to: URL(fileURLWithPath: path + "/file"))
            return path
        }
        defer { do { try FileManager.default.removeItem(atPath: memory) } catch {} }
        let left = try directory("keyfob-edit-abcdef", 0o700)
        let open = try directory("keyfob-edit-public", 0o755)
        let other = try directory("keyfob-abcdef", 0o700)
        let target = try directory("target", 0o700)
        try FileManager.default.createSymbolicLink(atPath: memory + "/keyfob-edit-link", withDestinationPath: target)
        try FileManager.default.createSymbolicLink(atPath: left + "/link", withDestinationPath: target + "/file")
        try FileManager.default.createDirectory(atPath: left + "/below", withIntermediateDirectories: false)
        try Data("x".utf8).write(to: URL(fileURLWithPath: memory + "/keyfob-edit-file"))
        let used = try ScratchDirectory(candidates: [memory])
        #expect(ScratchDirectory.sweep(candidates: [memory, "/proc"]) == 1)
        #expect(!FileManager.default.fileExists(atPath: left))
        for path in [open, other, target] {
            #expect(try Data(contentsOf: URL(fileURLWithPath: path + "/file")) == Data("x".utf8))
        }
        #expect(FileManager.default.fileExists(atPath: memory + "/keyfob-edit-file"))
        #expect(FileManager.default.fileExists(atPath: used.path))
        let path = used.path
        _ = consume used
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `an editor's failure is detected even if the caller ignores SIGCHLD`() throws {
        let (household, environment) = try make("echo typed > \"$1\"; exit 1")
        let script = """
            import os, signal, sys
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            os.execv(sys.argv[1], sys.argv[1:])
            """
        let edit = try Tool(
            "python3", ["-c", script, Tool.keyfob([]).path, "secret", "edit", "x"],
            environment: household.environment.merging(environment) { $1 }.merging(["KEYFOB_NO_INPUT": "1"]) { $1 }
        ).run()
        #expect(edit.status == 1, "\(edit.error)")
        #expect(try household.keyfob(["get", "x"]).output == "old\n")
    }
}

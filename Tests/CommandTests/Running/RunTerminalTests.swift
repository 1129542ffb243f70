import Foundation
import TestSupport
import Testing

/// `keyfob run` as a job of an interactive shell.
@Suite struct RunTerminalTests {
    /// Without options that need it, keyfob is replaced by the program; with the others it waits for the program.
    static let options = ["--env A=key", "--env A=key --mask", "--file ./secret=key"]

    private let household: TestHome
    private let terminal: PseudoTerminal
    private let shell: SpawnedProcess

    init() throws {
        household = try TestHome.unattended()
        try household.set("key", "canary-1")
        terminal = try PseudoTerminal()
        shell = try terminal.start(
            ["/bin/bash", "--norc", "--noprofile", "-i"],
            environment: household.environment.merging([
                "PATH": "\((Tool.commandPath as NSString).deletingLastPathComponent):/usr/bin:/bin", "PS1": "READY$ ", "TERM": "dumb", "HISTFILE": "",
            ]) { $1 })
        _ = terminal.output(until: "READY$ ")
        enter("cd '\(household.directory.path)'")
        _ = terminal.output(until: "READY$ ")
    }

    /// Types a line. Texts that the test waits for are written with a `''` in them, so that the echo differs.
    private func enter(_ line: String) { terminal.type(line + "\n") }

    /// The status of the last command, after the prompt was shown.
    private func status() -> String {
        _ = terminal.output(until: "READY$ ")
        enter("echo sta''tus=$?.")
        _ = terminal.output(until: "status=")
        return terminal.output(until: ".")
    }

    private func leave() throws {
        enter("exit")
        _ = shell.wait(timeout: 60)
        #expect(!FileManager.default.fileExists(atPath: household.directory.file("secret")))
    }

    @Test(arguments: options) func `Ctrl-Z stops the job, fg continues it and Ctrl-C ends it`(options: String) throws {
        // The shell makes the job the foreground one before it sends SIGCONT, so Ctrl-C after that reaches the job.
        // Perl starts no process of its own: a shell that waits for vfork(2) would not stop.
        let script = #"$| = 1; $SIG{CONT} = sub { print "RES"."UMED\n" }; print "STAR"."TED\n"; sleep 1 while 1"#
        enter("keyfob run \(options) -- perl -e '\(script)'")
        _ = terminal.output(until: "STARTED")
        terminal.type("\u{1A}")
        #expect(terminal.output(until: "Stopped").hasSuffix("Stopped"))
        _ = terminal.output(until: "READY$ ")
        // Every process of the job is stopped: "T".
        enter("echo $(ps -eo pgid=,stat= | awk -v g=$(jobs -p) '$1==g {print substr($2,1,1)}' | sort -u) sto''p")
        #expect(terminal.output(until: " stop").hasSuffix("T stop"))
        _ = terminal.output(until: "READY$ ")
        enter("fg")
        _ = terminal.output(until: "RESUMED")
        terminal.type("\u{3}")
        #expect(status() == "130.")
        try leave()
    }

    @Test(arguments: options) func `Ctrl-C ends a loop of the shell around the command`(options: String) throws {
        enter("while :; do keyfob run \(options) -- sh -c 'echo STAR''TED; exec sleep 300'; done; echo af''ter")
        _ = terminal.output(until: "STARTED")
        terminal.type("\u{3}")
        #expect(status() == "130.")
        try leave()
    }

    @Test(arguments: options) func `a program that handles Ctrl-C decides about the status`(options: String) throws {
        enter("keyfob run \(options) -- sh -c 'trap \"exit 3\" INT; echo STAR''TED; while :; do sleep 0.1; done'")
        _ = terminal.output(until: "STARTED")
        terminal.type("\u{3}")
        #expect(status() == "3.")
        try leave()
    }

    @Test(arguments: options) func `the program notices a new size of the window`(options: String) throws {
        let report = "stty size < /dev/tty; exit 4"
        enter("keyfob run \(options) -- sh -c 'trap \"\(report)\" WINCH; echo STAR''TED; while :; do sleep 0.1; done'")
        _ = terminal.output(until: "STARTED")
        terminal.resize(rows: 33, columns: 77)
        #expect(terminal.output(until: "33 77").hasSuffix("33 77"))
        #expect(status() == "4.")
        try leave()
    }

    @Test(arguments: options) func `the program reads from the terminal, and is in its foreground`(options: String) throws {
        enter("keyfob run \(options) -- sh -c 'echo STAR''TED; read line; echo \"got $line.\"; ps -o stat= -p $$'")
        _ = terminal.output(until: "STARTED")
        enter("hello")
        _ = terminal.output(until: "got hello.\r\n")
        // A plus sign marks a process in the foreground.
        #expect(terminal.output(until: "\n").contains("+"))
        #expect(status() == "0.")
        try leave()
    }
}

import Foundation
import TestSupport
import Testing

/// Signals to `keyfob run` and to its process group.
@Suite struct GroupSignalTests {
    /// A program that prints the name of each signal that it gets.
    private static let program = """
        import os, signal
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing)
        for name in "TERM", "HUP", "USR1", "USR2", "WINCH", "CONT":
            signal.signal(getattr(signal, "SIG" + name), lambda *_: None)
        print("READY", flush=True)
        while True:
            for number in os.read(reading, 100): print(signal.Signals(number).name, flush=True)
        """

    @Test(arguments: ["--mask", "--file ./secret=key"])
    func `a signal reaches the program once, whether its group or keyfob alone gets it`(option: String) throws {
        let household = try TestHome.unattended()
        try household.set("key", "canary-1")
        try household.directory.write(Self.program.utf8, to: "program.py")
        // keyfob leads a session of its own. SIGINT is left out, because the shell makes its background jobs ignore it.
        // A signal is sent when the process that notices signals of the group is ready, and the program has printed the
        // signal before.
        let script = """
            cd "$1"; count=1
            setsid "$0" run --env A=key \(option) -- python3 program.py >out 2>&1 &
            pid=$!
            trap 'kill -KILL -$pid' EXIT
            ready() {
                for process in $(pgrep -g $pid -x cat); do
                    grep -q 'SigBlk:.*[1-9a-f]' /proc/$process/status && grep -q 'ShdPnd:.0*$' /proc/$process/status &&
                        [ "$(wc -l <out)" -ge $count ] && return
                done
                return 1
            }
            send() { # SIGNAL TARGET
                tries=0
                until ready || [ $tries -gt 200 ]; do sleep 0.05; tries=$((tries + 1)); done
                kill -$1 $2
                count=$((count + 1))
            }
            for signal in TERM HUP USR1 WINCH CONT; do
                send $signal -$pid
                send $signal $pid
                send $signal -$pid
            done
            send USR2 $pid
            tries=0
            until grep -q USR2 out || [ $tries -gt 200 ]; do sleep 0.05; tries=$((tries + 1)); done
            cat out
            """
        let result = try Tool(
            "/bin/sh", ["-c", script, Tool.commandPath, household.directory.path],
            environment: household.environment.merging(["KEYFOB_NO_INPUT": "1"]) { $1 }
        ).run()
        let signals = ["TERM", "HUP", "USR1", "WINCH", "CONT"].flatMap { Array(repeating: "SIG" + $0, count: 3) }
        #expect(result.output == (["READY"] + signals + ["SIGUSR2", ""]).joined(separator: "\n"), "\(result.error)")
    }

    @Test func `no process stays when keyfob or the program ends`() throws {
        let household = try TestHome.unattended()
        try household.set("key", "canary-1")
        for end in ["exit 0", "kill -KILL $PPID; exec sleep 1"] {
            let script = """
                setsid "$0" run --env A=key --mask -- sh -c '\(end)' & pid=$!
                wait $pid 2>/dev/null
                for i in $(seq 600); do pgrep -g $pid >/dev/null || break; sleep 0.05; done
                pgrep -l -g $pid
                """
            let result = try Tool(
                "/bin/sh", ["-c", script, Tool.commandPath],
                environment: household.environment.merging(["KEYFOB_NO_INPUT": "1"]) { $1 }
            ).run()
            #expect(result.output.isEmpty, "\(end): \(result.output)")
        }
    }
}

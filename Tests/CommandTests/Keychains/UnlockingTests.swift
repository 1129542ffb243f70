import Foundation
import Glibc
import TestSupport
import Testing

/// Errors and limits of unlocking and locking.
@Suite struct UnlockingTests {
    @Test func `an empty line is not reported as a wrong passphrase`() throws {
        let household = try TestHome.withPassphrase("opensesame")
        let unlock = try household.keyfob(["unlock"], typing: [""])
        #expect(unlock.result.status == 6)
        #expect(unlock.result.error == "keyfob: nothing was entered where a passphrase is needed.\n")
    }

    @Test(arguments: [
        // Opened for writing without a write, or not opened at all.
        ("--pin-source stdin --timeout 1s 3<>fifo <fifo", 13), ("--pin-source fd:3 --timeout 1s 3<>fifo", 13),
        ("--pin-source file:fifo --insecure-file --timeout 1s", 13),
        ("--pin-source file:fifo --insecure-file --timeout 1s 3<>fifo", 13),
        // Written after a delay.
        ("--pin-source stdin --timeout 200s <fifo", 0), ("--pin-source fd:3 --timeout 200s 3<fifo", 0),
        ("--pin-source file:fifo --insecure-file --timeout 200s", 0),
        // Kept open after the first line, which is all that is read.
        ("--pin-source file:fifo --insecure-file --timeout 200s 3<>fifo", 0),
        // Opened again by the command, after the writer has ended.
        ("--pin-source file:/dev/fd/3 --insecure-file --timeout 200s 3<fifo", 0),
    ] as [(String, Int32)])
    func `every passphrase source is waited for until the deadline`(words: String, status: Int32) throws {
        let household = try TestHome.withPassphrase("opensesame")
        // Without a newline if the writer closes its end.
        let line = words.contains("3<>") ? "opensesame\\n" : "opensesame"
        let writes =
            status == 0 ? "timeout 220 sh -c 'sleep 1; printf \"\(line)\" >fifo; :' >/dev/null 2>&1 &" : ""
        let script = "cd \"$1\"; mkfifo fifo; \(writes) exec timeout \(status == 0 ? 210 : 60) \"$0\" unlock \(words)"
        let result = try Tool(
            "/bin/sh", ["-c", script, Tool.keyfob([]).path, household.directory.path],
            environment: household.environment.merging(["KEYFOB_NO_INPUT": "1"]) { $1 }
        ).run()
        #expect(result.status == status, "\(result.error)")
        #expect(status == 0 || result.error.contains("in time"), "\(result.error)")
    }

    @Test func `a stored passphrase source is reported, and --pin-source prompt replaces it if it fails`() throws {
        let household = try TestHome()
        let pass = try household.directory.write(Array("opensesame\n".utf8), to: "pass")
        let made = try household.keyfob(["init", "--pin-source", "file:" + pass])
        #expect(made.output.contains("From now on, the passphrase comes from file:\(pass)"), "\(made.output)")
        let other = try household.document(["keychain", "create", "other", "--pin-source", "cmd:cat \(pass)"])
        #expect(other["pin_source"] as? String == "cmd:…")
        try household.set("a", "value")
        // Locking has no effect on this keychain, and the output says so.
        let lock = try household.keyfob(["lock"])
        #expect(lock.status == 0 && lock.output.contains("still opens without asking"), "\(lock.output)")
        #expect(try household.document(["lock", "other"])["open"] as? [String] == ["other"])
        try FileManager.default.moveItem(atPath: pass, toPath: pass + "-elsewhere")
        for name in ["login", "other"] {
            let failure = try household.failure(["unlock", name])
            #expect(failure.hint.contains("keyfob unlock \(name) --pin-source prompt"), "\(failure.hint)")
        }
        let typed = try household.keyfob(["unlock", "--pin-source", "prompt"], typing: ["opensesame"])
        #expect(typed.result.status == 0, "\(typed.result.error)")
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
    }

    @Test func `an unlocked keychain is not reported as locked if questions cannot be asked`() throws {
        let household = try TestHome.withPassphrase("opensesame")
        #expect(try household.failure(["unlock"]).code == "pin.required")
        #expect(try household.keyfob(["unlock"]).error.contains("is locked and there is no terminal"))
        #expect(try household.keyfob(["unlock", "--pin-source", "env:P"], environment: ["P": "opensesame"]).status == 0)
        let again = try household.keyfob(["unlock"])
        #expect(again.status == 6 && again.error.contains("is unlocked; to unlock it anew takes its passphrase"))
    }

    @Test(.enabled(if: geteuid() == 0, "only root gives directories away"))
    func `with a runtime directory of another user, commands report what they did`() throws {
        let household = try TestHome()
        // In memory, because a directory on a disk is not used.
        let memory = try TemporaryDirectory(in: "/dev/shm")
        let runtime = memory.file("keyfob")
        let environment = ["P": "opensesame", "XDG_RUNTIME_DIR": memory.path]
        try FileManager.default.createDirectory(atPath: runtime, withIntermediateDirectories: false)
        try #require(unsafe chown(runtime, 65_533, 65_533) == 0)
        let made = try household.keyfob(["init", "--pin-source", "env:P"], environment: environment)
        #expect(made.status == 0 && made.output.contains("Created token \"login\""), "\(made.error)")
        #expect(made.output.contains("Recovery code saved to"))
        // If the kernel's keyring is not available, it cannot be unlocked, which is reported.
        let isOpen = try household.keyfob(["status", "--json"], environment: environment).output
            .contains("\"state\":\"unlocked\"")
        #expect(made.error.isEmpty == isOpen, "\(made.error)")
        #expect(isOpen || made.error.contains("was made, but stays locked") && made.error.contains("XDG_RUNTIME_DIR"))
        // The document reports it as well.
        let ways: [(words: [String], unlocked: Bool?)] = [(["--pin-source", "env:P"], isOpen), (["--unattended"], nil)]
        for (words, unlocked) in ways {
            let other = try household.keyfob(
                ["keychain", "create", unlocked == nil ? "unattended" : "other", "--json"] + words,
                environment: environment)
            #expect(other.status == 0 && other.error.isEmpty, "\(other.error)")
            let document = try JSONSerialization.jsonObject(with: Data(other.output.utf8)) as? [String: Any]
            let member = try #require(document?["unlocked"])
            #expect(member as? Bool == unlocked && (member is NSNull) == (unlocked == nil))
        }
        let lock = try household.keyfob(["lock"], environment: environment)
        #expect(lock.status == 0 && lock.output.hasPrefix(isOpen ? "Locked" : "Nothing"), "\(lock.error)")
    }

    @Test func `a command waits for SoftHSM's tokens as long as --timeout says`() throws {
        let household = try TestHome.unattended()
        // Without the option, the limit is ten seconds. On a busy machine, one second may occasionally take that long.
        let isInTime = try (0..<5).contains { _ in
            let start = Date()
            // `flock` holds the lock for as long as the command runs.
            let create = try Tool(
                "/usr/bin/flock",
                ["-o", household.data + "/softhsm.lock", Tool.keyfob([]).path]
                    + ["keychain", "create", "other", "--unattended", "--timeout", "1s"],
                environment: household.environment
            ).run()
            #expect(create.status == 13 && create.error.contains("softhsm.lock"), "\(create.error)")
            let time = Date().timeIntervalSince(start)
            #expect(time >= 0.9)
            return time < 8
        }
        #expect(isInTime)
    }

    @Test func `a token whose file is repeatedly emptied by logins is never reported as missing`() throws {
        let household = try TestHome.withPassphrase("opensesame")
        // SoftHSM empties the file and rewrites it at every login. One process does both here: if programs had to be
        // started in between, a busy machine would leave the file empty for longer.
        let script = """
            cd "$2"
            python3 -c 'import os, sys, time
            file = sys.argv[1]
            whole = open(file, "rb").read()
            open("busy", "w").close()
            while os.path.exists("busy"):
                open(file, "wb").close()
                time.sleep(0.01)
                with open(file, "wb") as output: output.write(whole)
                time.sleep(0.1)' home/.local/share/keyfob/tokens/*/token.object &
            until [ -e busy ]; do sleep 0.05; done
            for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
                "$1" token ls --format tsv | grep -q '^login' || echo "token ls"
                "$1" token show > /dev/null || echo "token show"
                "$1" init > /dev/null || echo "init"
            done
            rm busy; wait
            """
        let loop = try Tool(
            "/bin/sh", ["-c", script, "sh", Tool.keyfob([]).path, household.directory.path],
            environment: household.environment
        ).run()
        #expect(loop.output.isEmpty && loop.error.isEmpty, "\(loop.output)\(loop.error)")
        // A missing token is still reported, without a wait.
        let tokens = household.data + "/tokens"
        try FileManager.default.moveItem(atPath: tokens, toPath: tokens + "-elsewhere")
        let isAtOnce = try (0..<5).contains { _ in
            let start = Date()
            let code = try household.failure(["init"]).code
            #expect(code == "token.absent")
            return Date().timeIntervalSince(start) < 5
        }
        #expect(isAtOnce)
    }
}

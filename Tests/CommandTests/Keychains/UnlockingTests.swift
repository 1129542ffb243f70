import Foundation
import Glibc
import TestSupport
import Testing

/// Unlocking and locking, where it does not go as one wishes.
@Suite struct UnlockingTests {
    @Test func `an empty line is told from a wrong passphrase`() throws {
        let household = try TestHome.withPassphrase("sesame")
        let unlock = try household.keyfob(["unlock"], typing: [""])
        #expect(unlock.result.status == 6)
        #expect(unlock.result.error == "keyfob: nothing was entered where a passphrase is needed.\n")
    }

    @Test(arguments: [
        // Opened to be written to, and then left alone; or not opened at all.
        ("--pin-source stdin --timeout 1s 3<>fifo <fifo", 13), ("--pin-source fd:3 --timeout 1s 3<>fifo", 13),
        ("--pin-source file:fifo --insecure-file --timeout 1s", 13),
        ("--pin-source file:fifo --insecure-file --timeout 1s 3<>fifo", 13),
        // Written to, but not at once.
        ("--pin-source stdin --timeout 200s <fifo", 0), ("--pin-source fd:3 --timeout 200s 3<fifo", 0),
        ("--pin-source file:fifo --insecure-file --timeout 200s", 0),
        // And then held open for more: the first line is all that counts.
        ("--pin-source file:fifo --insecure-file --timeout 200s 3<>fifo", 0),
        // Opened anew, by us, when whoever wrote to it is gone.
        ("--pin-source file:/dev/fd/3 --insecure-file --timeout 200s 3<fifo", 0),
    ] as [(String, Int32)])
    func `a passphrase is waited for until the deadline, whoever is to bring it`(words: String, status: Int32) throws {
        let household = try TestHome.withPassphrase("sesame")
        // Without a newline, where the end is what is to be seen.
        let line = words.contains("3<>") ? "sesame\\n" : "sesame"
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

    @Test func `a source that a keychain keeps is told of, and has a way round it where it fails`() throws {
        let household = try TestHome()
        let pass = try household.directory.write(Array("sesame\n".utf8), to: "pass")
        let made = try household.keyfob(["init", "--pin-source", "file:" + pass])
        #expect(made.output.contains("From now on, the passphrase comes from file:\(pass)"), "\(made.output)")
        let other = try household.document(["keychain", "create", "other", "--pin-source", "cmd:cat \(pass)"])
        #expect(other["pin_source"] as? String == "cmd:…")
        try household.set("a", "value")
        // To lock it locks nothing, which nobody may believe.
        let lock = try household.keyfob(["lock"])
        #expect(lock.status == 0 && lock.output.contains("still opens without asking"), "\(lock.output)")
        #expect(try household.document(["lock", "other"])["open"] as? [String] == ["other"])
        try FileManager.default.moveItem(atPath: pass, toPath: pass + "-elsewhere")
        for name in ["login", "other"] {
            let failure = try household.failure(["unlock", name])
            #expect(failure.hint.contains("keyfob unlock \(name) --pin-source prompt"), "\(failure.hint)")
        }
        let typed = try household.keyfob(["unlock", "--pin-source", "prompt"], typing: ["sesame"])
        #expect(typed.result.status == 0, "\(typed.result.error)")
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
    }

    @Test func `a keychain that is unlocked is not called locked where nobody can be asked`() throws {
        let household = try TestHome.withPassphrase("sesame")
        #expect(try household.failure(["unlock"]).code == "pin.required")
        #expect(try household.keyfob(["unlock"]).error.contains("is locked and there is no terminal"))
        #expect(try household.keyfob(["unlock", "--pin-source", "env:P"], environment: ["P": "sesame"]).status == 0)
        let again = try household.keyfob(["unlock"])
        #expect(again.status == 6 && again.error.contains("is unlocked; to unlock it anew takes its passphrase"))
    }

    @Test(.enabled(if: geteuid() == 0, "only root gives directories away"))
    func `a runtime directory of another user hides nothing that was made, unlocked or locked`() throws {
        let household = try TestHome()
        // In memory: one on a disk is not used at all.
        let memory = try TemporaryDirectory(in: "/dev/shm")
        let runtime = memory.file("keyfob")
        let environment = ["P": "sesame", "XDG_RUNTIME_DIR": memory.path]
        try FileManager.default.createDirectory(atPath: runtime, withIntermediateDirectories: false)
        try #require(unsafe chown(runtime, 65_533, 65_533) == 0)
        let made = try household.keyfob(["init", "--pin-source", "env:P"], environment: environment)
        #expect(made.status == 0 && made.output.contains("Created token \"login\""), "\(made.error)")
        #expect(made.output.contains("Recovery code saved to"))
        // Where the kernel keeps no keys for us it cannot be unlocked, and that is said.
        let isOpen = try household.keyfob(["status", "--json"], environment: environment).output
            .contains("\"state\":\"unlocked\"")
        #expect(made.error.isEmpty == isOpen, "\(made.error)")
        #expect(isOpen || made.error.contains("was made, but stays locked") && made.error.contains("XDG_RUNTIME_DIR"))
        // A document says so, too.
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

    @Test func `a command waits for SoftHSM's tokens for as long as it was told to`() throws {
        let household = try TestHome.unattended()
        // Who was told nothing waits ten seconds; a busy machine may now and then make as many of the one.
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

    @Test func `a token whose file logins empty all the time is never called missing`() throws {
        let household = try TestHome.withPassphrase("sesame")
        // SoftHSM empties the file and writes it anew at every login. One process does both here: where programs had to
        // be started in between, the file would be empty for as long as a busy machine takes for that.
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
        // One that is not there is told of all the same, and at once.
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

import Foundation
import TestSupport
import Testing

@testable import KeyfobCLI

/// The command after a renewal.
@Suite struct RenewalHookTests {
    private func make(_ home: IdentityHome, _ names: String...) throws {
        for name in names {
            let made = try home.keyfob("identity", "create", name, "--cn", "\(name).example", "--self-signed")
            try #require(made.status == 0, "\(made.error)")
        }
    }

    /// The files that record pending commands.
    private func pending(_ home: IdentityHome) throws -> Int {
        let found = try home.shell("find home/.local/state -path '*/hooks/*' -type f | wc -l")
        return try #require(Int(found.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    @Test func `a command that failed is run by the next renewal without work, and not a third time`() throws {
        let home = try IdentityHome()
        try make(home, "web", "api")
        let hook = "echo run >> \(home.file("runs")); test -e \(home.file("good"))"
        let first = try home.keyfob("identity", "renew", "--all", "--force", "--exec", hook)
        #expect(first.status == 1 && first.error.contains("the command after it ended with status 1"), "\(first.error)")
        #expect(try pending(home) == 2)

        // Without the command there is nothing to run, and a dry run runs nothing.
        #expect(try home.keyfob("identity", "renew", "--all").status == 0)
        let dry = try home.keyfob("identity", "renew", "--all", "--exec", hook, "--dry-run")
        #expect(dry.status == 0 && dry.output.contains("it would be run again"), "\(dry.output)")
        #expect(try home.shell("wc -l < runs") == "1\n")

        let second = try home.keyfob("identity", "renew", "--all", "--exec", hook)
        #expect(second.status == 1 && second.output.contains("api, web: renewed before"), "\(second.output)")
        try home.shell("touch good")
        // The record of one is kept when the other is removed.
        let one = try home.keyfob("identity", "renew", "api", "--exec", hook)
        #expect(one.status == 0 && one.output.contains("running it again") && one.output.contains("(ok)"), "\(one.output)")
        #expect(try pending(home) == 1)
        let third = try home.keyfob("identity", "renew", "--all", "--exec", hook, "--json")
        #expect(third.status == 0 && third.output.contains("\"hook_status\":0"), "\(third.output)")
        #expect(try pending(home) == 0 && home.shell("wc -l < runs") == "4\n")
        let last = try home.keyfob("identity", "renew", "--all", "--exec", hook, "--json")
        #expect(last.status == 0 && last.output.contains("\"hook_status\":null"), "\(last.output)")
        #expect(try home.shell("wc -l < runs") == "4\n")
    }

    @Test func `the command finds keyfob when cron's PATH does not, and another one that PATH names earlier`() throws {
        let home = try IdentityHome()
        try make(home, "web")
        let hook = "keyfob --version > \(home.file("version"))"
        let renewed = try home.keyfob("identity", "renew", "web", "--force", "--exec", hook)
        #expect(renewed.status == 0, "\(renewed.error)")
        #expect(try home.shell("cat version") == home.keyfob("--version").output)
        let other = "mkdir bin; printf '#!/bin/sh\\necho other' > bin/keyfob; chmod 755 bin/keyfob"
        try home.shell(other)
        let again = try Tool.keyfob(
            ["identity", "renew", "web", "--force", "--exec", hook],
            environment: home.environment.merging(["PATH": home.file("bin") + ":/usr/bin:/bin"]) { $1 }
        ).run()
        #expect(again.status == 0, "\(again.error)")
        #expect(try home.shell("cat version") == "other\n")
    }

    @Test func `a command that was killed together with keyfob is run by the next renewal`() throws {
        let home = try IdentityHome()
        try make(home, "web")
        // The hook kills the keyfob that started it: its parent.
        let killed = try home.keyfob("identity", "renew", "web", "--force", "--exec", "kill -9 $PPID")
        #expect(killed.status == 137 || killed.status == 9, "\(killed.status)")
        #expect(try pending(home) == 1)
        let next = try home.keyfob("identity", "renew", "web", "--exec", "echo run >> \(home.file("runs"))")
        #expect(next.status == 0 && next.output.contains("running it again"), "\(next.output)")
        #expect(try home.shell("cat runs") == "run\n" && pending(home) == 0)
    }

    @Test(arguments: ["rm hold", "kill -9 $first; rm hold"])
    func `the command of a running renewal is not run by others, and is recorded if it fails`(end: String) throws {
        let home = try IdentityHome()
        try make(home, "web")
        try home.shell(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 30 \
                -subj /CN=CA 2>openssl.log
            cat > issue <<'END'
            cd "$(dirname "$0")"
            touch held
            while [ -e hold ]; do sleep 0.05; done
            openssl x509 -req -CA ca.pem -CAkey ca.key -CAcreateserial -days 5 -copy_extensions copy
            END
            touch hold
            "$keyfob" identity renew web --force --issuer "exec:/bin/sh $PWD/issue" --exec false > first 2>&1 &
            first=$!
            for i in $(seq 1200); do [ -e held ] && break; sleep 0.05; done
            "$keyfob" identity renew web --exec 'touch hooked' > second 2>&1
            ! "$keyfob" identity renew --all --force --exec 'touch hooked' --timeout 100ms > third 2>&1
            \(end)
            wait $first && exit 1
            test ! -e hooked
            """, environment: ["keyfob": Tool.keyfob([]).path])
        let third = try home.shell("cat third")
        #expect(third.contains("another renewal of identity \"web\" is under way"), "\(third)")
        #expect(try !home.shell("cat second third").contains("renewed before") && pending(home) == 1)
        let next = try home.keyfob("identity", "renew", "web", "--exec", "touch '\(home.file("hooked"))'")
        #expect(next.status == 0 && next.output.contains("running it again"), "\(next)")
        #expect(try home.shell("ls hooked") == "hooked\n" && pending(home) == 0)
    }

    /// Runs the command at a terminal, where its children share its process group.
    private func runAtTerminal(_ home: IdentityHome, _ arguments: String...) throws -> Tool.Result {
        let terminal = try PseudoTerminal()
        return try Tool(
            "/bin/sh",
            ["-c", "exec setsid --ctty --wait \"$@\" < \(terminal.path)", "sh", Tool.keyfob([]).path] + arguments,
            environment: home.environment
        ).run()
    }

    @Test(arguments: [false, true])
    func `children started at a terminal end with keyfob, and so do theirs`(isIssuer: Bool) throws {
        let home = try IdentityHome()
        try make(home, "web")
        let script = try home.directory.write(
            "sleep 300 & echo $! > '\(home.file("child"))'; kill -TERM $PPID; wait; exit 1\n".utf8, to: "script")
        let option = isIssuer ? ["--issuer", "exec:/bin/sh \(script)"] : ["--exec", "exec sh '\(script)'"]
        let killed = try runAtTerminal(home, "identity", "renew", "web", "--force", option[0], option[1])
        #expect(killed.status == 143, "\(killed.error)")
        let child = try home.shell("cat child").trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(hasEnded(try #require(pid_t(child))))
    }

    @Test func `the command reads nothing, writes to standard error, and may ask at the terminal`() throws {
        let home = try IdentityHome()
        try make(home, "web")
        let hook = "cat; echo out; : < /dev/tty && echo tty; ps -o pgid= $$ $PPID | sort -u | wc -l"
        let run = try runAtTerminal(home, "identity", "renew", "web", "--force", "--json", "--exec", hook)
        #expect(run.status == 0 && run.output.hasPrefix("{\"schema\""), "\(run.output)")
        #expect(run.error == "out\ntty\n1\n")
    }

    @Test(arguments: ["0022", "0027", "0077"]) func `files of the command have modes of the caller`(mask: String) throws {
        let home = try IdentityHome()
        try make(home, "web")
        try home.shell(
            "umask \(mask); '\(Tool.keyfob([]).path)' identity renew web --force --exec 'umask > \(home.file("mask"))'")
        #expect(try home.shell("cat mask") == mask + "\n")
    }

    /// A library for `LD_PRELOAD` that sets the monotonic clock eleven minutes ahead as long as a file exists.
    private func makeClock(_ home: IdentityHome, aheadWith file: String) throws -> String {
        let source = try home.directory.write(
            """
            #include <errno.h>
            #include <sys/syscall.h>
            #include <time.h>
            #include <unistd.h>
            int clock_gettime(clockid_t clock, struct timespec *time) {
                long result = syscall(SYS_clock_gettime, clock, time);
                int number = errno;
                if (clock == CLOCK_MONOTONIC && access("\(file)", F_OK) == 0) time->tv_sec += 660;
                errno = number;
                return (int)result;
            }
            """.utf8, to: "clock.c")
        try home.shell("cc -shared -fPIC '\(source)' -o clock.so")
        return home.file("clock.so")
    }

    @Test(arguments: [([], true), (["--timeout", "1m"], true), (["--timeout", "20m"], false)] as [([String], Bool)])
    func `a command is killed after ten minutes with all its children, unless --timeout gives it longer`(
        options: [String], isKilled: Bool
    ) throws {
        let home = try IdentityHome()
        try make(home, "web")
        let clock = try makeClock(home, aheadWith: home.file("later"))
        let hook = "sleep 300 & echo $! > '\(home.file("child"))'; touch '\(home.file("later"))'; "
            + (isKilled ? "wait" : "sleep 1; kill $!")
        let renewed = try Tool.keyfob(
            ["identity", "renew", "web", "--force", "--json", "--exec", hook] + options,
            environment: home.environment.merging(["LD_PRELOAD": clock]) { $1 }
        ).run()
        let child = try home.shell("cat child; rm later").trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(hasEnded(try #require(pid_t(child))))
        #expect(try pending(home) == (isKilled ? 1 : 0))
        guard isKilled else {
            #expect(renewed.status == 0 && renewed.output.contains("\"hook_status\":0"), "\(renewed)")
            return
        }
        #expect(try renewed.status != 0 && IdentityHome.code(renewed) == "timeout", "\(renewed)")
        let document = try JSONSerialization.jsonObject(with: Data(renewed.output.utf8)) as? [String: Any]
        #expect(document?["changed"] as? Bool == true && document?["hook_status"] is NSNull, "\(renewed.output)")
        let failure = try #require(document?["hook_failure"] as? [String: Any], "\(renewed.output)")
        #expect((failure["message"] as? String)?.contains("did not end within 10 minutes and was killed") == true)
        #expect((failure["details"] as? [String: String])?["command"] == hook)
        let next = try home.keyfob("identity", "renew", "web", "--exec", "true")
        #expect(next.status == 0 && next.output.contains("running it again"), "\(next)")
        #expect(try pending(home) == 0)
    }

    @Test(arguments: [nil, "/somewhere/softhsm2.conf"], ["--exec", "--issuer"])
    func `the command has its user's SoftHSM, and not keyfob's`(file: String?, option: String) throws {
        let home = try IdentityHome()
        try make(home, "web")
        let script = try home.directory.write(
            "echo \"${SOFTHSM2_CONF-none}\" > '\(home.file("file"))'; exit 3\n".utf8, to: "script")
        let value = option == "--exec" ? "sh \(script)" : "exec:/bin/sh \(script)"
        let set = file.map { "export SOFTHSM2_CONF='\($0)'" } ?? "unset SOFTHSM2_CONF"
        try home.shell("\(set); ! '\(Tool.keyfob([]).path)' identity renew web --force \(option) '\(value)' 2> errors")
        #expect(try home.shell("cat file") == (file ?? "none") + "\n")
    }

    @Test(arguments: ["0022", "0077"]) func `files of an issuing command have modes of the caller`(mask: String) throws {
        let home = try IdentityHome()
        try make(home, "web")
        let script = try home.directory.write("umask > '\(home.file("mask"))'; exit 3\n".utf8, to: "script")
        try home.shell(
            """
            umask \(mask)
            ! '\(Tool.keyfob([]).path)' identity renew web --force --issuer 'exec:/bin/sh "\(script)"' 2> errors
            grep -q 'status 3' errors
            """)
        #expect(try home.shell("cat mask") == mask + "\n")
    }

    @Test(arguments: [
        ["/no/such/program", "file.unavailable"], ["no-such-program", "file.unavailable"], ["/etc/passwd", "refused"],
    ])
    func `an issuing command that cannot be started is reported`(row: [String]) throws {
        let home = try IdentityHome()
        try make(home, "web")
        let failed = try home.keyfob("identity", "renew", "web", "--force", "--issuer", "exec:" + row[0], "--json")
        #expect(try IdentityHome.code(failed) == row[1] && failed.error.contains("cannot start \(row[0])"), "\(failed.error)")
    }

    @Test(arguments: ["--exec", "--issuer"]) func `no child gets the descriptor of a PIN`(option: String) throws {
        let home = try IdentityHome()
        try make(home, "web")
        let look = "ls -l /proc/self/fd > \(home.file("open")); exit 1"
        let value = option == "--exec" ? look : "exec:/bin/sh -c \"\(look)\""
        try home.shell(
            """
            ! '\(Tool.keyfob([]).path)' identity renew web --force --pin-source fd:7 \(option) '\(value)' 7<pass
            grep -q ' 0 -> ' open; ! grep '/pass$' open
            """)
    }

    @Test func `an issuer that fails leaves no command to run`() throws {
        let home = try IdentityHome()
        try make(home, "web")
        let hook = ["--exec", "echo run >> \(home.file("runs"))"]
        let failed = try Tool.keyfob(
            ["identity", "renew", "web", "--force", "--issuer", "exec:false"] + hook, environment: home.environment).run()
        #expect(failed.status == 1)
        #expect(try pending(home) == 0)
        #expect(try Tool.keyfob(["identity", "renew", "web"] + hook, environment: home.environment).run().status == 0)
        #expect(!FileManager.default.fileExists(atPath: home.file("runs")))
    }

    @Test func `the removal of a keychain leaves no records`() throws {
        let home = try IdentityHome()
        try make(home, "web")
        #expect(try home.keyfob("identity", "renew", "web", "--force", "--exec", "false").status == 1)
        #expect(try pending(home) == 1)
        let removed = try home.keyfob("keychain", "rm", "login", "--yes")
        #expect(removed.status == 0, "\(removed.error)")
        #expect(try home.shell("find home/.local/state -path '*/hooks/*'") == "")
    }

    @Test(
        .enabled(if: OpenSSLEngine.path != nil, "OpenSSL's pkcs11 engine is not installed"),
        arguments: [("nginx", "login", "nginx"), ("nginx", "site", "nginx"), ("httpd", "login", "apache2"), ("curl", "login", nil)]
            as [(String, String, String?)])
    func `the printed command brings a renewed certificate to the program`(
        _ program: String, _ keychain: String, _ service: String?
    ) throws {
        let home = try IdentityHome()
        if keychain != "login" {
            try #require(home.keyfob("keychain", "create", keychain, "--unattended").status == 0)
        }
        let made = try home.keyfob(
            "identity", "create", "my web", "--cn", "web.example", "--self-signed", "-k", keychain)
        try #require(made.status == 0, "\(made.error)")
        let directory = home.file("a place")
        let written = try home.keyfob(
            "uri", "my web", "--for", program, "--write", directory, "-k", keychain)
        try #require(written.status == 0, "\(written.error)")
        let line = try #require(written.output.split(separator: "\n").first { $0.contains("identity renew --all") })
        let command = String(line.drop { "# ".contains($0) }).replacing("renew --all", with: "renew --all --force")
        #expect(command.contains(" -k ") == (keychain != "login"))
        try home.shell(
            """
            mkdir bin; ln -s '\(Tool.keyfob([]).path)' bin/keyfob
            printf '#!/bin/sh\\necho "$@" >> \(home.file("services"))\\n' > bin/systemctl; chmod +x bin/systemctl
            """)
        func serial() throws -> String { try home.shell("openssl x509 -in 'a place'/_my_web-*.fullchain.pem -noout -serial") }
        let old = try serial()
        let result = try home.shell(command, environment: ["PATH": home.file("bin") + ":/usr/bin:/bin"])
        #expect(result.contains("(ok)"))
        let new = try home.shell("'\(Tool.keyfob([]).path)' cert export 'my web' -k \(keychain) | openssl x509 -noout -serial")
        #expect(try serial() == new && new != old)
        let services = FileManager.default.fileExists(atPath: home.file("services")) ? try home.shell("cat services") : ""
        #expect(services == (service.map { "reload \($0)\n" } ?? ""))
    }
}

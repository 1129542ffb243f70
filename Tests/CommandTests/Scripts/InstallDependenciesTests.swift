import Foundation
import Glibc
import TestSupport
import Testing

/// `Scripts/install-dependencies`, with stand-ins for the programs that would change the machine.
@Suite struct InstallDependenciesTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: directory.file("bin"), withIntermediateDirectories: false)
        // Only the packages in the file "installed" are installed, and every package is known.
        try directory.writeProgram(
            """
            case "$*" in
            *Status*Package*) sed 's/^/installed /' "$SCRATCH/installed" ;;
            *Status*) grep -qx "$4" "$SCRATCH/installed" && printf installed ;;
            "-L "*) printf '/lib/systemd/system/%s.service\\n/etc/init.d/none\\n' "$2" ;;
            esac
            """, to: "bin/dpkg-query")
        try directory.writeProgram("exit 0", to: "bin/apt-cache")
        try directory.writeProgram("exec cat \"$SCRATCH/user\"", to: "bin/id")
        try directory.writeProgram("echo \"sudo $*\" >>\"$SCRATCH/done\"", to: "bin/sudo")
        try directory.writeProgram("echo \"apt-get $*\" >>\"$SCRATCH/done\"; . \"$SCRATCH/apt\"", to: "bin/apt-get")
        for (name, content) in [("installed", "git\n"), ("user", "1000\n"), ("done", ""), ("apt", ":\n")] {
            try directory.write(content.utf8, to: name)
        }
    }

    /// Runs a script of sh in which `$INSTALL` is the program under test.
    private func shell(_ script: String) throws -> Tool.Result {
        try Tool(
            "/bin/sh", ["-euc", script],
            environment: [
                "SCRATCH": directory.path, "TMPDIR": directory.path, "PATH": directory.file("bin") + ":/usr/sbin:/usr/bin:/sbin:/bin",
                "INSTALL": Machine.script("install-dependencies"),
            ]
        ).run()
    }

    private func done() throws -> String { String(decoding: try directory.read("done"), as: UTF8.self) }

    @Test func `the quickstart needs neither a server nor a language`() throws {
        let result = try shell("\"$INSTALL\" --dry-run quickstart")
        #expect(
            result.output == "Installing: opensc openssl curl libengine-pkcs11-openssl\n",
            "\(result.output)\(result.error)")
        #expect(try done().isEmpty)
    }

    @Test func `the command needs curl`() throws {
        #expect(try shell("\"$INSTALL\" --dry-run runtime").output.hasSuffix(" curl\n"))
    }

    @Test(arguments: [("1000", "quickstart"), ("0", "--ask quickstart"), ("1000", "runtime build test")])
    func `without a terminal nothing is installed without --yes, and the missing packages are named`(
        user: String, arguments: String
    ) throws {
        try directory.write("\(user)\n".utf8, to: "user")
        let result = try shell("\"$INSTALL\" \(arguments) </dev/null")
        #expect(result.status == 1)
        #expect(result.output.contains("    opensc\n") || result.output.contains("    softhsm2\n"), "\(result.output)")
        #expect(result.error.contains("--yes"), "\(result.error)")
        #expect(try done().isEmpty)
    }

    @Test(arguments: [("y", true), ("n", false), ("", false)])
    func `at a terminal sudo is used only after a yes`(answer: String, isInstalled: Bool) throws {
        let result = try shell("printf '\(answer)\\n' | script -qec \"'$INSTALL' quickstart\" /dev/null")
        #expect((result.status == 0) == isInstalled, "\(result.output)")
        #expect(result.output.contains("opensc"), "\(result.output)")
        #expect(result.output.contains("with sudo? [y/N]"), "\(result.output)")
        let expected = isInstalled ? "sudo -- \(Machine.script("install-dependencies")) --yes quickstart\n" : ""
        #expect(try done() == expected)
    }

    @Test func `with --yes no question is asked`() throws {
        #expect(try shell("\"$INSTALL\" --yes quickstart runtime </dev/null").status == 0)
        #expect(try done().hasPrefix("sudo -- "))
    }

    /// Runs the program under test as root, with separate directories in place of those that it changes.
    private func asRoot(_ arguments: String, before: String, after: String) throws -> Tool.Result {
        try directory.write("0\n".utf8, to: "user")
        return try shell(
            """
            exec unshare -m --propagation private sh -euc '
                mkdir "$SCRATCH/sbin" "$SCRATCH/systemd" "$SCRATCH/systemd/multi-user.target.wants"
                cp -a /usr/sbin/update-rc.d "$SCRATCH/sbin/" 2>/dev/null || :
                rm -f "$SCRATCH/sbin/policy-rc.d"
                ln -s /lib/systemd/system/own.service "$SCRATCH/systemd/multi-user.target.wants/own.service"
                mount --bind "$SCRATCH/sbin" /usr/sbin
                mkdir -p /etc/systemd/system
                mount --bind "$SCRATCH/systemd" /etc/systemd/system
                \(before)
                "$INSTALL" \(arguments) || echo "failed: $?"
                \(after)
            ' sh
            """)
    }

    /// The effects of apt-get for a package with a service.
    private static let apt = """
        case "$*" in *install*) ;; *) return 0 ;; esac
        status=0
        /usr/sbin/policy-rc.d fake start || status=$?
        echo "policy $status" >>"$SCRATCH/done"
        echo fake >>"$SCRATCH/installed"
        ln -s /lib/systemd/system/fake.service /etc/systemd/system/multi-user.target.wants/fake.service
        ln -s /lib/systemd/system/fake.service /etc/systemd/system/alias.service

        """

    @Test(
        .enabled(if: Machine.hasOwnMounts, "only root can give a program directories of its own"),
        arguments: ["", "exit 0", "exit 101"], [0, 100])
    func `no service of a package is started or enabled, and the policy is restored`(
        policy: String, status: Int
    ) throws {
        try directory.write((Self.apt + "exit \(status)\n").utf8, to: "apt")
        let before = policy.isEmpty
            ? "" : "printf \"#!/bin/sh\\n\(policy)\\n\" >/usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d"
        let result = try asRoot(
            "test", before: before,
            after: "ls /etc/systemd/system /etc/systemd/system/*.wants; ls /usr/sbin; cat /usr/sbin/policy-rc.d || :")
        #expect(result.status == 0, "\(result)")
        #expect(result.output.contains("failed: 1") == (status != 0), "\(result)")
        #expect(try done().contains("policy 101\n"))
        #expect(!result.output.contains("fake.service"), "\(result.output)")
        #expect(!result.output.contains("alias.service"), "\(result.output)")
        #expect(result.output.contains("own.service"), "\(result.output)")
        #expect(!result.output.contains("keyfob"), "\(result.output)")
        #expect(result.output.hasSuffix(policy.isEmpty ? "" : "\n\(policy)\n"), "\(result.output)")
        #expect(result.output.contains("policy-rc.d") == !policy.isEmpty, "\(result.output)")
    }

    @Test(.enabled(if: Machine.hasOwnMounts, "only root can give a program directories of its own"))
    func `services start again after the program was killed`() throws {
        try directory.write((Self.apt + "kill -KILL $PPID\n").utf8, to: "apt")
        let result = try asRoot(
            "test", before: "printf \"#!/bin/sh\\nexit 0\\n\" >/usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d",
            after: "policy-rc.d any start && echo allowed; cat /usr/sbin/policy-rc.d; ls /usr/sbin")
        #expect(try done().contains("policy 101\n"))
        #expect(result.output.contains("failed: 137"), "\(result)")
        #expect(result.output.contains("allowed\n#!/bin/sh\nexit 0\n"), "\(result)")
        #expect(!result.output.contains("keyfob"), "\(result)")
    }
}

import Foundation
import TestSupport
import Testing

/// `--copy`, with stand-ins for the programs that desktops have for the clipboard.
@Suite struct ClipboardTests {
    private let household: TestHome

    init() throws {
        household = try .unattended()
        try household.set("key", "canary-1")
        try FileManager.default.createDirectory(
            atPath: household.directory.file("bin"), withIntermediateDirectories: false)
        // Its clipboard is a file. It notes its arguments, and keeps a process in the background, as xclip does.
        try program(
            "xclip",
            """
            echo "$*" >> "$CLIPS/arguments"
            case "$*" in
            *-out*) cat "$CLIPS/clipboard" ;;
            *) cat > "$CLIPS/new"; mv "$CLIPS/new" "$CLIPS/clipboard"; sleep 30 & ;;
            esac
            """)
    }

    private func program(_ name: String, _ script: String) throws {
        try household.directory.writeProgram(script, to: "bin/" + name)
    }

    private func keyfob(_ arguments: [String], _ variables: [String: String] = ["DISPLAY": ":9"]) throws -> Tool.Result {
        let path = ["PATH": household.directory.file("bin") + ":/usr/bin:/bin", "CLIPS": household.directory.path]
        return try household.keyfob(arguments, environment: path.merging(variables) { $1 })
    }

    private func clipboard() throws -> String {
        String(decoding: try household.directory.read("clipboard"), as: UTF8.self)
    }

    /// Waits until the clipboard has a content.
    private func waits(for content: String) throws -> Bool {
        let end = Date() + 60
        while Date() < end {
            if try clipboard() == content { return true }
            usleep(50_000)
        }
        return false
    }

    @Test func `a secret is copied through standard input and not printed, and cleared later`() throws {
        let result = try keyfob(["get", "key", "--copy", "--for", "1s"])
        #expect(result.status == 0, "\(result.error)")
        #expect(result.output == "Copied key to the clipboard, for 1 s.\n")
        #expect(try waits(for: ""))
        let arguments = String(decoding: try household.directory.read("arguments"), as: UTF8.self)
        #expect(arguments == "-selection clipboard -in\n-selection clipboard -out\n-selection clipboard -in\n")
    }

    @Test func `a clipboard with another content is not cleared`() throws {
        #expect(try keyfob(["get", "key", "--copy", "--for", "2s"]).status == 0)
        #expect(try clipboard() == "canary-1")
        try household.directory.write("mine".utf8, to: "clipboard")
        let arguments = household.directory.file("arguments")
        let end = Date() + 60
        while Date() < end, try !String(contentsOfFile: arguments, encoding: .utf8).contains("-out") { usleep(50_000) }
        // Clearing would come within milliseconds of reading.
        usleep(500_000)
        #expect(try clipboard() == "mine")
        #expect(try !String(contentsOfFile: arguments, encoding: .utf8).hasSuffix("-in\n"))
    }

    @Test func `the limit of an earlier copy does not clear a later one`() throws {
        #expect(try keyfob(["get", "key", "--copy", "--for", "2s"]).status == 0)
        #expect(try keyfob(["get", "key", "--copy", "--for", "0"]).status == 0)
        let find = "for p in /proc/[0-9]*; do grep -qz -- ---clear-clipboard $p/cmdline 2>/dev/null && "
            + "grep -qz \"^CLIPS=$0$\" $p/environ && echo ${p#/proc/}; done; true"
        let end = Date() + 60
        while Date() < end, try !Tool("/bin/sh", ["-c", find, household.directory.path]).run().output.isEmpty {
            usleep(100_000)
        }
        #expect(try clipboard() == "canary-1")
    }

    @Test func `wl-copy gets a secret only if its file is in memory`() throws {
        for name in ["wl-copy", "wl-paste"] { try program(name, "cat > \"$CLIPS/clipboard\"") }
        let isInMemory = try run("stat", ["-f", "-c", "%T", "/tmp"]).stdout == "tmpfs\n"
        let alone = try keyfob(["get", "key", "--copy", "--for", "0"], ["WAYLAND_DISPLAY": "wayland-9"])
        #expect(alone.status == (isInMemory ? 0 : 12), "\(alone.error)")
        #expect(FileManager.default.fileExists(atPath: household.directory.file("clipboard")) == isInMemory)
        #expect(isInMemory || alone.error.contains("/tmp, which is on a disk"), "\(alone.error)")
        let both = try keyfob(["get", "key", "--copy", "--for", "0"], ["WAYLAND_DISPLAY": "wayland-9", "DISPLAY": ":9"])
        #expect(both.status == 0, "\(both.error)")
        #expect(try clipboard() == "canary-1")
    }

    @Test func `a document has no value, and without a limit nothing clears the clipboard`() throws {
        let result = try keyfob(["get", "key", "--copy", "--for", "0", "--json"])
        let object = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        let document = try #require(object)
        #expect(document["copied"] as? Bool == true)
        #expect(document["clears_at"] is NSNull)
        #expect(document["value"] == nil)
        #expect(try clipboard() == "canary-1")
        #expect(!result.output.contains("canary-1"))
    }

    @Test func `the process that clears the clipboard knows no secret, and outlives the terminal`() throws {
        #expect(try keyfob(["get", "key", "--copy", "--for", "50s"]).status == 0)
        let find = "for p in /proc/[0-9]*; do grep -qz -- ---clear-clipboard $p/cmdline 2>/dev/null && "
            + "grep -qz \"^CLIPS=$0$\" $p/environ && echo ${p#/proc/}; done; true"
        let found = try Tool("/bin/sh", ["-c", find, household.directory.path]).run().output
        let process = try #require(Int32(found.split(separator: "\n").first ?? ""), "\(found)")
        defer { kill(process, SIGTERM) }
        #expect(getsid(process) != getsid(0))
        let line = try String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)
        #expect(line.contains("\u{0}xclip\u{0}50\u{0}"), "\(line)")
        #expect(try !Data(contentsOf: URL(fileURLWithPath: "/proc/\(process)/environ")).contains(Data("canary-1".utf8)))
    }

    @Test func `without a desktop or its programs the error names what is missing`() throws {
        let none = try keyfob(["get", "key", "--copy"], [:])
        #expect(none.status == 1)
        #expect(none.error.contains("WAYLAND_DISPLAY"))
        let empty = ["DISPLAY": ":9", "PATH": household.directory.path]
        #expect(try keyfob(["get", "key", "--copy"], empty).error.contains("apt install xclip"))
        let wayland = ["WAYLAND_DISPLAY": "wayland-0", "PATH": household.directory.path]
        // The test of wl-copy's file comes first.
        let missing = try keyfob(["get", "key", "--copy"], wayland).error
        #expect(missing.contains("apt install wl-clipboard") || missing.contains("/tmp, which is on a disk"), "\(missing)")
    }

    @Test func `a failing program is reported with its message, and the value is not printed`() throws {
        try program("xclip", "echo 'Error: cannot open display' >&2; exit 1")
        let result = try keyfob(["get", "key", "--copy"])
        #expect(result.status == 1)
        #expect(result.error.contains("xclip cannot use the clipboard (status 1): Error: cannot open display"))
        #expect(!(result.output + result.error).contains("canary-1"))
    }

    @Test func `options that contradict are refused, and a dry run copies nothing`() throws {
        #expect(try keyfob(["get", "key", "--for", "3s"]).status == 2)
        #expect(try keyfob(["get", "key", "--copy", "-o", "x"]).status == 2)
        #expect(try keyfob(["get", "key", "--copy", "--raw"]).status == 2)
        #expect(try keyfob(["get", "key", "--copy", "--dry-run"]).output.hasPrefix("Would copy key"))
        #expect(!FileManager.default.fileExists(atPath: household.directory.file("clipboard")))
    }

    @Test func `a code is copied without a newline`() throws {
        let seed = Data("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ".utf8)
        #expect(try household.keyfob(["otp", "set", "x", "--stdin"], input: seed).status == 0)
        #expect(try keyfob(["otp", "get", "x", "--copy", "--for", "0"]).status == 0)
        #expect(try clipboard().wholeMatch(of: /\d{6}/) != nil)
    }

    @Test(
        .enabled(
            if: ["Xvfb", "xclip", "xsel"].allSatisfy { FileManager.default.isExecutableFile(atPath: "/usr/bin/" + $0) },
            "Xvfb, xclip and xsel are not installed"),
        arguments: ["xclip", "xsel"])
    func `the clipboard of a real X server is used and cleared`(program: String) throws {
        try FileManager.default.removeItem(atPath: household.directory.file("bin/xclip"))
        // The other program is hidden by one that cannot be executed.
        let script = """
            mkdir only && for name in env sh setsid \(program); do ln -s "$(command -v $name)" only/$name; done
            mkfifo number; Xvfb -displayfd 3 -screen 0 64x64x8 3>number >/dev/null 2>&1 & server=$!
            trap 'kill $server' EXIT
            read number <number; export DISPLAY=:$number
            PATH=$PWD/only "$KEYFOB" get key --copy --for 2s || exit 1
            xclip -selection clipboard -out; echo .
            PATH=$PWD/only "$KEYFOB" get key --copy --for 2s >/dev/null || exit 1
            for i in $(seq 300); do [ -n "$(xclip -selection clipboard -out 2>/dev/null)" ] || break; sleep 0.1; done
            echo "then <$(xclip -selection clipboard -out 2>/dev/null)>"
            """
        let tool = Tool(
            "/bin/sh", ["-c", "cd \"$0\" && \(script)", household.directory.path],
            environment: household.environment.merging(["KEYFOB": Tool.commandPath]) { $1 })
        let result = try tool.run()
        #expect(result.output == "Copied key to the clipboard, for 2 s.\ncanary-1.\nthen <>\n", "\(result.error)")
    }
}

import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import KeyfobCLI

/// The manual pages, which Scripts/manual writes from the help of the commands.
@Suite(
    .enabled(
        if: ["groff", "man"].allSatisfy { FileManager.default.isExecutableFile(atPath: "/usr/bin/" + $0) },
        "groff and man are not installed"))
struct ManualTests {
    /// The names of the pages of a command and those below it.
    private static func pages(_ command: any ParsableCommand.Type, _ name: String) -> [String] {
        [name + ".1"]
            + command.configuration.subcommands.flatMap {
                pages($0, name + "-" + ($0.configuration.commandName ?? ""))
            }
    }

    @Test func `every command has a page that renders without warnings and names what exists`() throws {
        let directory = try TemporaryDirectory()
        // A page of a command that there is no more, and one of another program.
        try FileManager.default.createDirectory(atPath: directory.file("man1"), withIntermediateDirectories: false)
        try directory.write([], to: "man1/keyfob-gone.1")
        try directory.write([], to: "man1/other.1")
        let made = try Tool(
            Machine.script("manual"), [directory.file("man1"), Tool.commandPath],
            environment: ["HOME": directory.path, "TMPDIR": directory.path]
        ).run()
        try #require(made.status == 0, "\(made.error)")
        let pages = Set(try FileManager.default.contentsOfDirectory(atPath: directory.file("man1")))
        let wanted = Set(Self.pages(KeyfobCommand.self, "keyfob"))
        #expect(wanted.subtracting(pages).isEmpty)
        #expect(pages.subtracting(wanted).subtracting(["other.1", "keyfob-help.1"]).isEmpty)
        let check = try Tool(
            "/bin/sh",
            [
                "-c",
                "cd \"$0\"; rm other.1; for page in *; do groff -mdoc -ww -z -K utf8 -Tutf8 $page 2>&1 | sed \"s/^/$page: /\"; done; "
                    + "sed -n 's/^\\.Xr \\([^ ]*\\) \\(.\\).*/\\1.\\2/p' * | sort -u | while read page; do ls $page; done 2>&1 >/dev/null",
                directory.file("man1"),
            ]
        ).run()
        #expect(check.output.isEmpty, "\(check.output)")
    }

    @Test func `man finds and shows a page by the words of the command`() throws {
        let directory = try TemporaryDirectory()
        let environment = [
            "HOME": directory.path, "TMPDIR": directory.path, "MANPATH": directory.file("man"), "MANWIDTH": "80",
            "LC_ALL": "C.UTF-8", "PAGER": "cat",
        ]
        let made = try Tool(
            Machine.script("manual"), [directory.file("man/man1"), Tool.commandPath], environment: environment
        ).run()
        try #require(made.status == 0, "\(made.error)")
        for (words, title) in [(["keyfob-otp-get"], "KEYFOB-OTP-GET(1)"), (["keyfob", "otp"], "KEYFOB-OTP(1)")] {
            let page = try Tool("/usr/bin/man", words, environment: environment).run()
            #expect(page.status == 0, "\(page.error)")
            #expect(page.output.contains("keyfob otp get github.com --copy"), "\(page.output)")
            #expect(page.output.hasPrefix(title), "\(page.output)")
        }
    }
}

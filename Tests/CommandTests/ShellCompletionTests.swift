import Foundation
import TestSupport
import Testing

/// The scripts for zsh and fish, loaded into these shells at a prompt.
@Suite struct ShellCompletionTests {
    private static func hasShell(_ name: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: "/usr/bin/" + name)
    }

    private static let lines = [
        ("keyfob get wi", "keyfob get with\\ space "), ("keyfob -k lo", "keyfob -k login "),
        ("keyfob secret -k lo", "keyfob secret -k login "),
        ("keyfob -k login secret get wi", "keyfob -k login secret get with\\ space "),
        ("keyfob --json get git", "keyfob --json get git/https://a "),
        ("keyfob -k login unl", "keyfob -k login unlock "),
        ("keyfob get it", "keyfob get it\\'s "), ("keyfob get \\$", "keyfob get \\$\\(touch\\ ran\\) "),
    ]

    private func household() throws -> TestHome {
        let household = try TestHome()
        #expect(try household.keyfob(["init", "--pin-source", "env:P"], environment: ["P": "open sesame"]).status == 0)
        for name in ["with space", "git/https://a", "it's", "$(touch ran)"] { try household.set(name, name + "!") }
        return household
    }

    private func environment(_ household: TestHome) -> [String: String] {
        let path = URL(fileURLWithPath: Tool.keyfob([]).path).deletingLastPathComponent().path + ":/usr/bin:/bin"
        return household.environment.merging(["PATH": path, "TERM": "dumb"]) { $1 }
    }

    @Test func `an impossible completion prints no message`() throws {
        for words in [["---completion", "get", "--", "--none", "0", "0"], ["---completion", "get", "--"]] {
            let result = try Tool.keyfob(words, environment: [:]).run()
            #expect(result.status != 0 && result.output.isEmpty && result.error.isEmpty, "\(result.error)")
        }
    }

    @Test(.enabled(if: hasShell("zsh"), "zsh is not installed"), arguments: lines)
    func `zsh completes a line`(line: String, completed: String) throws {
        let household = try household()
        // A widget that completes, and prints the resulting line.
        let script = #"""
            cd && mkdir functions && keyfob completion zsh >functions/_keyfob && zmodload zsh/zpty && zpty z zsh -f -i
            setup='fpath=($HOME/functions $fpath); autoload -Uz compinit; compinit -u -D; '
            setup+='answer() { zle complete-word; print -r -- "LINE<$BUFFER>"; }; zle -N answer; bindkey "^T" answer; '
            zpty -w z "$setup"'PROMPT=; print -r -- REA""DY'
            zpty -r z out '*READY*'
            zpty -n -w z "$1"$'\C-T'
            zpty -r z out '*LINE<*>*'
            print -r -- "${${out##*LINE<}%>*}"
            zpty -d z
            """#
        let tool = Tool("/usr/bin/zsh", ["-f", "-c", script, "zsh", line], environment: environment(household))
        let result = try tool.run()
        #expect(result.output == completed + "\n", "\(result.error)")
        #expect(!FileManager.default.fileExists(atPath: household.directory.file("home/ran")))
    }

    @Test(
        .enabled(if: hasShell("fish"), "fish is not installed"),
        arguments: [
            ("keyfob -k lo\tsecret get wi\t", "with space!"), ("keyfob -q get git\t", "git/https://a!"),
            ("keyfob -k login get it\t", "it's!"), ("keyfob get \\$\t", "$(touch ran)!"),
        ])
    func `fish completes a line that then runs`(line: String, printed: String) throws {
        let household = try household()
        let directory = household.directory.file("home/.config/fish/completions")
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let script = try household.keyfob(["completion", "fish"]).output
        try household.directory.write(Array(script.utf8), to: "home/.config/fish/completions/keyfob.fish")
        let settings = "set -g fish_greeting\nfunction fish_prompt; echo -n 'ready> '; end\n"
        try household.directory.write(Array(settings.utf8), to: "home/.config/fish/config.fish")
        let terminal = try PseudoTerminal()
        let typist = terminal.type([line + " >got\n", "exit\n"], after: "ready> ")
        let start = "cd \"$HOME\" && exec setsid --ctty --wait fish <$0 >$0 2>$0"
        let result = try Tool("/bin/sh", ["-c", start, terminal.path], environment: environment(household)).run()
        let screen = typist.wait()
        #expect(result.status == 0, "\(result.error) \(screen)")
        let got = String(decoding: try household.directory.read("home/got"), as: UTF8.self)
        #expect(got == printed + "\n", "\(screen)")
        #expect(!FileManager.default.fileExists(atPath: household.directory.file("home/ran")))
    }
}

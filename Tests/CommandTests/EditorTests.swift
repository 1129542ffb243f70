import Foundation
import TestSupport
import Testing

@testable import KeyfobCLI

/// Editors that leave nothing on a disk.
@Suite struct EditorTests {
    private static let programs = [
        "vi": "/usr/bin/vim.basic", "vim": "/usr/bin/vim.basic", "vim.tiny": "/usr/bin/vim.tiny",
        "/usr/bin/vim": "/usr/bin/vim.basic", "/opt/my tools/vim": "/opt/my tools/vim", "nvim": "/opt/nvim/bin/nvim",
        "view": "/usr/bin/vim.basic", "vimdiff": "/usr/bin/vim.basic", "ex": "/usr/libexec/vi", "v": "/usr/bin/nvim",
        "editor": "/usr/bin/vim.basic", "env": "/usr/bin/env", "nice": "/usr/bin/nice", "nano": "/bin/nano",
        "nvi": "/usr/bin/nvi", "ed": "/bin/ed", "emacs": "/usr/bin/emacs-gtk", "code": "/usr/bin/code",
        "sensible-editor": "/usr/bin/sensible-editor", "sh": "/bin/dash", "sudo": "/usr/bin/sudo",
    ]

    private func editor(_ environment: [String: String], isVim: Bool = true) -> Editor {
        Editor(
            environment: { environment[$0] }, resolve: { Self.programs[$0] },
            isVim: { $0.hasSuffix("/vi") && isVim })
    }

    @Test(arguments: [
        "vi", "vim", "vim.tiny", "/usr/bin/vim", "'/opt/my tools/vim'", "nvim", "view", "vimdiff", "v", "ex", "editor",
        "vim -f -c 'set ft=yaml'", "env TERM=xterm vim -f", "nice -n 5 vim", "TERM=xterm vim", "sudo -u me vim",
        "vim -c 'set tw=0 | syntax off'",
    ])
    func `vim is started with options against the files that it would leave`(command: String) {
        for variables in [["EDITOR": command], ["VISUAL": command, "EDITOR": "nano"]] {
            let editor = editor(variables)
            #expect(editor.command == command + " " + Editor.vimOptions)
            #expect(editor.isSafe)
        }
    }

    @Test func `vi is the editor of last resort, and is treated as vim if it is vim`() {
        #expect(editor([:]).command == "vi " + Editor.vimOptions)
        #expect(editor(["EDITOR": "ex"], isVim: false).command == "ex")
        #expect(!editor(["EDITOR": "ex"], isVim: false).isSafe)
    }

    @Test(arguments: ["nano", "nano -w", "ed", "emacs -Q -nw"])
    func `other editors that write nothing elsewhere are started without options`(command: String) {
        #expect(editor(["EDITOR": command]).command == command)
        #expect(editor(["EDITOR": command]).isSafe)
    }

    @Test(arguments: [
        "code --wait", "emacs", "emacsclient -Q", "nvi", "sh ./vim.sh", "vim; sync", "vim --", "myeditor", "vim | cat",
        "$(which vim)", "code --profile vim",
    ])
    func `unknown editors are started without options, and the user is warned`(command: String) {
        #expect(editor(["EDITOR": command]).command == command)
        #expect(!editor(["EDITOR": command]).isSafe)
    }

    @Test(arguments: [
        (["EDITOR": "vim -f"], "vim -f " + Editor.vimOptions), (["EDITOR": "nano"], "nano"),
        (["SELECTED_EDITOR": "nano"], "nano"), ([:], "editor " + Editor.vimOptions),
        (["EDITOR": "sensible-editor"], "editor " + Editor.vimOptions),
    ])
    func `Debian's sensible-editor is resolved to its editor`(variables: [String: String], command: String) {
        #expect(editor(variables.merging(["VISUAL": "sensible-editor"]) { $1 }).command == command)
        let path = editor(variables.merging(["VISUAL": "/usr/bin/sensible-editor"]) { $1 })
        #expect(path.command == command)
        #expect(path.isSafe)
    }

    @Test func `the choice of select-editor applies to sensible-editor`() throws {
        let directory = try TemporaryDirectory()
        try directory.write("# Generated\nSELECTED_EDITOR=\"/usr/bin/vim\"\n".utf8, to: ".selected_editor")
        let editor = editor(["VISUAL": "sensible-editor", "HOME": directory.path])
        #expect(editor.command == "/usr/bin/vim " + Editor.vimOptions)
    }

    static let hasVim = (try? Tool("/usr/bin/env", ["vim", "--version"]).run().status) == 0

    @Test(.enabled(if: hasVim, "vim is not installed"), arguments: [
        "vim -s KEYS", "env vim -s KEYS", "/usr/bin/vim -n -s KEYS", "vimdiff -s KEYS", "sensible-editor",
    ])
    func `an edit with vim leaves nothing of the secret in the home directory`(command: String) throws {
        let household = try TestHome.unattended()
        let home = household.directory.file("home")
        try household.set("x", "old-secret")
        let keys = household.directory.file("keys")
        // The line goes into a register, a filter and the history of changes.
        try household.directory.write("yy:%!cat\r:%s/old-secret/new-secret/\r:wq\r".utf8, to: "keys")
        try household.directory.write(
            """
            set viminfo='100,<50 undofile backup writebackup swapfile
            set undodir=\(home) backupdir=\(home) directory=\(home)
            autocmd BufReadPost * set backup

            """.utf8, to: "home/.vimrc")
        let vim = command.replacing("KEYS", with: keys)
        let variables = vim == "sensible-editor" ? ["VISUAL": vim, "EDITOR": "vim -s " + keys] : ["VISUAL": vim]
        let terminal = ["TERM": "xterm"].merging(variables) { $1 }
        func traces() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: home).filter { name in
                let bytes = FileManager.default.contents(atPath: home + "/" + name) ?? Data()
                return [".viminfo", "old-secret", "new-secret"].contains {
                    name == $0 || bytes.range(of: Data($0.utf8)) != nil
                }
            }
        }
        let edit = try household.keyfob(["secret", "edit", "x"], environment: terminal)
        #expect(edit.status == 0, "\(edit)")
        #expect(try household.keyfob(["get", "x"]).output == "new-secret\n")
        #expect(try traces() == [])
        #expect(!edit.error.contains("may keep copies"))
        // The same keys without these options leave traces of the secret.
        let plain = try household.directory.write("old-secret\n".utf8, to: "plain")
        let bare = try Tool(
            "/usr/bin/env", ["vim", "-s", keys, plain], environment: ["HOME": home, "TERM": "xterm"]
        ).run()
        try #require(bare.status == 0, "\(bare)")
        #expect(try !traces().isEmpty)
    }

    @Test func `a user is warned of an unknown editor, and a program is not`() throws {
        let household = try TestHome.unattended()
        try household.set("x", "old")
        for (options, isWarned) in [([], true), (["--quiet"], false), (["--json"], false)] {
            let edit = try household.keyfob(["secret", "edit", "x"] + options, environment: ["EDITOR": "true"])
            #expect(edit.status == 0, "\(edit)")
            #expect(edit.error.contains("the editor \"true\" may keep copies of the secret on disk") == isWarned)
        }
    }
}

import Foundation
import Keyfob
import KeyfobPrimitives

/// The user's editor, with the options that keep it from leaving copies of a secret on a disk.
///
/// Editors of the vim family write `~/.viminfo` (nvim: shada), and, if the user has enabled them, swap, backup and undo
/// files outside the file's directory. A command-line option turns each of these off, and takes precedence over the
/// user's settings.
struct Editor {
    /// The start of the command line for `/bin/sh`; the name of a file follows.
    let command: String
    /// Whether the editor is known to write nothing outside the file's directory.
    let isSafe: Bool

    /// The options of vim and nvim: no swap file, no viminfo or shada, no backup and no undo file.
    ///
    /// Commands of `-c` run after the user's configuration and all plugins.
    static let vimOptions =
        "-n -i NONE -c 'set viminfo= noswapfile nobackup nowritebackup noundofile'"

    /// Creates the editor of `$VISUAL`, else `$EDITOR`, else vi.
    ///
    /// - Parameters:
    ///   - environment: Returns the value of a variable; `nil` if it is empty.
    ///   - resolve: Returns the file of a program with all links resolved; `nil` if there is none.
    ///   - isVim: Whether the program in that file reports that it is vim.
    init(
        environment: (String) -> String? = Environment.nonEmpty, resolve: (String) -> String? = Editor.resolved,
        isVim: (String) -> Bool = Editor.saysItIsVim
    ) {
        var command = Self.chosen(environment) ?? "vi"
        if Self.words(of: command)?.first.map(Self.name) == "sensible-editor" {
            // sensible-editor reads the same variables, and would start vim without these options.
            let others = ["EDITOR", "SELECTED_EDITOR"].map(environment) + [Self.selected(environment)]
            command = others.compactMap(\.self).first { !$0.contains("sensible-editor") }
                ?? (resolve("editor") == nil ? "vi" : "editor")
        }
        // In a list of commands, the options would go to the last command. After "--" they would be file names.
        guard let words = Self.words(of: command), words.last != "--", let program = Self.program(in: words, resolve)
        else {
            (self.command, isSafe) = (command, false)
            return
        }
        let file = resolve(program) ?? program
        let names = [program, file].map(Self.name)
        let isOfVim =
            names.contains { $0.wholeMatch(of: /(r|g|rg|e)?n?vimx?(diff)?(\..*)?/) != nil }
            || names.contains { $0.wholeMatch(of: /(r|g|rg|e)?(vi|view|ex)/) != nil } && isVim(file)
        self.command = isOfVim ? command + " " + Self.vimOptions : command
        isSafe =
            isOfVim || ["nano", "rnano", "ed", "busybox"].contains(Self.name(file))
            || Self.name(program) == "emacs" && words.contains { ["-Q", "--quick"].contains($0) }
    }

    /// The word that names the editor, without assignments and without starters such as env and their options.
    private static func program(in words: [String], _ resolve: (String) -> String?) -> String? {
        let starters = ["env", "command", "exec", "nice", "ionice", "setsid", "nohup", "stdbuf", "sudo", "doas"]
        var isStarted = false
        for word in words where word.prefix(while: { $0 != "/" }).contains("=") == false {
            if starters.contains(name(word)) {
                isStarted = true
            } else if !isStarted || (!word.hasPrefix("-") && resolve(word) != nil) {
                return word
            }
        }
        return nil
    }

    /// The editor that the environment names.
    static func chosen(_ environment: (String) -> String? = Environment.nonEmpty) -> String? {
        environment("VISUAL") ?? environment("EDITOR")
    }

    /// The editor that Debian's select-editor has stored.
    private static func selected(_ environment: (String) -> String?) -> String? {
        guard let home = environment("HOME"),
            let text = try? String(contentsOfFile: home + "/.selected_editor", encoding: .utf8)
        else { return nil }
        return text.firstMatch(of: /SELECTED_EDITOR="?([^"\n]+)/).map { String($0.1) }
    }

    private static func name(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

    /// The words of a simple command, without quotes; `nil` for a list or a pipeline of commands.
    private static func words(of command: String) -> [String]? {
        var (words, word, quote) = ([String](), "", Character?.none)
        for character in command {
            if let open = quote {
                if character == open { quote = nil } else { word.append(character) }
            } else if character == "'" || character == "\"" {
                quote = character
            } else if ";&|\n<>`(".contains(character) {
                return nil
            } else if character.isWhitespace {
                if !word.isEmpty { words.append(word) }
                word = ""
            } else if character != "\\" {
                word.append(character)
            }
        }
        return word.isEmpty ? words : words + [word]
    }

    /// The file of a program, looked up in `PATH`, with all links resolved.
    private static func resolved(_ word: String) -> String? {
        var word = word
        // The shell expands these prefixes. If they are quoted it does not, and then no such file exists.
        let home = Environment.nonEmpty("HOME") ?? ""
        for prefix in ["~/", "$HOME/", "${HOME}/"] where word.hasPrefix(prefix) {
            word = home + "/" + word.dropFirst(prefix.count)
        }
        let path = Environment.nonEmpty("PATH") ?? ""
        let places = word.contains("/") ? [""] : path.split(separator: ":").map { $0 + "/" }
        for place in places where unsafe access(place + word, X_OK) == 0 {
            return URL(fileURLWithPath: place + word).resolvingSymlinksInPath().path
        }
        return nil
    }

    /// Whether a program reports that it is vim. `vi` may be vim, or an editor without these options.
    private static func saysItIsVim(_ file: String) -> Bool {
        // A program that cannot be run counts as unknown. Other programs report unknown options on standard error.
        let arguments = ["/bin/sh", "-c", "exec \"$1\" --version 2>/dev/null", "sh", file]
        let result = try? ProgramRun.run(arguments, deadline: .after(.seconds(2)))
        return result.map { String(decoding: $0.output, as: UTF8.self).contains("VIM") } ?? false
    }
}

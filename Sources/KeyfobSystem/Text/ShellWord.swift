/// Words for a POSIX shell.
package enum ShellWord {
    /// `word` as it can be typed in any shell: bare where that is safe, else in single quotes. Characters that a
    /// terminal must not get are made by printf(1): the shell's word is the same, whoever wrote the name.
    package static func quoted(_ word: String) -> String {
        let isPlain = word.unicodeScalars.allSatisfy { scalar in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "/", ".", "_", "-", ":", "@", "%", "+", "=", ",": true
            default: false
            }
        }
        // At the beginning zsh takes an equals sign for the path of the command that follows.
        if isPlain, !word.isEmpty, !word.hasPrefix("=") { return word }
        guard word.unicodeScalars.contains(where: Visible.isHidden) else { return singleQuoted(word) }
        // The shell takes line breaks off the end of what a command prints: those stay outside of it.
        let breaks = word.unicodeScalars.reversed().prefix { $0 == "\n" }.count
        let format = word.unicodeScalars.dropLast(breaks).map { scalar -> String in
            switch scalar {
            case "\\": "\\\\"
            case "%": "%%"
            case "'": "'\\''"
            case _ where Visible.isHidden(scalar): String(scalar).utf8.map(octal).joined()
            default: String(scalar)
            }
        }
        let printed = "\"$(printf -- '" + format.joined() + "')\""
        return breaks == 0 ? printed : printed + singleQuoted(String(repeating: "\n", count: breaks))
    }

    /// `name` as the last words of a command of ours: quoted, and behind `--` where it begins as an option does.
    package static func operand(_ name: String) -> String {
        (name.hasPrefix("-") ? "-- " : "") + quoted(name)
    }

    /// `name` and options, each of which has a space before it: the name first, or where it begins as an option does last.
    package static func operand(_ name: String, with options: String) -> String {
        guard name.hasPrefix("-") else { return quoted(name) + options }
        return String((options + " " + operand(name)).dropFirst())
    }

    /// An option of a command of ours with its value: two words, or one where the value begins as an option does.
    package static func option(_ name: String, _ value: String) -> String {
        name + (value.hasPrefix("-") ? "=" : " ") + quoted(value)
    }

    /// `text` in single quotes, whatever it is. What a terminal must not get stands in it as it is.
    package static func singleQuoted(_ text: String) -> String {
        // By scalars: a quote that a combining mark follows is one character with it, and ends the word all the same.
        "'" + text.unicodeScalars.map { $0 == "'" ? "'\\''" : String($0) }.joined() + "'"
    }

    private static func octal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 8)
        return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
    }
}

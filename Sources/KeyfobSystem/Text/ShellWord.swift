/// Words for a POSIX shell.
package enum ShellWord {
    /// `word` as it can be typed in any shell: unquoted if that is safe, else in single quotes.
    ///
    /// Characters that a terminal must not get are produced by printf(1).
    package static func quoted(_ word: String) -> String {
        let isPlain = word.unicodeScalars.allSatisfy { scalar in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "/", ".", "_", "-", ":", "@", "%", "+", "=", ",": true
            default: false
            }
        }
        // zsh expands a leading equals sign to the path of a command.
        if isPlain, !word.isEmpty, !word.hasPrefix("=") { return word }
        guard word.unicodeScalars.contains(where: TerminalSafe.isHidden) else { return singleQuoted(word) }
        // Command substitution strips trailing line breaks, so they stay outside.
        let breaks = word.unicodeScalars.reversed().prefix { $0 == "\n" }.count
        let format = word.unicodeScalars.dropLast(breaks).map { scalar -> String in
            switch scalar {
            case "\\": "\\\\"
            case "%": "%%"
            case "'": "'\\''"
            case _ where TerminalSafe.isHidden(scalar): String(scalar).utf8.map(octal).joined()
            default: String(scalar)
            }
        }
        let printed = "\"$(printf -- '" + format.joined() + "')\""
        return breaks == 0 ? printed : printed + singleQuoted(String(repeating: "\n", count: breaks))
    }

    /// `name` as the last word of a command of ours: quoted, and after `--` if it begins with a hyphen.
    package static func operand(_ name: String) -> String {
        (name.hasPrefix("-") ? "-- " : "") + quoted(name)
    }

    /// `name` with options, each preceded by a space. A name that begins with a hyphen comes last.
    package static func operand(_ name: String, with options: String) -> String {
        guard name.hasPrefix("-") else { return quoted(name) + options }
        return String((options + " " + operand(name)).dropFirst())
    }

    /// An option with its value: two words, or one word if the value begins with a hyphen.
    package static func option(_ name: String, _ value: String) -> String {
        name + (value.hasPrefix("-") ? "=" : " ") + quoted(value)
    }

    /// `text` in single quotes. Control characters are kept.
    package static func singleQuoted(_ text: String) -> String {
        // By scalars: a quote followed by a combining mark is one character with it, and ends the word all the same.
        "'" + text.unicodeScalars.map { $0 == "'" ? "'\\''" : String($0) }.joined() + "'"
    }

    private static func octal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 8)
        return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
    }
}

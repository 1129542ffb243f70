/// A command line that does not make sense; exit status 2.
struct UsageError: Error, CustomStringConvertible {
    let message: String
    let hint: String?

    init(_ message: String, hint: String? = nil) {
        self.message = message
        self.hint = hint
    }

    var description: String { hint.map { "\(message)\n    \($0)" } ?? message }

    /// A secret was given as an argument, where `ps` and the shell's history show it. The text never
    /// repeats the argument itself.
    ///
    /// - Parameter item: the name before it, for the advice.
    static func secretOnCommandLine(item: String) -> UsageError {
        let name = ShellWord.quoted(item)
        return UsageError(
            "secret values are not taken from the command line, where other users can read them.",
            hint: "Pipe it:  printf %s \"$VALUE\" | keyfob set \(name) --stdin     or just: keyfob set \(name)")
    }

    /// A PIN was given in a URI. The text never repeats the URI.
    static let pinOnCommandLine = UsageError(
        "a PIN is not taken from the command line, where other users can read it.",
        hint: "Leave pin-value out of the URI and give a source: --pin-source prompt | file:… | env:…")
}

/// Words for a POSIX shell.
enum ShellWord {
    /// `word` as it can be typed in any shell: bare where that is safe, else in single quotes. Characters that a
    /// terminal must not get are made by printf(1): the shell's word is the same, whoever wrote the name.
    static func quoted(_ word: String) -> String {
        let isPlain = word.unicodeScalars.allSatisfy { scalar in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "/", ".", "_", "-", ":", "@", "%", "+", "=", ",": true
            default: false
            }
        }
        if isPlain, !word.isEmpty { return word }
        guard word.unicodeScalars.contains(where: Visible.isHidden) else {
            return "'" + word.replacing("'", with: "'\\''") + "'"
        }
        let format = word.unicodeScalars.map { scalar -> String in
            switch scalar {
            case "\\": "\\\\"
            case "%": "%%"
            case "'": "'\\''"
            case _ where Visible.isHidden(scalar): String(scalar).utf8.map(octal).joined()
            default: String(scalar)
            }
        }
        return "\"$(printf -- '" + format.joined() + "')\""
    }

    private static func octal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 8)
        return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
    }
}

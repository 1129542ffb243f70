import TestSupport
import Testing

@testable import Keyfob

@Suite struct ShellWordTests {
    private static let words = [
        "", "plain", "a b", "it's", "'", "''", "$(echo x)", "`echo x`", "a\\", "\\0041", "100%", "%s%n", "-n", "--", "~", "=ls", "*", "#",
        "é", "日本", "👩‍👩‍👧", "line\nbreak", "ends\n", "ends twice\n\n", "\n", "tab\t", "\u{1B}[31m", "\u{202E}$(echo x)'\\%d",
        // One character to Swift, and a quotation mark to a shell.
        "'\u{301}; echo x; '\u{301}", "$\u{301}(echo x)", "\u{202E}'\u{301}; echo x #",
    ]

    @Test(arguments: words, ["sh", "bash", "zsh"])
    func `a word is one word with the same meaning in every shell`(word: String, shell: String) throws {
        let quoted = ShellWord.quoted(word)
        let printed = try run(shell, ["-c", "for word in \(quoted); do printf '<%s>' \"$word\"; done"]).stdout
        #expect(printed.utf8.elementsEqual("<\(word)>".utf8), "\(quoted)")
        // Of the characters that are not shown, a terminal gets only a line break at the end.
        let hidden = quoted.unicodeScalars.filter { TerminalSafe.isHidden($0) && $0 != "\n" }
        #expect(hidden.isEmpty)
        let single = try run(shell, ["-c", "printf '<%s>' \(ShellWord.singleQuoted(word))"]).stdout
        #expect(single.utf8.elementsEqual("<\(word)>".utf8))
    }
}

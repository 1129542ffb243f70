import CLinux
import Glibc
import Keyfob
import KeyfobPrimitives

/// Questions to the person at the controlling terminal, never to standard input.
///
/// Standard input and output may be pipes that carry data; `/dev/tty` is where the person is.
struct Terminal: Sendable {
    /// The longest line a terminal delivers at once (N_TTY_BUF_SIZE of the kernel).
    private static let longestLine = 4096

    /// Whether questions are allowed: false with `--no-input` or `KEYFOB_NO_INPUT`.
    let mayAsk: Bool

    /// The terminal's path; another one than the controlling terminal only in tests.
    var device = "/dev/tty"

    /// The terminal of a command without options.
    static var standard: Terminal { Terminal(mayAsk: !Environment.isOn("KEYFOB_NO_INPUT")) }

    /// Whether a question would reach anybody.
    var canAsk: Bool {
        guard mayAsk, let descriptor = open() else { return false }
        close(descriptor)
        return true
    }

    /// Asks for a secret without echo. The line's newline is not part of it.
    ///
    /// Blocks until a line is entered. - Throws: `KeychainError.pinRequired` where nobody can be asked,
    /// with `hint` saying what to do instead; `cancelled` at end of file or Ctrl-C.
    func readSecret(_ prompt: String, hint: String) throws -> SecretBytes {
        try withTerminal(asking: prompt, hint: hint) { descriptor in
            try Self.withoutEcho(descriptor) {
                try Self.write(prompt, to: descriptor)
                return try Self.readLine(descriptor)
            }
        }
    }

    /// Asks for a value to be stored, as `readSecret` does, and refuses what a person cannot have meant by one line.
    ///
    /// Of several pasted lines the first would be stored, and the rest be for the shell to run. Ctrl-Z or an arrow key
    /// would be in the value, and nobody see it.
    ///
    /// - Throws: as `readSecret`; `UsageError` for several lines, and for control characters.
    func readValue(_ prompt: String, hint: String) throws -> SecretBytes {
        try withTerminal(asking: prompt, hint: hint) { descriptor in
            try Self.withoutEcho(descriptor) {
                try Self.write(prompt, to: descriptor)
                let line = try Self.readLine(descriptor)
                guard try !Self.discardRest(descriptor) else {
                    throw UsageError(
                        "more than one line was entered; nothing was stored.",
                        hint: "Give several lines in a file, or through a pipe: --from-file FILE, --stdin")
                }
                let hasControls = unsafe line.withUnsafeBytes { bytes in
                    unsafe bytes.contains { Self.isControl($0) && $0 != 0x09 }
                }
                guard !hasControls else {
                    throw UsageError(
                        "there is a control character in what was entered, as of an arrow key; nothing was stored.",
                        hint: "Enter it again. If it is meant: --from-file FILE, --stdin")
                }
                return line
            }
        }
    }

    /// Asks for a new secret twice, until both entries agree, at most three times.
    ///
    /// - Throws: as `readSecret`; `KeychainError.cancelled` when the entries never agree.
    func readNewSecret(_ prompt: String, again: String = "Again: ", hint: String) throws -> SecretBytes {
        for _ in 0..<3 {
            let first = try readSecret(prompt, hint: hint)
            if try readSecret(again, hint: hint) == first { return first }
            try withTerminal(asking: prompt, hint: hint) { try Self.write("The two entries differ.\n", to: $0) }
        }
        throw KeychainError(.cancelled, "The two entries differed three times; nothing was changed.")
    }

    /// Asks a question whose answer is no unless it is yes.
    ///
    /// - Parameters:
    ///   - question: the question without its answers, such as `Delete "db/prod"?`.
    ///   - lines: what it is about, shown above it.
    ///   - flag: the option that answers it beforehand; the error names it.
    /// - Throws: `KeychainError.refused` where nobody can be asked; `cancelled` at end of file. `CancellationError`
    ///   when a signal comes, where the process has something to put away (`Interruption.waitForAnswer(at:)`).
    func confirm(_ question: String, about lines: [String] = [], flag: String = "--yes") throws -> Bool {
        let list = lines.map { "    \(Visible.text($0))\n" }.joined()
        let answer = try readAnswer("\(list)\(Visible.text(question)) [y/N] ", question: question, flag: flag)
        return ["y", "yes"].contains(answer.lowercased())
    }

    /// Asks for the name of what is about to be lost; anything but that name is no.
    ///
    /// - Throws: as `confirm`.
    func confirm(_ question: String, byTyping name: String, flag: String = "--yes") throws -> Bool {
        let prompt = "\(Visible.text(question)) Type \(Visible.text(name)) to go on: "
        return try readAnswer(prompt, question: question, flag: flag) == name
    }

    /// Asks for one of several letters, until it is one of them.
    ///
    /// - Throws: as `confirm`.
    func choose(_ question: String, among letters: String) throws -> Character {
        let prompt = "\(Visible.text(question)) "
        while true {
            let answer = try readAnswer(prompt, question: question, flag: "another command").lowercased()
            if let letter = answer.first, answer.count == 1, letters.contains(letter) { return letter }
        }
    }

    private func readAnswer(_ prompt: String, question: String, flag: String) throws -> String {
        guard mayAsk, let descriptor = open() else {
            let reason = mayAsk ? "there is no terminal to ask" : "asking is switched off"
            throw KeychainError(
                .refused, "a question needs an answer, and \(reason): \(Visible.text(question))",
                hint: "Answer it beforehand: \(flag)")
        }
        defer { close(descriptor) }
        try Self.write(prompt, to: descriptor)
        do { try Interruption.waitForAnswer(at: descriptor) } catch {
            // Else the message would stand on the prompt's line.
            try Self.write("\n", to: descriptor)
            throw error
        }
        let answer = try Self.readLine(descriptor).copyString() ?? ""
        return answer.trimmingBlanks
    }

    private func withTerminal<Result>(
        asking prompt: String, hint: String, _ body: (Int32) throws -> Result
    ) throws -> Result {
        guard mayAsk, let descriptor = open() else {
            let what = Visible.text(prompt).trimmingBlanks
            let reason = mayAsk ? "there is no terminal to ask on" : "asking is switched off"
            throw KeychainError(.pinRequired, "input is needed (\(what)) and \(reason).", hint: hint)
        }
        defer { close(descriptor) }
        return try body(descriptor)
    }

    private func open() -> Int32? {
        let descriptor = unsafe keyfob_open(device, O_RDWR | O_CLOEXEC | O_NOCTTY, 0)
        return descriptor >= 0 ? descriptor : nil
    }

    private static func write(_ text: String, to descriptor: Int32) throws {
        var text = text
        try text.withUTF8 { try unsafe FileDescriptor.writeAll(UnsafeRawBufferPointer($0), to: descriptor) }
    }

    /// Runs `body` with echo off, and turns it on again however `body` or the process ends.
    private static func withoutEcho<Result>(_ descriptor: Int32, _ body: () throws -> Result) throws -> Result {
        // Stops us where we are in the background, whence the settings are those of the shell's line editor.
        tcflush(descriptor, TCIFLUSH)
        var before = termios()
        guard unsafe tcgetattr(descriptor, &before) == 0 else {
            throw KeychainError(.failed, "the terminal does not say how it is set.")
        }
        var silent = before
        silent.c_lflag &= ~tcflag_t(ECHO)
        // The newline is echoed, else the next message would stand on the prompt's line.
        silent.c_lflag |= tcflag_t(ECHONL | ICANON | ISIG)
        // Ctrl-Z and Ctrl-\ would leave a shell without echo behind.
        unsafe withUnsafeMutableBytes(of: &silent.c_cc) { characters in
            unsafe characters[Int(VSUSP)] = 0
            unsafe characters[Int(VQUIT)] = 0
        }
        return try Interruption.silencing(descriptor, from: before, to: silent, body)
    }

    private static func readLine(_ descriptor: Int32) throws -> SecretBytes {
        var count = 0
        let line = try unsafe SecretBytes(count: longestLine) { buffer throws(KeychainError) in
            count = try unsafe FileDescriptor.read(descriptor, into: UnsafeMutableRawBufferPointer(buffer))
        }
        guard count > 0 else {
            // Ctrl-D is not echoed: the message would stand on the prompt's line.
            try write("\n", to: descriptor)
            throw KeychainError(.cancelled, "cancelled.")
        }
        guard count < longestLine else {
            // The kernel drops what goes beyond, and says nothing.
            throw KeychainError(
                .dataTooLarge,
                "a terminal takes lines of up to \(longestLine - 2) bytes; this one may have been cut off.",
                hint: "Give it in a file, or through a pipe.")
        }
        let endsInNewline = unsafe line.withUnsafeBytes { unsafe $0[count - 1] == 0x0A }
        return line.prefix(endsInNewline ? count - 1 : count)
    }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F }

    /// Throws away what comes after a line, and says whether that was more than blanks.
    private static func discardRest(_ descriptor: Int32) throws -> Bool {
        var settings = termios()
        guard unsafe tcgetattr(descriptor, &settings) == 0 else { return false }
        // So that a last line without a newline is seen.
        settings.c_lflag &= ~tcflag_t(ICANON)
        unsafe tcsetattr(descriptor, TCSANOW, &settings)
        var isMore = false
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // A paste comes in parts; nobody types a second line that soon.
        while unsafe poll(&entry, 1, 50) > 0 {
            var count = 0
            let part = try unsafe SecretBytes(count: longestLine) { buffer throws(KeychainError) in
                count = try unsafe FileDescriptor.read(descriptor, into: UnsafeMutableRawBufferPointer(buffer))
            }
            guard count > 0 else { break }
            let isBlank = unsafe part.prefix(count).withUnsafeBytes { bytes in
                unsafe bytes.allSatisfy { isControl($0) || $0 == 0x20 }
            }
            isMore = isMore || !isBlank
        }
        return isMore
    }
}

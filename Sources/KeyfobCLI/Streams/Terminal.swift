import CLinux
import Glibc
import Keyfob
import KeyfobPrimitives

/// Asks questions at the controlling terminal, never on standard input.
///
/// Standard input and output may be pipes that carry data; `/dev/tty` is the terminal of the user.
struct Terminal: Sendable {
    /// The longest line that a terminal delivers at once (N_TTY_BUF_SIZE of the kernel).
    private static let longestLine = 4096

    /// Whether questions are allowed. False with `--no-input` or `KEYFOB_NO_INPUT`.
    let mayAsk: Bool

    /// The path of the terminal; tests use another one.
    var device = "/dev/tty"

    /// The terminal of a command that takes no options.
    static var standard: Terminal { Terminal(mayAsk: !Environment.isOn("KEYFOB_NO_INPUT")) }

    /// Whether a question can be asked: it is allowed, and there is a controlling terminal.
    var canAsk: Bool {
        guard mayAsk, let descriptor = open() else { return false }
        close(descriptor)
        return true
    }

    /// Asks for a secret without echo. The newline of the line is not part of it.
    ///
    /// Blocks until a line is entered.
    ///
    /// - Parameter hint: The hint of the error if the question cannot be asked: what to do instead.
    /// - Throws: `KeychainError.pinRequired` if the question cannot be asked; `cancelled` at end of file;
    ///   `dataTooLarge` for a line that the terminal may have truncated.
    func readSecret(_ prompt: String, hint: String) throws -> SecretBytes {
        try withTerminal(asking: prompt, hint: hint) { descriptor in
            try Self.withoutEcho(descriptor) {
                try FileDescriptor.write(prompt, to: descriptor)
                return try Self.readLine(descriptor)
            }
        }
    }

    /// Asks for a value without echo, and refuses more than one line and control characters.
    ///
    /// Of several pasted lines only the first would be stored, and the shell would run the rest. The byte of Ctrl-Z or
    /// of an arrow key would become part of the value unseen.
    ///
    /// - Throws: `UsageError` for several lines, and for control characters. `KeychainError.pinRequired` if the
    ///   question cannot be asked; `cancelled` at end of file; `dataTooLarge` for a truncated line.
    func readValue(_ prompt: String, hint: String) throws -> SecretBytes {
        try withTerminal(asking: prompt, hint: hint) { descriptor in
            try Self.withoutEcho(descriptor) {
                try FileDescriptor.write(prompt, to: descriptor)
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
                        "the input contains a control character, such as that of an arrow key; nothing was stored.",
                        hint: "Enter it again. To store control characters: --from-file FILE, --stdin")
                }
                return line
            }
        }
    }

    /// Asks for a new secret twice, up to three times until both entries agree and the secret is accepted.
    ///
    /// - Parameter check: Throws if the secret is not accepted. A `KeychainError` is shown, and the third one thrown.
    /// - Throws: `KeychainError.pinRequired` if the question cannot be asked; `cancelled` at end of file, or if the
    ///   entries never agree. The error of `check`.
    func readNewSecret(
        _ prompt: String, again: String = "Again: ", hint: String, _ check: (SecretBytes) throws -> Void = { _ in }
    ) throws -> SecretBytes {
        for attempt in 1...3 {
            let first = try readSecret(prompt, hint: hint)
            let remark: String
            do {
                try check(first)
                if try readSecret(again, hint: hint) == first { return first }
                remark = "The two entries differ."
            } catch let error as KeychainError where error.code == .refused && attempt < 3 {
                remark = error.message.prefix(1).uppercased() + error.message.dropFirst()
            }
            try withTerminal(asking: prompt, hint: hint) {
                try FileDescriptor.write(remark + "\n", to: $0)
            }
        }
        throw KeychainError(.cancelled, "The two entries differed three times; nothing was changed.")
    }

    /// Asks a yes-or-no question. Every answer except `y` and `yes` means no.
    ///
    /// - Parameters:
    ///   - question: The question without its answers, such as `Delete "db/prod"?`.
    ///   - lines: The objects in question, shown above it.
    /// - Throws: `KeychainError.refused` if the question cannot be asked; `cancelled` at end of file.
    ///   `CancellationError` if a signal arrives while the process has something to clean up
    ///   (`Interruption.waitForAnswer(at:)`).
    func confirm(_ question: String, about lines: [String] = []) throws -> Bool {
        let list = lines.map { "    \(TerminalSafe.text($0))\n" }.joined()
        let answer = try readAnswer("\(list)\(TerminalSafe.text(question)) [y/N] ", question: question)
        return ["y", "yes"].contains(answer.lowercased())
    }

    /// Asks to confirm a loss by typing a name. Every other answer means no.
    ///
    /// - Throws: `KeychainError.refused` if the question cannot be asked; `cancelled` at end of file;
    ///   `CancellationError` as described for `confirm(_:about:)`.
    func confirm(_ question: String, byTyping name: String, of noun: String = "keychain") throws -> Bool {
        let shown = TerminalSafe.text(name)
        let prompt = "\(TerminalSafe.text(question)) Type the \(noun)'s name (\"\(shown)\") to confirm: "
        return try readAnswer(prompt, question: question) == name
    }

    /// Asks for one of several letters, until one of them is entered.
    ///
    /// - Throws: `KeychainError.refused` if the question cannot be asked; `cancelled` at end of file;
    ///   `CancellationError` as described for `confirm(_:about:)`.
    func choose(_ question: String, among letters: String) throws -> Character {
        let prompt = "\(TerminalSafe.text(question)) "
        while true {
            let answer = try readAnswer(prompt, question: question, flag: "another command").lowercased()
            if let letter = answer.first, answer.count == 1, letters.contains(letter) { return letter }
        }
    }

    private func readAnswer(_ prompt: String, question: String, flag: String = "--yes") throws -> String {
        guard mayAsk, let descriptor = open() else {
            let reason = mayAsk ? "without a terminal" : "with --no-input"
            throw KeychainError(
                .refused,
                "cannot ask for confirmation \(reason); add \(flag) to answer: \(TerminalSafe.text(question))")
        }
        defer { close(descriptor) }
        try FileDescriptor.write(prompt, to: descriptor)
        do { try Interruption.waitForAnswer(at: descriptor) } catch {
            // Otherwise the message would appear on the line of the prompt.
            try FileDescriptor.write("\n", to: descriptor)
            throw error
        }
        let answer = try Self.readLine(descriptor).copyString() ?? ""
        return answer.trimmingBlanks
    }

    private func withTerminal<Result>(
        asking prompt: String, hint: String, _ body: (Int32) throws -> Result
    ) throws -> Result {
        guard mayAsk, let descriptor = open() else {
            let what = TerminalSafe.text(prompt).trimmingBlanks
            let reason = mayAsk ? "there is no terminal" : "questions are turned off"
            throw KeychainError(.pinRequired, "input is needed (\(what)), but \(reason).", hint: hint)
        }
        defer { close(descriptor) }
        return try body(descriptor)
    }

    private func open() -> Int32? {
        let descriptor = unsafe keyfob_open(device, O_RDWR | O_CLOEXEC | O_NOCTTY, 0)
        return descriptor >= 0 ? descriptor : nil
    }

    /// Runs `body` with echo off, and restores it however `body` or the process ends.
    private static func withoutEcho<Result>(_ descriptor: Int32, _ body: () throws -> Result) throws -> Result {
        // Stops this process while it is in the background, when the terminal has the settings of the shell's line
        // editor.
        tcflush(descriptor, TCIFLUSH)
        var before = termios()
        guard unsafe tcgetattr(descriptor, &before) == 0 else {
            throw KeychainError(.failed, "the terminal's settings cannot be read.")
        }
        var silent = before
        silent.c_lflag &= ~tcflag_t(ECHO)
        // The newline is echoed; otherwise the next message would appear on the line of the prompt.
        silent.c_lflag |= tcflag_t(ECHONL | ICANON | ISIG)
        // Disabled, because Ctrl-Z and Ctrl-\ would leave a shell without echo.
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
            // Ctrl-D is not echoed, so the message would appear on the line of the prompt.
            try FileDescriptor.write("\n", to: descriptor)
            throw KeychainError(.cancelled, "cancelled.")
        }
        guard count < longestLine else {
            // The kernel silently drops input beyond the limit.
            throw KeychainError(
                .dataTooLarge,
                "a terminal accepts lines of up to \(longestLine - 2) bytes; this one may be truncated.",
                hint: "Give it in a file, or through a pipe.")
        }
        let endsInNewline = unsafe line.withUnsafeBytes { unsafe $0[count - 1] == 0x0A }
        return line.prefix(endsInNewline ? count - 1 : count)
    }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F }

    /// Discards input after the line, and returns whether it had more than blanks.
    private static func discardRest(_ descriptor: Int32) throws -> Bool {
        var settings = termios()
        guard unsafe tcgetattr(descriptor, &settings) == 0 else { return false }
        // Makes a last line without a newline readable.
        settings.c_lflag &= ~tcflag_t(ICANON)
        unsafe tcsetattr(descriptor, TCSANOW, &settings)
        var isMore = false
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // A paste arrives in parts; a person cannot type a second line within 50 ms.
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

import Keyfob
import KeyfobPrimitives

/// The clipboard of the desktop, through the programs that desktops have for it.
///
/// Secrets go to and from these programs through files in memory, never through arguments.
struct Clipboard {
    /// A program for the clipboard.
    enum Program: String, CaseIterable {
        case wlClipboard = "wl-copy"
        case xclip, xsel

        /// The programs that must be installed.
        fileprivate var names: [String] { self == .wlClipboard ? ["wl-copy", "wl-paste"] : [rawValue] }

        fileprivate var copying: [String] {
            switch self {
            // wl-copy keeps what it reads in a file: in the directory of TMPDIR, or in /tmp up to version 2.2.
            case .wlClipboard:
                (Environment.nonEmpty("XDG_RUNTIME_DIR").map { ["env", "TMPDIR=" + $0] } ?? [])
                    + ["wl-copy", "--type", "text/plain"]
            case .xclip: ["xclip", "-selection", "clipboard", "-in"]
            case .xsel: ["xsel", "--clipboard", "--input"]
            }
        }

        fileprivate var pasting: [String] {
            switch self {
            case .wlClipboard: ["wl-paste", "--no-newline"]
            case .xclip: ["xclip", "-selection", "clipboard", "-out"]
            case .xsel: ["xsel", "--clipboard", "--output"]
            }
        }

        fileprivate var clearing: [String] {
            switch self {
            case .wlClipboard: ["wl-copy", "--clear"]
            // xclip has no option for it; its input is empty.
            case .xclip: copying
            case .xsel: ["xsel", "--clipboard", "--clear"]
            }
        }
    }

    let program: Program

    /// The longest time for one call of a program.
    private static let limit = Duration.seconds(5)

    /// Finds the clipboard of the session.
    ///
    /// - Throws: `KeychainError.failed` if there is no desktop, or no program for its clipboard; `refused` if the
    ///   program would write the secret to a disk.
    static func find() throws -> Clipboard {
        let isWayland = Environment.nonEmpty("WAYLAND_DISPLAY") != nil
        let isX11 = Environment.nonEmpty("DISPLAY") != nil
        guard isWayland || isX11 else {
            throw KeychainError(
                .failed, "cannot use a clipboard: neither WAYLAND_DISPLAY nor DISPLAY is set.",
                hint: "Run the command in a terminal of the desktop, or leave out --copy to print the value.")
        }
        // The programs for X11 reach the same clipboard where a desktop has both.
        let keepsInMemory = MemoryFileSystem.holds("/tmp")
        let programs = (isWayland && keepsInMemory ? [Program.wlClipboard] : []) + (isX11 ? [.xclip, .xsel] : [])
        guard !programs.isEmpty else {
            throw KeychainError(
                .refused, "wl-copy keeps what it copies in a file in /tmp, which is on a disk here.",
                hint: "Mount a tmpfs at /tmp, or leave out --copy to print the value.")
        }
        let isInstalled = { (program: Program) in program.names.allSatisfy { ProgramLookup.failure(of: $0) == 0 } }
        guard let program = programs.first(where: isInstalled) else {
            throw KeychainError(
                .failed, "the programs for the clipboard are not installed.",
                hint: programs.contains(.wlClipboard)
                    ? "Install the package wl-clipboard: sudo apt install wl-clipboard"
                    : "Install the package xclip or xsel: sudo apt install xclip")
        }
        return Clipboard(program: program)
    }

    /// Puts a secret into the clipboard. A program in the background holds it there.
    ///
    /// - Throws: `KeychainError.failed` with the message of the program.
    func copy(_ secret: SecretBytes) throws { try run(program.copying, input: secret) }

    /// The content of the clipboard; `nil` if it has no text, or cannot be read.
    func content() -> SecretBytes? {
        // An empty clipboard is a failure of most programs.
        do { return try run(program.pasting) } catch { return nil }
    }

    /// Empties the clipboard.
    ///
    /// - Throws: `KeychainError.failed` with the message of the program.
    func clear() throws { try run(program.clearing) }

    /// Runs a program and returns its output.
    @discardableResult
    private func run(_ arguments: [String], input: SecretBytes = SecretBytes([])) throws -> SecretBytes {
        let (given, output, messages) = (try MemoryFile(input), try MemoryFile(), try MemoryFile())
        defer { withExtendedLifetime((given, output, messages)) {} }
        // Another standard error than that of this process: the program in the background would keep it open, and a
        // caller that captures it would wait.
        var child = try ChildProcess(
            ["/bin/sh", "-c", "exec \"$@\" 2>\"$0\"", "/proc/self/fd/\(messages.descriptor)"] + arguments,
            input: given.descriptor, output: output.descriptor, inOwnGroup: true, keeping: messages.descriptor)
        let name = arguments.first { !$0.hasPrefix("TMPDIR=") && $0 != "env" } ?? ""
        guard let status = child.exitStatus(by: .after(Self.limit)) else {
            throw KeychainError(
                .failed, "\(name) did not end in time and was killed; the clipboard may not have changed.",
                hint: "Does the desktop still answer? Try: \(name) --help")
        }
        guard status == 0 else {
            let reason = messages.contents().copyString().map { ": " + TerminalSafe.text($0.trimmingBlanks) } ?? ""
            throw KeychainError(.failed, "\(name) cannot use the clipboard (status \(status))\(reason)")
        }
        return output.contents()
    }
}

import Foundation

/// A source of a PIN or passphrase, with one syntax for options, configuration, URIs and the API.
///
/// | Form | Reads |
/// |---|---|
/// | `prompt` | the terminal, without echo |
/// | `pinentry` | the pinentry program |
/// | `env:NAME` | an environment variable, which is then removed from the environment and never given to a child |
/// | `file:PATH` | the first line of a file that only its owner can read |
/// | `fd:N`, `stdin` | a file descriptor, to its end; a number in a text can be read once in a process |
/// | `cmd:COMMAND` | the first line that a shell command prints |
/// | `credential:NAME` | a systemd credential |
///
/// A source is a value; nothing is read before `read(_:from:)`.
public struct PINSource: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case prompt
        case pinentry
        case environment(String)
        case file(String)
        case descriptor(Int32)
        case command(String)
        case credential(String)
        case agent
        case item(String)
    }

    let kind: Kind

    /// The terminal, through the `Prompter` of the environment.
    public static let prompt = PINSource(kind: .prompt)

    /// The pinentry program.
    public static let pinentry = PINSource(kind: .pinentry)

    /// The standard input, read to its end. It is not closed.
    public static let standardInput = PINSource(kind: .descriptor(0))

    /// The environment variable `name`. From now on programs that this process starts do not inherit it.
    public static func environment(_ name: String) -> PINSource {
        EnvironmentVariable.withhold(name)
        return PINSource(kind: .environment(name))
    }

    /// The first line of the file at `path`.
    public static func file(_ path: String) -> PINSource { PINSource(kind: .file(path)) }

    /// The file descriptor `number`, read to its end and closed.
    ///
    /// After that, another file may be opened with the same number. Existing sources do not read it; only a later call
    /// of this method makes the number, for all sources that name it, mean the file that is open at the time of the
    /// call. A keychain that was not locked in between remembers the secret and does not read the number again.
    public static func descriptor(_ number: Int32) -> PINSource {
        NamedDescriptor.nameAnew(number)
        return PINSource(kind: .descriptor(number))
    }

    /// The first line that `/bin/sh -c command` prints.
    public static func command(_ command: String) -> PINSource { PINSource(kind: .command(command)) }

    /// The systemd credential `name`.
    public static func credential(_ name: String) -> PINSource { PINSource(kind: .credential(name)) }

    /// Whether reading the source needs a person.
    ///
    /// Only other sources count as stored: a stored PIN that was refused is not sent again.
    public var isInteractive: Bool { kind == .prompt || kind == .pinentry }
}

extension PINSource: CustomStringConvertible {
    /// The form that `init(parsing:)` parses.
    public var description: String {
        switch kind {
        case .prompt: "prompt"
        case .pinentry: "pinentry"
        case .environment(let name): "env:" + name
        case .file(let path): "file:" + path
        case .descriptor(0): "stdin"
        case .descriptor(let number): "fd:\(number)"
        case .command(let command): "cmd:" + command
        case .credential(let name): "credential:" + name
        case .agent: "agent"
        case .item(let item): "item:" + item
        }
    }
}

extension PINSource {
    /// Parses the syntax of ``PINSource``, and the forms of RFC 7512's `pin-source`: `file:/path`, `file:///path`,
    /// `|command`.
    ///
    /// - Parameter text: The text.
    /// - Throws: `KeychainError` with code `invalidArgument`. The message does not repeat `text`, which may be a PIN
    ///   that was given by mistake.
    public init(parsing text: String) throws(KeychainError) {
        if text.hasPrefix("|") {
            self = .command(try Self.required(text.dropFirst(), "|COMMAND"))
            return
        }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let rest = parts.count == 2 ? parts[1] : nil
        switch (parts.first.map(String.init) ?? "", rest) {
        case ("prompt", nil): self = .prompt
        case ("pinentry", nil): self = .pinentry
        case ("stdin", nil): self = .standardInput
        case ("agent", nil): kind = .agent
        case ("env", let name?): self = .environment(try Self.variable(name))
        case ("file", let path?): self = .file(try Self.path(path))
        case ("fd", let number?): kind = .descriptor(try Self.number(number))
        case ("cmd", let command?): self = .command(try Self.required(command, "cmd:COMMAND"))
        case ("credential", let name?): self = .credential(try Self.credentialName(name))
        case ("item", let item?): kind = .item(try Self.required(item, "item:keyfob://…"))
        default: throw Self.malformed("this is not a PIN source.")
        }
    }

    private static func malformed(_ message: String) -> KeychainError {
        KeychainError(
            .invalidArgument, message,
            hint: "Give one of: prompt, pinentry, env:NAME, file:PATH, fd:N, stdin, cmd:COMMAND, credential:NAME")
    }

    private static func required(_ text: Substring, _ form: String) throws(KeychainError) -> String {
        guard !text.isEmpty, !text.utf8.contains(0) else { throw malformed("a PIN source \(form) needs its argument.") }
        return String(text)
    }

    private static func variable(_ name: Substring) throws(KeychainError) -> String {
        guard !name.isEmpty, !name.utf8.contains(where: { $0 == UInt8(ascii: "=") || $0 == 0 }) else {
            throw malformed("a PIN source env:NAME needs the name of an environment variable.")
        }
        return String(name)
    }

    private static func number(_ text: Substring) throws(KeychainError) -> Int32 {
        guard let number = Int32(text), number >= 0 else { throw malformed("a PIN source fd:N needs a number.") }
        return number
    }

    private static func credentialName(_ name: Substring) throws(KeychainError) -> String {
        let name = try required(name, "credential:NAME")
        // The rule of systemd for names; it also keeps the path inside the directory.
        guard !name.utf8.contains(UInt8(ascii: "/")), name != ".", name != ".." else {
            throw malformed("the name of a systemd credential is a file name.")
        }
        return name
    }

    /// The forms of RFC 8089, `file:/path`, `file:///path` and `file://localhost/path`, and Keyfob's `file:path`.
    private static func path(_ text: Substring) throws(KeychainError) -> String {
        let text = try required(text, "file:PATH")
        guard text.hasPrefix("//") else { return text }
        let rest = text.dropFirst(2)
        guard let slash = rest.firstIndex(of: "/"), slash == rest.startIndex || rest[..<slash] == "localhost" else {
            throw malformed("a PIN source file: names a file of this machine.")
        }
        guard let path = String(rest[slash...]).removingPercentEncoding else {
            throw malformed("a PIN source file: has a malformed percent-encoding.")
        }
        return path
    }
}

import Foundation
public import KeyfobPrimitives

extension PINSource {
    /// The longest PIN or passphrase that is read, in bytes. A longer one is refused, never cut.
    public static let maximumLength = 4096

    /// Reads the secret. Blocks for as long as the source takes, at most until its deadline.
    ///
    /// A command, a pipe and whatever else has to come from somebody have that of ``PINEnvironment/commandDeadline``.
    /// A person who types at a terminal has none, nor has a descriptor where there is a person to ask, and nobody has
    /// given it one: a program that writes to it may be waiting for what that person types.
    ///
    /// One trailing newline (LF or CRLF) is not part of the secret; from files and commands the first
    /// line is taken.
    ///
    /// - Throws: `pinRequired` when a person would have to be asked and cannot be, or when the source
    ///   has nothing; `unsafeFile`, `fileUnavailable`, `timedOut`, `cancelled`, `invalidArgument` as
    ///   the names say; `refused` for the sources that this version does not have.
    public func read(_ purpose: PINPurpose, from environment: PINEnvironment) throws(KeychainError) -> SecretBytes {
        let secret: SecretBytes
        switch kind {
        case .prompt:
            guard environment.hasPerson, let prompter = environment.prompter else { throw purpose.required }
            secret = try prompter.readSecret(prompt: purpose.prompt, confirm: purpose.confirms)
        case .pinentry:
            guard !environment.noInput else { throw purpose.required }
            secret = try Pinentry.ask(purpose, in: environment)
        case .environment(let name):
            secret = try readVariable(name, environment)
        case .file(let path):
            secret = try Self.readFile(
                Self.expanded(path), purpose, environment, isTrusted: environment.allowInsecureFiles)
        case .descriptor(let number):
            secret = try readDescriptor(number, environment)
        case .command(let command):
            do throws(KeychainError) {
                secret = try ShellCommand.firstLine(of: command, deadline: .after(environment.commandDeadline))
            } catch {
                throw KeychainError(
                    error.code, error.message, remedies: error.remedies + purpose.remediesOfFailure,
                    details: error.details, cause: error.cause)
            }
        case .credential(let name):
            guard let directory = environment.credentialsDirectory, !directory.isEmpty else {
                throw KeychainError(
                    .pinRequired, "there is no systemd credential \"\(name)\": CREDENTIALS_DIRECTORY is not set.",
                    hint: "Add to the unit: LoadCredentialEncrypted=\(name)")
            }
            // systemd hands credentials out read-only, on a mount of the service's own, to a service
            // that may run as another user than the file's: its modes say nothing about readers.
            secret = try Self.readFile(directory + "/" + name, purpose, environment, isTrusted: true)
        case .agent, .item:
            let form = kind == .agent ? "agent" : "item:"
            throw KeychainError(
                .refused, "the PIN source \(form) is not available in this version.",
                hint: "Give one of: prompt, pinentry, env:NAME, file:PATH, fd:N, stdin, cmd:COMMAND, credential:NAME")
        }
        guard secret.count <= Self.maximumLength else { throw tooLong }
        guard !secret.isEmpty else {
            guard !isInteractive else {
                throw KeychainError(.pinRequired, "nothing was entered where a \(purpose.secretName) is needed.")
            }
            throw KeychainError(
                .pinRequired, "\(name) has no \(purpose.secretName) in it: it is empty.",
                remedies: [
                    purpose.remedyOfEmptiness ?? "Put the \(purpose.secretName) there, or give another source."
                ],
                details: ["source": name])
        }
        return secret
    }

    /// What messages call the source. A command is not repeated: people write secrets into them.
    var name: String {
        if case .command = kind { return "the command of the PIN source" }
        return description
    }

    private var tooLong: KeychainError {
        KeychainError(
            .invalidArgument, "\(name) gives more than \(Self.maximumLength) bytes; no PIN is that long.",
            details: ["source": name])
    }

    private func readVariable(_ name: String, _ environment: PINEnvironment) throws(KeychainError) -> SecretBytes {
        if let value = environment.variable(name, of: self) { return value.withoutNewline }
        throw KeychainError(
            .pinRequired, "the environment variable \(name) is not set.", hint: "Set it, or give another PIN source.",
            details: ["source": description])
    }

    private func readDescriptor(_ number: Int32, _ environment: PINEnvironment) throws(KeychainError) -> SecretBytes {
        try environment.once(self) { () throws(KeychainError) -> SecretBytes in
            let descriptor = try NamedDescriptor.take(number, named: description)
            let value = try Self.readAll(OpenFile(adopting: descriptor, path: description), environment)
            guard value.count <= Self.maximumLength + 2 else { throw tooLong }
            return value.withoutNewline
        }
    }

    private static func readAll(
        _ file: borrowing OpenFile, _ environment: PINEnvironment
    ) throws(KeychainError) -> SecretBytes {
        // Such as gpg(1), which asks for the passphrase of a file before it gives what is in it.
        let mayBeTyped = environment.hasPerson && environment.descriptorDeadline == nil
        return try file.read(limit: maximumLength + 3, by: mayBeTyped ? .never : deadline(of: file, environment))
    }

    private static func deadline(of file: borrowing OpenFile, _ environment: PINEnvironment) -> Deadline {
        // Who types is not to be hurried; what writes to a pipe may never do so.
        isatty(file.descriptor) == 1 ? .never : .after(environment.commandDeadline)
    }

    private static func readFile(
        _ path: String, _ purpose: PINPurpose, _ environment: PINEnvironment, isTrusted: Bool
    ) throws(KeychainError) -> SecretBytes {
        if let number = InheritedDescriptors.number(at: path), !InheritedDescriptors.contains(number) {
            throw NamedDescriptor.unavailable(number, named: "fd:\(number)", EBADF)
        }
        // Opening does not wait for the writer of a FIFO, who may never come. Reading does, until the deadline.
        guard let file = OpenFile(path: path, flags: O_RDONLY | O_NOCTTY | O_NONBLOCK) else {
            let error = KeychainError.file("read the \(purpose.secretName) from", path, errno)
            throw KeychainError(
                error.code, error.message,
                remedies: ["Check that file."]
                    + (purpose.remediesOfFailure.isEmpty ? purpose.remedies : purpose.remediesOfFailure),
                details: error.details, cause: error.cause)
        }
        // Through the open descriptor, so that what was looked at is what is read. A symbolic link is
        // followed: Kubernetes and systemd hand secrets out through them, and the target is checked.
        if !isTrusted {
            try PrivateFile.requirePrivate(try file.status(), path: path, alternative: .insecureFile)
        }
        // Whoever writes to a FIFO need not close it.
        let bytes = try file.read(
            limit: maximumLength + 3, by: deadline(of: file, environment), untilNewline: true)
        guard let line = bytes.firstLine(isComplete: bytes.count < maximumLength + 3) else {
            throw PINSource.file(path).tooLong
        }
        return line
    }

    /// `path` with the home directory in place of a tilde at its beginning.
    static func expanded(_ path: String) -> String {
        guard path.hasPrefix("~/"), let home = ProcessInfo.processInfo.environment["HOME"] else { return path }
        return home + path.dropFirst(1)
    }
}

extension SecretBytes {
    /// Without one trailing LF or CRLF.
    var withoutNewline: SecretBytes {
        let end = unsafe withUnsafeBytes { bytes in
            guard let last = unsafe bytes.last, last == 0x0A else { return bytes.count }
            guard let before = unsafe bytes.dropLast().last, before == 0x0D else { return bytes.count - 1 }
            return bytes.count - 2
        }
        return end == count ? self : prefix(end)
    }

    /// The bytes before the first LF or CRLF; `nil` where there is none and more could follow.
    func firstLine(isComplete: Bool) -> SecretBytes? {
        let newline = unsafe withUnsafeBytes { unsafe $0.firstIndex(of: 0x0A) }
        guard let newline else { return isComplete ? self : nil }
        return prefix(newline + 1).withoutNewline
    }
}

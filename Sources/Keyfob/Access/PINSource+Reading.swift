import Foundation
public import KeyfobPrimitives

extension PINSource {
    /// The maximum length of a PIN or passphrase, in bytes. A longer one is refused, never truncated.
    public static let maximumLength = 4096

    /// Reads the secret. Blocks for as long as the source takes, at most until its deadline.
    ///
    /// Commands, pipes and files have ``PINEnvironment/commandDeadline``. A person who types at a terminal has no
    /// deadline. Neither has a descriptor if there is a person to ask and no ``PINEnvironment/descriptorDeadline``: the
    /// program that writes to it may be waiting for that person.
    ///
    /// One trailing newline (LF or CRLF) is not part of the secret. From files and commands only the first line is
    /// read, unless the secret is a value to store, which may have several lines.
    ///
    /// - Parameters:
    ///   - purpose: The purpose of the secret, for prompts and errors.
    ///   - environment: The environment of the source.
    /// - Returns: The secret.
    /// - Throws: `KeychainError` with code `pinRequired` if a person has to be asked and cannot be, or the source is
    ///   empty; `unsafeFile` for a file that others can read; `fileUnavailable`; `timedOut`; `cancelled`;
    ///   `invalidArgument` for a secret that is too long; `refused` for sources that this version does not support;
    ///   `failed` for a command that fails.
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
                secret = try ShellCommand.secret(
                    of: command, hasLines: purpose.mayHaveLines, deadline: .after(environment.commandDeadline))
            } catch {
                throw error.with(remedies: error.remedies + purpose.remediesOfFailure)
            }
        case .credential(let name):
            guard let directory = environment.credentialsDirectory, !directory.isEmpty else {
                throw KeychainError(
                    .pinRequired, "there is no systemd credential \"\(name)\": CREDENTIALS_DIRECTORY is not set.",
                    hint: "Add to the unit: LoadCredentialEncrypted=\(name)")
            }
            // systemd provides credentials read-only, on a mount private to the service, which may run as another user
            // than the file's owner. So the mode says nothing about readers.
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

    /// The name of the source in messages. A command is left out, because people write secrets into commands.
    var name: String {
        if case .command = kind { return "the command of the PIN source" }
        return description
    }

    private var tooLong: KeychainError {
        KeychainError(
            .invalidArgument, "\(name) gives more than \(Self.maximumLength) bytes, which is the limit.",
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
        // For example gpg(1), which asks for a passphrase before it writes a decrypted file.
        let mayBeTyped = environment.hasPerson && environment.descriptorDeadline == nil
        return try file.read(limit: maximumLength + 3, by: mayBeTyped ? .never : deadline(of: file, environment))
    }

    private static func deadline(of file: borrowing OpenFile, _ environment: PINEnvironment) -> Deadline {
        // A person who types has no deadline; a program that writes to a pipe may never finish.
        isatty(file.descriptor) == 1 ? .never : .after(environment.commandDeadline)
    }

    private static func readFile(
        _ path: String, _ purpose: PINPurpose, _ environment: PINEnvironment, isTrusted: Bool
    ) throws(KeychainError) -> SecretBytes {
        if let number = InheritedDescriptors.number(at: path), !InheritedDescriptors.contains(number) {
            throw NamedDescriptor.unavailable(number, named: "fd:\(number)", EBADF)
        }
        // Opening does not wait for a writer of a FIFO, which may never come. Reading does, until the deadline.
        guard let file = OpenFile(path: path, flags: O_RDONLY | O_NOCTTY | O_NONBLOCK) else {
            throw KeychainError.file("read the \(purpose.secretName) from", path, errno).with(
                remedies: ["Check that file."]
                    + (purpose.remediesOfFailure.isEmpty ? purpose.remedies : purpose.remediesOfFailure))
        }
        // Check the open descriptor, so that the checked file is the one that is read. Symbolic links are followed,
        // because Kubernetes and systemd provide secrets through them; the target is checked.
        if !isTrusted {
            try PrivateFile.requirePrivate(try file.status(), path: path, alternative: .insecureFile)
        }
        // The writer of a FIFO need not close it, so read only up to the newline.
        let bytes = try file.read(
            limit: maximumLength + 3, by: deadline(of: file, environment), untilNewline: !purpose.mayHaveLines)
        guard let secret = bytes.secret(hasLines: purpose.mayHaveLines, isComplete: bytes.count < maximumLength + 3)
        else { throw PINSource.file(path).tooLong }
        return secret
    }

    /// Replaces a leading tilde in `path` with the home directory.
    static func expanded(_ path: String) -> String {
        guard path.hasPrefix("~/"), let home = ProcessInfo.processInfo.environment["HOME"] else { return path }
        return home + path.dropFirst(1)
    }
}

extension SecretBytes {
    /// The bytes without one trailing LF or CRLF.
    var withoutNewline: SecretBytes {
        let end = unsafe withUnsafeBytes { bytes in
            guard let last = unsafe bytes.last, last == 0x0A else { return bytes.count }
            guard let before = unsafe bytes.dropLast().last, before == 0x0D else { return bytes.count - 1 }
            return bytes.count - 2
        }
        return end == count ? self : prefix(end)
    }

    /// The secret in what a source gives: the first line, or all of it without one trailing newline.
    ///
    /// - Parameters:
    ///   - hasLines: Whether the secret is all of it.
    ///   - isComplete: Whether no bytes can follow.
    /// - Returns: The secret; `nil` if bytes that belong to it could follow.
    func secret(hasLines: Bool, isComplete: Bool) -> SecretBytes? {
        guard hasLines else { return firstLine(isComplete: isComplete) }
        return isComplete ? withoutNewline : nil
    }

    /// The bytes before the first LF or CRLF; `nil` if there is none and more bytes could follow.
    func firstLine(isComplete: Bool) -> SecretBytes? {
        let newline = unsafe withUnsafeBytes { unsafe $0.firstIndex(of: 0x0A) }
        guard let newline else { return isComplete ? self : nil }
        return prefix(newline + 1).withoutNewline
    }
}

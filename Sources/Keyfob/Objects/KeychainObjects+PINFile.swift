import CLinux
import Foundation
import KeyfobPrimitives

/// The file with the token's PIN, for programs that read it themselves.
extension KeychainObjects {
    /// The file that contains the token's PIN, protected only by its mode.
    public var pinFile: String? {
        guard keychain.configuration.sealedPIN == nil, let source = keychain.configuration.pinSource,
            source.hasPrefix("file:")
        else {
            return nil
        }
        // Other programs do not expand a tilde.
        return PINSource.expanded(String(source.dropFirst(5)))
    }

    /// The PIN file if it contains nothing but the PIN.
    var plainPINFile: String? {
        guard let pinFile, behindPIN(in: pinFile) == nil else { return nil }
        return pinFile
    }

    /// The error for a PIN file that must not be given to other programs; `nil` if there is no PIN file, or if it
    /// contains nothing but the PIN.
    ///
    /// Keyfob uses the first line. OpenSSL's pkcs11 engine also sends the newline, which is a wrong PIN at every use.
    package func pinFileObstacle() -> KeychainError? {
        guard let pinFile, let rest = behindPIN(in: pinFile) else { return nil }
        let what = rest.isNewline ? "ends in a newline" : "has more in it than the PIN"
        return KeychainError(
            .refused,
            "the PIN file \(pinFile) \(what), which other programs take for a part of the PIN: each use of it would be "
                + "a wrong try, and a few of those block a card.",
            hint: rest.isNewline
                ? "Take it off, which leaves the PIN as it is: truncate -s -\(rest.count) \(ShellWord.quoted(pinFile))"
                : "Leave nothing in it but the PIN, and no newline behind that.",
            details: ["path": pinFile])
    }

    /// The number of bytes after the PIN in a file, and whether they are only line ends; `nil` if there are none.
    private func behindPIN(in path: String) -> (count: Int, isNewline: Bool)? {
        // Our own has none, and lists ask for each key.
        guard path != keychain.configuration.pinFile.filePath,
            let file = OpenFile(path: path, flags: O_RDONLY | O_NOCTTY | O_NONBLOCK)
        else { return nil }
        // An unreadable file is an error when the PIN is needed. A file that is not regular, such as a pipe, can be
        // read only once.
        guard let status = try? file.status(), status.st_mode & S_IFMT == S_IFREG,
            let content = try? file.read(limit: PINSource.maximumLength + 3),
            let pin = content.firstLine(isComplete: true), pin.count < content.count
        else { return nil }
        let isNewline = unsafe content.withUnsafeBytes { bytes in
            unsafe bytes.dropFirst(pin.count).allSatisfy { byte in byte == 0x0A || byte == 0x0D }
        }
        return (content.count - pin.count, isNewline)
    }
}

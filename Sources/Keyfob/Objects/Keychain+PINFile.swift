import CLinux
import Foundation
import KeyfobPrimitives

/// The file of the token's PIN, for programs that are told where it is.
extension Keychain {
    /// The file that the token's PIN lies in, where it is protected by nothing but its mode.
    public var pinFile: String? {
        guard configuration.sealedPIN == nil, let source = configuration.pinSource, source.hasPrefix("file:") else {
            return nil
        }
        // Nobody else knows what a tilde means.
        return PINSource.expanded(String(source.dropFirst(5)))
    }

    /// The same, where there is nothing but the PIN in it.
    var plainPINFile: String? {
        guard let pinFile, behindPIN(in: pinFile) == nil else { return nil }
        return pinFile
    }

    /// The error for a PIN file that no other program shall be told of; `nil` where there is none, or it has the PIN
    /// and nothing else in it.
    ///
    /// Keyfob takes the first line. OpenSSL's pkcs11 engine sends the newline along: a wrong PIN at every use.
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

    /// How many bytes a PIN file has behind the PIN, and whether they are nothing but the end of a line; `nil` where
    /// there are none.
    private func behindPIN(in path: String) -> (count: Int, isNewline: Bool)? {
        // Our own has none, and lists ask for each key.
        guard path != configuration.pinFile.filePath,
            let file = OpenFile(path: path, flags: O_RDONLY | O_NOCTTY | O_NONBLOCK)
        else { return nil }
        // What cannot be read is an error where the PIN is needed. What is no file on a disk could be read only once.
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

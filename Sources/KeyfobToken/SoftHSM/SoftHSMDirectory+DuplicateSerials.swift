import CLinux
import Foundation
import KeyfobPrimitives

/// Tokens with the same serial number.
///
/// SoftHSM derives a slot's number from the serial number of its token, and ends the process when two tokens have the
/// same number. It opens every directory beside the tokens, whatever its name. So a copy of a token's directory made
/// there as a backup stops every keychain, not only its own.
extension SoftHSMDirectory {
    /// Refuses a directory that makes SoftHSM end the process. Call it before the module is loaded or initialized
    /// again.
    ///
    /// Costs one small read for each token.
    ///
    /// - Throws: `KeychainError` with code `tokenAmbiguous` if two tokens have the same serial number;
    ///   `fileUnavailable`.
    package func requireDistinctTokens() throws(KeychainError) { try requireDistinct(survey()) }

    /// Like `requireDistinctTokens()`, for a caller that has a survey. Reads only directories that SoftHSM has not
    /// named.
    package func requireDistinct(_ survey: Survey) throws(KeychainError) {
        let tokens = survey.tokens + survey.others.compactMap(strayToken)
        guard tokens.count > 1 else { return }
        for (_, alike) in Dictionary(grouping: tokens, by: \.serial) where alike.count > 1 {
            let found = alike.filter { isDirectory($0.directory.lastPathComponent) }
            guard found.count < 2 else { throw ambiguity(found) }
        }
    }

    /// The error for tokens that cannot be distinguished.
    package func ambiguity(_ tokens: [SoftHSMToken]) -> KeychainError {
        let serial = tokens.first?.serial ?? ""
        let labels = Set(tokens.map(\.label)).sorted().map { "\"\($0)\"" }.joined(separator: ", ")
        return KeychainError(
            .tokenAmbiguous, "there are \(tokens.count) tokens \(labels) with the serial number \(serial).",
            hint: "Move one of the directories away, to where SoftHSM does not look, out of "
                + "\(ShellWord.quoted(tokensDirectory.filePath)): "
                + tokens.map { ShellWord.quoted($0.directory.filePath) }.joined(separator: ", "),
            details: ["serial": serial, "path": tokensDirectory.filePath])
    }

    /// The token in a directory that SoftHSM has not named.
    private func strayToken(_ name: String) -> SoftHSMToken? {
        guard name != ".", name != "..", isDirectory(name) else { return nil }
        // Files that are readable by others count too. SoftHSM ignores a file that cannot be read at all.
        guard let file = try? SoftHSMFile(tokenFile(name).filePath, limit: TokenFile.maximumLength + 1),
            let content = TokenFile(file.bytes.copyBytes())
        else { return nil }
        return token(content, name)
    }

    /// Whether the entry is a directory and not a symbolic link, which SoftHSM does not follow.
    private func isDirectory(_ name: String) -> Bool {
        var status = stat()
        let path = tokensDirectory.appendingPathComponent(name, isDirectory: false).filePath
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}

import CLinux
import Foundation
import KeyfobPrimitives

/// Tokens that lie in the directory twice.
///
/// SoftHSM takes the number of a slot from its token's serial number, and ends the process when it comes to another
/// token of the same number. It opens every directory beside the tokens, whatever that is called: the backup of a token
/// that was copied there is enough, and stops every keychain, not only its own.
extension SoftHSMDirectory {
    /// Refuses a directory that SoftHSM cannot read. Call it before the module is loaded or initialised anew.
    ///
    /// Costs one small read for each token.
    ///
    /// - Throws: `tokenAmbiguous` where two tokens have one serial number; `fileUnavailable`.
    func requireDistinctTokens() throws(KeychainError) { try requireDistinct(survey()) }

    /// As `requireDistinctTokens()`, for a caller that has looked already: nothing more is read where SoftHSM has named
    /// all that is there.
    func requireDistinct(_ survey: Survey) throws(KeychainError) {
        let tokens = survey.tokens + survey.others.compactMap(strayToken)
        guard tokens.count > 1 else { return }
        for (_, alike) in Dictionary(grouping: tokens, by: \.serial) where alike.count > 1 {
            let found = alike.filter { isDirectory($0.directory.lastPathComponent) }
            guard found.count < 2 else { throw ambiguity(found) }
        }
    }

    /// The error of tokens that cannot be told apart.
    func ambiguity(_ tokens: [SoftHSMToken]) -> KeychainError {
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
        // Also where others may read it. What cannot be read at all is nothing to SoftHSM, either.
        guard let file = try? SoftHSMFile(tokenFile(name).filePath, limit: TokenFile.maximumLength + 1),
            let content = TokenFile(file.bytes.copyBytes())
        else { return nil }
        return token(content, name)
    }

    /// Whether it is a directory itself: SoftHSM follows no link to one.
    private func isDirectory(_ name: String) -> Bool {
        var status = stat()
        let path = tokensDirectory.appendingPathComponent(name, isDirectory: false).filePath
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}

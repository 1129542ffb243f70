import Foundation
import Keyfob

/// Describes Keyfob's own tokens that no keychain uses, and how to remove one.
enum UnusedTokens {
    /// One line for each such token, and one for each keychain whose removal was interrupted.
    ///
    /// - Parameter serials: The serial numbers of the tokens that are listed; `nil` for all tokens.
    /// - Throws: `KeychainError` if the keychains or the tokens cannot be read.
    static func lines(serials: [String]? = nil) throws -> [String] {
        let keychains = Keychains()
        let removals = try keychains.namesOfUnfinishedRemovals().map { name in
            "the removal of keychain \"\(TerminalSafe.text(name))\" was interrupted; finish it: keyfob keychain rm "
                + ShellWord.operand(name)
        }
        let tokens = try keychains.unnamedTokens().filter { serials?.contains($0.serial) ?? true }
        return removals + tokens.map { token in
            "no keychain uses token \"\(TerminalSafe.text(token.label))\" (serial \(TerminalSafe.text(token.serial))); "
                + "if its keys are not needed, remove it: rm -r \(ShellWord.quoted(token.directory.path))"
        }
    }
}

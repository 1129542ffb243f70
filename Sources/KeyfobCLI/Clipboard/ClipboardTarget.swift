import Foundation
import Keyfob
import KeyfobPrimitives

/// A clipboard, and how long a secret stays in it.
struct ClipboardTarget {
    let clipboard: Clipboard
    /// The time after which it is cleared; zero for never.
    let time: Duration

    /// Copies a secret, lets another process clear the clipboard later, and reports it.
    ///
    /// - Parameters:
    ///   - name: The name of the secret.
    ///   - members: The first members of the document.
    /// - Throws: `KeychainError.refused` for binary data; `failed` if the clipboard cannot be used.
    func copy(
        _ secret: SecretBytes, called name: String, _ members: Members, isDryRun: Bool, _ output: Output
    ) throws {
        guard SensitiveOutput.isReadable(secret) else {
            throw KeychainError(
                .refused, "binary data is not copied to the clipboard.", hint: "Write it to a file with -o FILE")
        }
        var end: Date?
        if !isDryRun {
            let copy = try ClipboardTimer.recordCopy()
            // Started first: a secret that is in the clipboard is cleared even if this process is killed.
            if time > .zero {
                try ClipboardTimer.start(clipboard, secret, copy: copy, after: time)
                end = Date() + time / .seconds(1)
            }
            try clipboard.copy(secret)
        }
        let document = Document(
            Effect(.none, isDryRun: isDryRun), members + ["copied": !isDryRun, "clears_at": end])
        let start = isDryRun ? "Would copy" : "Copied"
        let limit = time > .zero ? ", for \(Int((time / .seconds(1)).rounded(.up))) s" : ""
        try output.emit(document, sentence: "\(start) \(TerminalSafe.text(name)) to the clipboard\(limit).")
    }
}

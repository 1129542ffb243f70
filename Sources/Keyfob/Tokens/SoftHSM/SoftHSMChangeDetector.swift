import Foundation
import KeyfobPrimitives
import PKCS11

/// Tells from SoftHSM's own files whether anybody changed an object of a token.
///
/// SoftHSM writes an object's file on every creation and change and removes it with the object; size,
/// inode and times of the files say it all, at the cost of one `fstatat` for each.
final class SoftHSMChangeDetector: TokenChangeDetector {
    private let directory: SoftHSMDirectory
    private let serial: String
    private let label: String
    /// Where the token lies, once it was found: its directory keeps its name for life.
    private let found = Lock<SoftHSMToken?>(nil)

    init(directory: SoftHSMDirectory, uri: PKCS11URI) {
        self.directory = directory
        serial = uri.serial ?? ""
        label = uri.token ?? ""
    }

    func snapshot() -> TokenSnapshot? {
        guard let token = token() else { return nil }
        return ObjectListing.snapshot(of: token)
    }

    private func token() -> SoftHSMToken? {
        if let token = found.withLock({ $0 }) { return token }
        // A token whose files cannot be read cannot tell; the index is then not used.
        guard let token = (try? directory.token(serial: serial, label: label)) ?? nil else { return nil }
        found.withLock { $0 = token }
        return token
    }
}

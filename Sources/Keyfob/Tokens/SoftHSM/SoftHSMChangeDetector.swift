import Foundation
import PKCS11

/// Tells from SoftHSM's own files whether anybody changed an object of a token.
///
/// SoftHSM writes an object's file on every creation and change and removes it with the object; size,
/// inode and times of the files say it all, at the cost of one `fstatat` for each.
final class SoftHSMChangeDetector: TokenChangeDetector {
    private let directory: SoftHSMDirectory
    private let serial: String
    private let label: String

    init(directory: SoftHSMDirectory, uri: PKCS11URI) {
        self.directory = directory
        serial = uri.serial ?? ""
        label = uri.token ?? ""
    }

    func snapshot() -> TokenSnapshot? {
        // A token whose files cannot be read cannot tell; the index is then not used.
        // Who cannot look cannot tell: the caller asks the token instead.
        guard let token = (try? directory.token(serial: serial, label: label)) ?? nil,
            let listing = try? ObjectListing(of: token)
        else { return nil }
        return TokenSnapshot(
            versions: listing.files.mapValues { entry in
                Data(
                    entry.size.bigEndianBytes + entry.inode.bigEndianBytes + entry.modified.bigEndianBytes
                        + entry.changed.bigEndianBytes)
            })
    }
}

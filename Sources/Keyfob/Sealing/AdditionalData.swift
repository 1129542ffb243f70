import Foundation

/// The data that binds a ciphertext to its vault, row, class, version and purpose; it opens with no other.
struct AdditionalData: Sendable {
    /// The purpose of a ciphertext.
    enum Part: UInt8 {
        /// The attributes of an item.
        case attributes = 0x41
        /// The secret of an item.
        case secret = 0x53
        /// An entry of the index of token objects.
        case object = 0x4F
    }

    /// The parts in order: `"keyfob"`, format, part, vault, row, class and version; for attributes also the row's
    /// state.
    let bytes: [UInt8]

    /// Makes the additional data of a ciphertext.
    ///
    /// - Parameters:
    ///   - part: The purpose of the ciphertext.
    ///   - vault: The identity of the vault.
    ///   - row: The identity of the row.
    ///   - itemClass: The class of the item.
    ///   - version: The version of the row.
    ///   - state: The row's state, which is used only for attributes.
    init(
        _ part: Part, vault: Data, row: Data, itemClass: ItemClass? = nil, version: Int64 = 0,
        state: RowState = .live
    ) {
        var bytes = Array("keyfob".utf8)
        bytes.reserveCapacity(52)
        bytes.append(1)
        bytes.append(part.rawValue)
        bytes.append(contentsOf: vault)
        bytes.append(contentsOf: row)
        bytes.append(contentsOf: itemClass.map { Array($0.rawValue.utf8) } ?? [0, 0, 0, 0])
        bytes.append(contentsOf: version.bigEndianBytes)
        if part == .attributes { bytes.append(UInt8(truncatingIfNeeded: state.rawValue)) }
        self.bytes = bytes
    }

    /// The encoded JWE protected header of a secret: `{"enc":"A256GCM","keyfob":"…"}` with `bytes` in base64url.
    ///
    /// The binding is here and not in the member `aad`, which `jose` 11 computes differently from RFC 7516. The
    /// algorithm, the key id and their parameters are in the recipient's header, which is not protected. A new wrapping
    /// key therefore changes the recipients and not the ciphertext.
    var protectedHeader: String {
        Base64URL.encode(Array("{\"enc\":\"A256GCM\",\"keyfob\":\"\(Base64URL.encode(bytes))\"}".utf8))
    }

    /// The additional data of a JWE without `aad` (RFC 7516 section 5.1 step 14): the protected header.
    var jose: [UInt8] { Array(protectedHeader.utf8) }
}

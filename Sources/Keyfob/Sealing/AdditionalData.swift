import Foundation

/// What a ciphertext is bound to: moved to another vault, row, class, version or purpose, it does not open.
struct AdditionalData: Sendable {
    /// What the ciphertext is.
    enum Part: UInt8 {
        /// The attributes of an item.
        case attributes = 0x41
        /// The secret of an item.
        case secret = 0x53
        /// An entry of the index of token objects.
        case object = 0x4F
    }

    /// `"keyfob"`, the format, the part, the vault, the row, the class, the version; for attributes the row's state.
    let bytes: [UInt8]

    /// - Parameter state: The row's state, which is part of the additional data of attributes.
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

    /// The JWE protected header of a secret, encoded: `{"enc":"A256GCM","keyfob":"…"}` with `bytes` in base64url.
    ///
    /// The binding stands here and not in the member `aad`, which the stock `jose` 11 computes unlike RFC 7516.
    /// Algorithm, key id and their parameters stand in the recipient's header, which is not protected: so a new
    /// wrapping key changes the recipients and leaves the ciphertext as it is.
    var protectedHeader: String {
        Base64URL.encode(Array("{\"enc\":\"A256GCM\",\"keyfob\":\"\(Base64URL.encode(bytes))\"}".utf8))
    }

    /// The additional data as RFC 7516 section 5.1 step 14 has it for a JWE without `aad`: the protected header.
    var jose: [UInt8] { Array(protectedHeader.utf8) }
}

import Foundation

/// The labels of items on the token.
///
/// An object has one `CKA_LABEL`, and other tools go by it; of several items that share the object it is the label of
/// one, and the others keep theirs in their rows.
enum RowLabel {
    /// The one of the object, as the token has it or is about to have it.
    case object(AttributeValue?)
    /// The item's own, whatever the object is called.
    case own(AttributeValue?)
}

extension AttributeValue {
    /// What `CKA_LABEL` is for a label: the bytes of text, the decimal digits of a number.
    var labelBytes: Data? {
        guard case .number(let number) = self else { return bytes }
        return Data(String(number).utf8)
    }
}

extension ItemAttributes {
    /// The same with a label that is text where it was a number. Keychain Services gives labels back as they were
    /// given; for everybody else the label of an object is `CKA_LABEL`.
    var withTextLabel: ItemAttributes {
        guard case .number(let number) = self[.label] else { return self }
        var attributes = self
        attributes[.label] = .string(String(number))
        return attributes
    }

    /// Has the row of an object's item tell its label.
    mutating func setLabel(_ label: RowLabel) {
        switch label {
        case .own(let label):
            self[.hasOwnLabel] = .number(1)
            self[.label] = label
        case .object(let label):
            self[.hasOwnLabel] = nil
            // Bytes that are text and digits of a number come back from the token as text, and an empty label as none.
            self[.label] = TokenObject.label(reading: label?.labelBytes ?? Data()) == label ? nil : label
        }
    }

    /// The label of the item whose row has these attributes.
    ///
    /// - Parameter base: What the item is called after its object.
    func label(of object: TokenObject, base: AttributeValue?) -> AttributeValue? {
        if self[.hasOwnLabel] != nil { return self[.label] }
        // Another tool may have given the object another one meanwhile.
        guard let label = self[.label], label.labelBytes == object.label?.bytes ?? Data() else { return base }
        return label
    }
}

extension SealedRow {
    /// Has the row of an object's item tell another label, and nothing else.
    ///
    /// - Parameter label: Made of the attributes that the row has now.
    mutating func relabel(
        _ itemClass: ItemClass, of object: TokenObject, _ keys: VaultKeys, _ label: (ItemAttributes) throws -> RowLabel
    ) throws {
        var (_, attributes) = try keys.openAttributes(self)
        attributes.setLabel(try label(attributes))
        version += 1
        self.attributes = try keys.sealAttributes(attributes, of: itemClass, row: identity, version: version)
        terms = try keys.terms(itemClass, of: object, attributes)
    }
}

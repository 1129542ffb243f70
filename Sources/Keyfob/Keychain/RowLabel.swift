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

extension ItemAttributes {
    /// Has the row of an object's item tell its label.
    mutating func setLabel(_ label: RowLabel) {
        switch label {
        case .own(let label):
            self[.hasOwnLabel] = .number(1)
            self[.label] = label
        case .object(let label):
            self[.hasOwnLabel] = nil
            // Bytes that are text come back from the token as text, and an empty label as none.
            self[.label] = TokenObject.label(reading: label?.bytes ?? Data()) == label ? nil : label
        }
    }

    /// The label of the item whose row has these attributes.
    ///
    /// - Parameter base: What the item is called after its object.
    func label(of object: TokenObject, base: AttributeValue?) -> AttributeValue? {
        if self[.hasOwnLabel] != nil { return self[.label] }
        // Another tool may have given the object another one meanwhile.
        guard let label = self[.label], label.bytes == object.label?.bytes ?? Data() else { return base }
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

import Foundation

extension AttributeValue {
    /// What `CKA_LABEL` is for a label: the bytes of text, the decimal digits of a number.
    var labelBytes: Data? {
        guard case .number(let number) = self else { return bytes }
        return Data(String(number).utf8)
    }
}

extension ItemAttributes {
    /// The same with a label that is text where it was a number.
    ///
    /// Keychain Services gives a label back as it was given. All other callers see text.
    var withTextLabel: ItemAttributes {
        guard case .number(let number) = self[.label] else { return self }
        var attributes = self
        attributes[.label] = .string(String(number))
        return attributes
    }
}

package import Foundation

extension AttributeValue {
    /// The bytes of `CKA_LABEL` for a label: the bytes of text, or the decimal digits of a number.
    package var labelBytes: Data? {
        guard case .number(let number) = self else { return bytes }
        return Data(String(number).utf8)
    }
}

extension ItemAttributes {
    /// The attributes with a numeric label converted to text.
    ///
    /// Keychain Services returns a label in the form in which it was given. All other callers see text.
    package var withTextLabel: ItemAttributes {
        guard case .number(let number) = self[.label] else { return self }
        var attributes = self
        attributes[.label] = .string(String(number))
        return attributes
    }
}

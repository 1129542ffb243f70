/// Which place an attribute has in a list of attributes.
///
/// A list has a few dozen names of four characters each. To compare them all, as numbers, is less work than to hash
/// one, and a process that looks up a single password has no table of hashes to set up first.
package struct AttributeIndex: Sendable {
    private let codes: [UInt32]

    /// The places of `names`; of a name that stands there twice, the first.
    ///
    /// - Precondition: The names have four ASCII characters.
    package init(_ names: some Sequence<AttributeName>) {
        codes = names.map { name in
            guard let code = name.code else { preconditionFailure("attribute names have four ASCII characters") }
            return code
        }
    }

    /// The place of an attribute; `nil` where it is not in the list.
    package subscript(name: AttributeName) -> Int? {
        guard let code = name.code else { return nil }
        return codes.firstIndex(of: code)
    }
}

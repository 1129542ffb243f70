/// Maps attribute names to their positions in a list.
///
/// A list has a few dozen names of four characters. Comparing all of them as numbers is faster than hashing one, and a
/// process that looks up a single password need not build a hash table.
package struct AttributeIndex: Sendable {
    private let codes: [UInt32]

    /// Indexes `names`; a duplicate name gets its first position.
    ///
    /// - Precondition: The names have four ASCII characters.
    package init(_ names: some Sequence<AttributeName>) {
        codes = names.map { name in
            guard let code = name.code else { preconditionFailure("attribute names have four ASCII characters") }
            return code
        }
    }

    /// The position of an attribute; `nil` if it is not in the list.
    package subscript(name: AttributeName) -> Int? {
        guard let code = name.code else { return nil }
        return codes.firstIndex(of: code)
    }
}

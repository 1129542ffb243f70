/// The value of a parameter in a JOSE header.
package enum JOSEHeaderValue: Sendable, Hashable {
    /// A string.
    case string(String)
    /// An object of strings, such as the public key `epk`.
    case object([Member])

    /// A member of an object.
    package struct Member: Sendable, Hashable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }
}

/// The form of a value in a manifest.
package indirect enum Form: Sendable {
    /// Any text that is not empty and contains no PIN of a PKCS#11 URI.
    case text
    /// The name of an object: text that no command reads as a URI.
    case name
    /// The path of a file; a relative one starts at the directory of the manifest.
    case path
    case integer(ClosedRange<Int>)
    case flag
    case choice([String])
    /// A number and a unit, such as `90d`.
    case duration
    /// A part of a whole, such as `66%`.
    case percentage
    /// The mode of a file: three or four octal digits.
    case mode
    /// A source of a secret, with the prefixes that it may have.
    case source([String])
    case list(Form)
    case record(RecordForm)
    /// Names that the user chooses, each with a record.
    case map(RecordForm)
}

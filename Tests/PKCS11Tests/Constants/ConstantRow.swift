import PKCS11
import Testing

/// A name of the C header, with our constant for it and the header's value.
struct ConstantRow: CustomTestStringConvertible {
    let cName: String
    /// The name that we print; it differs if two C names have the same number.
    let printedName: String
    let ours: UInt
    let oursName: String
    let theirs: UInt

    init<Constant: RawRepresentable & CustomStringConvertible>(
        _ cName: String, _ printedName: String, _ ours: Constant, _ theirs: UInt
    ) where Constant.RawValue == UInt {
        self.cName = cName
        self.printedName = printedName
        self.ours = ours.rawValue
        self.oursName = ours.description
        self.theirs = theirs
    }

    var testDescription: String { cName }
}

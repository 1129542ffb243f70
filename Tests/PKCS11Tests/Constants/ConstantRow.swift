import PKCS11
import Testing

/// One name of the C header, with our constant for it and the header's value.
struct ConstantRow: CustomTestStringConvertible {
    let cName: String
    /// The name we print: another one, where two C names stand for one number.
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

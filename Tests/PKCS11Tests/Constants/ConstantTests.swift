@testable import PKCS11
import Testing

@Suite struct ConstantTests {
    @Test(
        "a constant has the number and the name of the C header",
        arguments: ConstantRow.returnValues + ConstantRow.objectClasses + ConstantRow.keyTypes
            + ConstantRow.certificateTypes + ConstantRow.attributeTypes + ConstantRow.mechanismTypes)
    func value(row: ConstantRow) {
        #expect(row.ours == row.theirs)
        #expect(row.oursName == row.printedName)
    }

    @Test func `the rows contain every name`() {
        #expect(Set(ConstantRow.returnValues.map(\.ours)) == Set(ReturnValue.names.keys))
        #expect(Set(ConstantRow.mechanismTypes.map(\.ours)) == Set(MechanismType.names.keys))
        #expect(Set(ConstantRow.attributeTypes.map(\.ours)) == Set(AttributeType.names.keys))
        #expect(Set(ConstantRow.keyTypes.map(\.ours)) == Set(KeyType.names.keys))
        #expect(ConstantRow.returnValues.count > 95)
        #expect(ConstantRow.mechanismTypes.count > 330)
        #expect(ConstantRow.attributeTypes.count > 105)
    }

    @Test func `an unknown number survives and prints in hexadecimal`() {
        #expect(ReturnValue(rawValue: 0x8000_0001).name == "0x80000001")
        #expect(MechanismType(rawValue: 0xDEAD_BEEF).description == "0xdeadbeef")
        #expect(AttributeType(rawValue: UInt.max).rawValue == UInt.max)
        #expect("\(KeyType(rawValue: 0x7777))" == "0x7777")
    }
}

@Suite struct RecoveryTests {
    @Test func `every declared return value has exactly one class`() {
        let members = ReturnValue.recoveryGroups.flatMap(\.members)
        #expect(Set(members.map(\.rawValue)) == Set(ReturnValue.names.keys))
        #expect(members.count == ReturnValue.names.count)
        #expect(ReturnValue.recoveryGroups.allSatisfy { !$0.reason.isEmpty })
    }

    @Test("Codes of vendors and unknown codes are final", arguments: [0x8000_0000, 0x8000_0001, 0x7777, UInt.max])
    func unknown(code: UInt) {
        #expect(ReturnValue(rawValue: code).recovery == .final)
        #expect(!ReturnValue(rawValue: code).breaksSession)
    }

    @Test(
        "a class is what the tokens were seen to need",
        arguments: [
            (.sessionHandleInvalid, .reopenSession), (.operationActive, .reopenSession),
            (.deviceRemoved, .reopenSession),
            (.deviceError, .reopenSession), (.generalError, .reopenSession), (.userNotLoggedIn, .logInAgain),
            (.hostMemory, .logInAgain), (.sessionReadOnly, .logInAgain), (.objectHandleInvalid, .lookUpAgain),
            (.keyHandleInvalid, .lookUpAgain), (.cryptokiNotInitialized, .reloadModule), (.sessionCount, .retry),
            (.pinIncorrect, .final), (.pinLocked, .final), (.signatureInvalid, .final), (.ok, .final),
        ] as [(ReturnValue, Recovery)])
    func recovery(value: ReturnValue, recovery: Recovery) {
        #expect(value.recovery == recovery)
    }

    @Test(
        "nothing about a PIN is ever repeated",
        arguments: ReturnValue.names.filter { $0.value.split(separator: "_").contains("PIN") })
    func pins(code: UInt, name: String) {
        #expect(ReturnValue(rawValue: code).recovery == .final)
    }
}

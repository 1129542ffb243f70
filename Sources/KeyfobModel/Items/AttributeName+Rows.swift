/// Names of attributes that rows and the index of objects have, and items have not.
extension AttributeName {
    package static let indexedClass = AttributeName(rawValue: "_cls")
    package static let indexedFlags = AttributeName(rawValue: "_flg")
    package static let indexedValue = AttributeName(rawValue: "_val")
    package static let indexedKeyType = AttributeName(rawValue: "_kty")
    package static let indexedPublicKey = AttributeName(rawValue: "_spk")
    /// In a row of the vault: `CKA_ID` of the row's object.
    package static let objectID = AttributeName(rawValue: "_cid")
    /// In a row of the vault: fingerprint of the row's object.
    package static let objectFingerprint = AttributeName(rawValue: "_fpr")
}

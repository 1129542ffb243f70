/// The token objects of an item. The model does not know their types.
extension Item {
    /// The object of a certificate or key; for an identity, the object of its private key.
    var object: TokenObject? {
        get { tokenObject as? TokenObject }
        set {
            tokenObject = newValue
            if itemClass == .certificate { parsedCertificate = newValue?.parsed.certificate }
        }
    }

    /// The certificate object of an identity.
    var certificateObject: TokenObject? {
        get { tokenCertificate as? TokenObject }
        set {
            tokenCertificate = newValue
            parsedCertificate = newValue?.parsed.certificate
        }
    }
}

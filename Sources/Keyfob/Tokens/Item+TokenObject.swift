/// The objects on the token behind an item, which the model does not know.
extension Item {
    /// The object behind a certificate or key, and behind an identity its private key's.
    var object: TokenObject? {
        get { tokenObject as? TokenObject }
        set {
            tokenObject = newValue
            if itemClass == .certificate { parsedCertificate = newValue?.parsed.certificate }
        }
    }

    /// The certificate's object behind an identity.
    var certificateObject: TokenObject? {
        get { tokenCertificate as? TokenObject }
        set {
            tokenCertificate = newValue
            parsedCertificate = newValue?.parsed.certificate
        }
    }
}

extension PKCS11URI {
    /// Whether a token is one that the URI may mean: every token attribute the URI has is the same.
    ///
    /// RFC 7512, section 2.5: attributes that the URI does not have are not compared.
    public func matches(_ info: TokenInfo) -> Bool {
        token ?? info.label == info.label
            && serial ?? info.serialNumber == info.serialNumber
            && manufacturer ?? info.manufacturer == info.manufacturer
            && model ?? info.model == info.model
    }

    /// Whether a module is one that the URI may mean: every library attribute the URI has is the same.
    public func matches(_ info: ModuleInfo) -> Bool {
        let version = LibraryVersion(major: info.libraryVersion.major, minor: info.libraryVersion.minor)
        return libraryManufacturer ?? info.manufacturer == info.manufacturer
            && libraryDescription ?? info.libraryDescription == info.libraryDescription
            && libraryVersion ?? version == version
    }

    /// What to search for on the token to find the objects that the URI names.
    public var objectTemplate: AttributeTemplate {
        var template = AttributeTemplate()
        if let type { template.append(.objectClass(type)) }
        if let object { template.append(.label(object)) }
        if let id { template.append(.id(id)) }
        return template
    }
}

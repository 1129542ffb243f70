import KeyfobPrimitives

extension PKCS11URI {
    /// Whether the URI's token attributes fit a token; what it does not name fits anything.
    ///
    /// Stands for `p11_kit_uri_match_token_info`.
    public func matches(_ info: TokenInfo) -> Bool {
        unrecognizedAttributes.isEmpty
            && Self.fits(token, info.label)
            && Self.fits(manufacturer, info.manufacturer)
            && Self.fits(model, info.model)
            && Self.fits(serial, info.serialNumber)
    }

    /// Whether the URI's library attributes fit a module.
    ///
    /// Stands for `p11_kit_uri_match_module_info`.
    public func matches(_ info: ModuleInfo) -> Bool {
        unrecognizedAttributes.isEmpty
            && Self.fits(libraryManufacturer, info.manufacturer)
            && Self.fits(libraryDescription, info.libraryDescription)
            && (libraryVersion.map { $0 == info.libraryVersion } ?? true)
    }

    /// Whether the URI's slot attributes fit a slot of the number `id`.
    ///
    /// Stands for `p11_kit_uri_match_slot_info`.
    public func matches(_ info: SlotInfo, id: UInt) -> Bool {
        unrecognizedAttributes.isEmpty
            && Self.fits(slotDescription, info.slotDescription)
            && Self.fits(slotManufacturer, info.manufacturer)
            && (slotID.map { $0 == id } ?? true)
    }

    /// Whether the URI names a slot, so that a search for a token must ask for slots' descriptions as well.
    public var namesSlot: Bool { slotID != nil || slotDescription != nil || slotManufacturer != nil }

    /// What to search for on the token: label, class and identifier, as far as the URI names them.
    ///
    /// Empty for a URI without object attributes, and an empty template finds every object. Look at
    /// `unrecognizedAttributes` first: a URI with any matches no object.
    public var objectTemplate: AttributeTemplate {
        var template = AttributeTemplate()
        if let type { template.append(.objectClass(type)) }
        if let object { template.append(.label(object)) }
        if let id { template.append(.id(id)) }
        return template
    }

    private static func fits(_ wanted: String?, _ actual: String) -> Bool {
        guard let wanted else { return true }
        // Byte by byte: Swift's == takes two spellings of an accented letter for one.
        return wanted.isIdentical(to: actual)
    }
}

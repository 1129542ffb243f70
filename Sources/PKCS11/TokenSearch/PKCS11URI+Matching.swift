import Foundation
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

    /// Whether the serial number is one that no other token of the module has: not only zeros.
    var hasOwnSerial: Bool { serial?.contains { $0 != "0" && $0 != " " } ?? false }

    /// The URI without the token's label; `nil` if the rest does not identify the token.
    ///
    /// The label of a card can change, for example with a certificate on it. Some modules give each token a serial
    /// number of zeros, so only the label distinguishes their tokens.
    package var ignoringLabel: PKCS11URI? {
        guard token != nil, manufacturer != nil, model != nil, hasOwnSerial else { return nil }
        var uri = self
        uri.token = nil
        return uri
    }

    /// Whether the URI names the token, or named it before its label changed.
    package func namesOrNamed(_ info: TokenInfo) -> Bool {
        matches(info) || ignoringLabel?.matches(info) ?? false && !isSibling(info.label)
    }

    /// Whether a label is that of another token of the same card: OpenSC shows a card with several PINs as several
    /// tokens, such as "card (User PIN)" and "card (Signature PIN)", all with the card's serial number.
    package func isSibling(_ label: String) -> Bool {
        func stem(_ label: String) -> Substring? {
            guard label.hasSuffix(")"), let start = label.range(of: " (", options: .backwards) else { return nil }
            return label[..<start.lowerBound]
        }
        guard let token, token != label, let own = stem(token) else { return false }
        return own == stem(label)
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

    /// Whether the URI's slot, library and module attributes fit a slot. Asks the module for what the URI names.
    ///
    /// - Parameter slot: The slot that the token is in.
    /// - Throws: `PKCS11Error` where the module does not say.
    public func matches(_ slot: Slot) throws(PKCS11Error) -> Bool {
        if namesSlot, try !matches(slot.info(), id: slot.id) { return false }
        if namesLibrary, try !matches(slot.module.info()) { return false }
        return matchesFile(of: slot.module)
    }

    /// Whether the URI's module name and path fit a module.
    ///
    /// The name is that of p11-kit's configuration, or the file's without `lib` and `.so`.
    private func matchesFile(of module: Module) -> Bool {
        let file = URL(fileURLWithPath: module.path).resolvingSymlinksInPath()
        if let modulePath {
            let wanted = URL(fileURLWithPath: modulePath).resolvingSymlinksInPath().path
            guard [file.path, file.deletingLastPathComponent().path].contains(wanted) else { return false }
        }
        guard let moduleName else { return true }
        let stem = file.deletingPathExtension().lastPathComponent
        let names = [module.name, stem, stem.hasPrefix("lib") ? String(stem.dropFirst(3)) : nil]
        return names.contains { $0?.isIdentical(to: moduleName) ?? false }
    }

    /// Whether the URI says something of the library.
    public var namesLibrary: Bool {
        libraryManufacturer != nil || libraryDescription != nil || libraryVersion != nil
    }

    /// Whether the URI says more than the token itself tells: something of its slot or its module.
    public var namesSlotOrModule: Bool { namesSlot || namesLibrary || moduleName != nil || modulePath != nil }

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

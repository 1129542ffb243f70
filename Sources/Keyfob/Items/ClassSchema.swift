import Foundation

/// What one class of items has: its attributes, their kinds, and the primary key.
///
/// The one place to add an attribute: a line in the table below is enough for it to be stored,
/// searched, updated and returned.
public final class ClassSchema: Sendable {
    /// The kind of an attribute decides which values it takes and what becomes of them.
    public enum Kind: Sendable, Hashable {
        /// Text, bytes or a number; comes back in the form in which it was given.
        case blob
        /// Bytes; text is taken as UTF-8.
        case data
        /// Text; UTF-8 bytes are taken as text.
        case string
        /// A number; decimal text is taken as a number, other text is kept.
        case number
        /// A moment.
        case date
    }

    /// One attribute of a class.
    public struct Definition: Sendable, Hashable {
        /// The attribute's name.
        public let name: AttributeName
        /// Its kind.
        public let kind: Kind
        /// Whether it is part of what makes an item unique.
        public let isPrimaryKey: Bool
        /// Whether searches by it alone are answered from an index.
        public let isIndexed: Bool
    }

    /// The class.
    public let itemClass: ItemClass
    /// The attributes, in the order of the table.
    public let definitions: [Definition]
    /// The primary key's attributes, in the order in which they are digested.
    public let primaryKey: [Definition]
    /// Pairs of attributes that are searched together so often that the pair has an index of its own.
    let pairs: [(AttributeName, AttributeName)]
    private let index: AttributeIndex

    /// The definition of an attribute, or `nil` where the class does not have it.
    public subscript(name: AttributeName) -> Definition? { index[name].map { definitions[$0] } }

    /// The kind of an attribute, or `nil` where the class does not have it.
    package func kind(of name: AttributeName) -> Kind? { index[name].map { definitions[$0].kind } }

    /// The schema of a class. An identity has the attributes of a certificate and of a key.
    public static func of(_ itemClass: ItemClass) -> ClassSchema {
        switch itemClass {
        case .genericPassword: genericPassword
        case .internetPassword: internetPassword
        case .certificate: certificate
        case .key: key
        case .identity: identity
        }
    }

    private init(_ itemClass: ItemClass, _ rows: [Row], pairs: [(AttributeName, AttributeName)] = []) {
        self.itemClass = itemClass
        self.pairs = pairs
        definitions = rows.map {
            Definition(
                name: $0.name, kind: $0.kind, isPrimaryKey: $0.flags.contains(.primaryKey),
                isIndexed: $0.flags.contains(.indexed))
        }
        primaryKey = definitions.filter(\.isPrimaryKey)
        index = AttributeIndex(definitions.map(\.name))
    }
}

// The attributes and primary keys of Apple's data-protection keychain, and attributes of Keyfob's own. An index
// costs one random page per added item, so only the attributes that scripts and programs search by have one.
extension ClassSchema {
    private struct Flags: OptionSet {
        let rawValue: Int
        static let primaryKey = Flags(rawValue: 1)
        static let indexed = Flags(rawValue: 2)
    }

    private struct Row {
        let name: AttributeName
        let kind: Kind
        let flags: Flags
        init(_ name: AttributeName, _ kind: Kind, _ flags: Flags = []) {
            self.name = name
            self.kind = kind
            self.flags = flags
        }
    }

    private static let common: [Row] = [
        Row(.accessGroup, .string, .primaryKey),
        Row(.synchronizable, .number, .primaryKey),
        Row(.syncViewHint, .string, .primaryKey),
        Row(.tokenID, .string, .primaryKey),
        Row(.multiUser, .data, .primaryKey),
        Row(.sharingGroup, .string, .primaryKey),
        Row(.accessible, .string),
        Row(.accessControl, .data),
        Row(.creationDate, .date),
        Row(.modificationDate, .date),
        Row(.tombstone, .number),
        Row(.systemBound, .number),
        Row(.plaintextService, .number), Row(.plaintextPublicKey, .blob), Row(.plaintextIdentity, .blob),
        Row(.program, .string),
    ]

    private static let password: [Row] = [
        Row(.label, .blob, .indexed),
        Row(.kind, .blob), Row(.comment, .blob), Row(.creator, .number), Row(.type, .number),
        Row(.scriptCode, .number), Row(.alias, .blob), Row(.isInvisible, .number), Row(.isNegative, .number),
        Row(.hasCustomIcon, .number), Row(.protected, .blob),
    ]

    private static let genericPassword = ClassSchema(
        .genericPassword,
        [
            Row(.account, .blob, [.primaryKey, .indexed]),
            Row(.service, .blob, [.primaryKey, .indexed]),
            Row(.generic, .blob),
        ] + password + common,
        pairs: [(.service, .account)])

    private static let internetPassword = ClassSchema(
        .internetPassword,
        [
            Row(.account, .blob, [.primaryKey, .indexed]),
            Row(.securityDomain, .blob, .primaryKey),
            Row(.server, .blob, [.primaryKey, .indexed]),
            Row(.protocol, .number, .primaryKey),
            Row(.authenticationType, .blob, .primaryKey),
            Row(.port, .number, .primaryKey),
            Row(.path, .blob, .primaryKey),
            Row(.extraNotes, .data), Row(.extraHistory, .data), Row(.clientDefined0, .data),
            Row(.clientDefined1, .data), Row(.clientDefined2, .data), Row(.clientDefined3, .data),
        ] + password + common,
        pairs: [(.server, .account)])

    private static let certificateRows: [Row] = [
        Row(.certificateType, .number, .primaryKey),
        Row(.issuer, .data, .primaryKey),
        Row(.serialNumber, .data, .primaryKey),
        Row(.certificateEncoding, .number),
        Row(.subject, .data),
        Row(.subjectKeyID, .data),
        Row(.publicKeyHash, .data),
        Row(.label, .blob), Row(.alias, .blob), Row(.comment, .blob),
        Row(.trustedUsages, .string), Row(.renewalPolicy, .data), Row(.preferredServices, .string),
        Row(.preferences, .data),
    ]

    private static let keyRows: [Row] = [
        Row(.keyClass, .number, .primaryKey),
        Row(.applicationLabel, .data, .primaryKey),
        Row(.applicationTag, .blob, .primaryKey),
        Row(.creator, .number, .primaryKey),
        Row(.type, .number, .primaryKey),
        Row(.keySizeInBits, .number, .primaryKey),
        Row(.effectiveKeySize, .number, .primaryKey),
        Row(.startDate, .date, .primaryKey),
        Row(.endDate, .date, .primaryKey),
        Row(.label, .blob), Row(.alias, .blob), Row(.comment, .blob),
        Row(.isPermanent, .number), Row(.isPrivate, .number), Row(.isModifiable, .number),
        Row(.isSensitive, .number), Row(.wasAlwaysSensitive, .number),
        Row(.isExtractable, .number), Row(.wasNeverExtractable, .number),
        Row(.canEncrypt, .number), Row(.canDecrypt, .number), Row(.canDerive, .number), Row(.canSign, .number),
        Row(.canVerify, .number), Row(.canSignRecover, .number), Row(.canVerifyRecover, .number),
        Row(.canWrap, .number), Row(.canUnwrap, .number),
    ]

    private static let certificate = ClassSchema(.certificate, certificateRows + common)
    private static let key = ClassSchema(.key, keyRows + common)
    private static let identity = ClassSchema(.identity, certificateRows + keyRows + common)
}

extension ClassSchema {
    /// Returns the value in the form that the attribute's kind keeps; see ``Kind`` for the conversions.
    ///
    /// - Throws: `KeychainError` with code `noSuchAttribute` where the class does not have the attribute,
    ///   and `invalidArgument` where the value is of a kind that it does not take.
    public func coerce(_ value: AttributeValue, for name: AttributeName) throws(KeychainError) -> AttributeValue {
        guard let definition = self[name] else {
            throw KeychainError(
                .noSuchAttribute, "items of class \(itemClass.rawValue) have no attribute \"\(name.rawValue)\".")
        }
        let coerced: AttributeValue? = switch (definition.kind, value) {
        case (.blob, .string), (.blob, .data), (.blob, .number): value
        case (.data, .data): value
        case (.data, .string(let text)): .data(Data(text.utf8))
        // As the number lies in the memory of every machine that Apple's keychain runs on.
        case (.data, .number(let number)): .data(Data(Int32(truncatingIfNeeded: number).bigEndianBytes.reversed()))
        case (.string, .string): value
        case (.string, .data): value.text.map { .string($0) }
        case (.number, .number): value
        // Only text that the number prints as: four digits with zeros in front are somebody's four-character code.
        case (.number, .string(let text)): Int64(text).flatMap { String($0) == text ? .number($0) : nil } ?? value
        case (.date, .date): value
        default: nil
        }
        guard let coerced else {
            throw KeychainError(
                .invalidArgument, "the value given for attribute \"\(name.rawValue)\" is of the wrong type.")
        }
        return coerced
    }

    /// All of `attributes` in the form the class keeps them.
    ///
    /// - Throws: What `coerce(_:for:)` throws, for the first attribute that is refused.
    public func coerce(_ attributes: ItemAttributes) throws(KeychainError) -> ItemAttributes {
        // Most come in the form in which they are kept.
        guard !attributes.allKinds({ isKept($1, as: $0) }) else { return attributes }
        var result = ItemAttributes()
        for (name, value) in attributes { result[name] = try coerce(value, for: name) }
        return result
    }

    /// Whether values of a kind stay as they are, whatever they are.
    private func isKept(_ kind: AttributeValue.Kind, as name: AttributeName) -> Bool {
        guard let kept = self.kind(of: name) else { return false }
        switch (kept, kind) {
        case (.blob, .string), (.blob, .data), (.blob, .number), (.data, .data), (.string, .string), (.number, .number),
            (.date, .date):
            return true
        default: return false
        }
    }

    /// What a member of the primary key counts as having where it is not set; `nil` for other attributes.
    func emptyValue(ofPrimaryKey name: AttributeName) -> AttributeValue? {
        guard let place = index[name], definitions[place].isPrimaryKey else { return nil }
        return Self.emptyValue(of: definitions[place].kind)
    }

    /// What stands in the primary key for an attribute that is not set: "absent" and "empty" are the same key.
    static func emptyValue(of kind: Kind) -> AttributeValue {
        switch kind {
        case .blob, .data, .string: .data(Data())
        case .number: .number(0)
        case .date: .date(Date(timeIntervalSinceReferenceDate: 0))
        }
    }
}

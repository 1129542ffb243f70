import Foundation
public import KeyfobSystem

/// The schema of an item class: its attributes, their kinds, and the primary key.
///
/// Attributes are defined only here: a line in the table below makes an attribute stored, searched, updated and
/// returned.
public final class ClassSchema: Sendable {
    /// The kind of an attribute, which determines the accepted values and their conversion.
    public enum Kind: Sendable, Hashable {
        /// Text, bytes or a number; returned in the form in which it was given.
        case blob
        /// Bytes; text is converted to UTF-8.
        case data
        /// Text; UTF-8 bytes are converted to text.
        case string
        /// A number; decimal text is converted to a number, other text is kept.
        case number
        /// A date.
        case date
    }

    /// One attribute of a class.
    public struct Definition: Sendable, Hashable {
        /// The attribute's name.
        public let name: AttributeName
        /// Its kind.
        public let kind: Kind
        /// Whether it is part of the primary key.
        public let isPrimaryKey: Bool
        /// Whether it has an index, which answers searches by this attribute alone.
        public let isIndexed: Bool
    }

    /// The class.
    public let itemClass: ItemClass
    /// The attributes, in the order of the table.
    public let definitions: [Definition]
    /// The attributes of the primary key, in the order in which they are digested.
    public let primaryKey: [Definition]
    /// Pairs of attributes that are often searched together and share an index.
    package let pairs: [(AttributeName, AttributeName)]
    private let index: AttributeIndex

    /// The definition of an attribute, or `nil` if the class does not have it.
    public subscript(name: AttributeName) -> Definition? { index[name].map { definitions[$0] } }

    /// The kind of an attribute, or `nil` if the class does not have it.
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

// The attributes and primary keys of Apple's data-protection keychain, and Keyfob's own attributes. An index costs one
// random page per added item, so only attributes that programs search by have one.
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
        Row(.program, .string), Row(.isProtectedItem, .number),
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
    /// Converts a value to the form of the attribute's kind; see ``Kind`` for the conversions.
    ///
    /// - Throws: `KeychainError` with code `noSuchAttribute` if the class does not have the attribute, and
    ///   `invalidArgument` if the attribute does not accept a value of this form.
    public func coerce(_ value: AttributeValue, for name: AttributeName) throws(KeychainError) -> AttributeValue {
        guard let definition = self[name] else {
            throw KeychainError(
                .noSuchAttribute, "items of class \(itemClass.rawValue) have no attribute \"\(name.rawValue)\".")
        }
        let coerced: AttributeValue? = switch (definition.kind, value) {
        case (.blob, .string), (.blob, .data), (.blob, .number): value
        case (.data, .data): value
        case (.data, .string(let text)): .data(Data(text.utf8))
        // The little-endian bytes of the number, as on every machine that runs Apple's keychain.
        case (.data, .number(let number)): .data(Data(Int32(truncatingIfNeeded: number).bigEndianBytes.reversed()))
        case (.string, .string): value
        case (.string, .data): value.text.map { .string($0) }
        case (.number, .number): value
        // Only canonical decimal text: four digits with leading zeros may be a four-character code.
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

    /// Converts all attributes to the forms of their kinds.
    ///
    /// - Throws: `KeychainError`; `noSuchAttribute` or `invalidArgument` for the first attribute that is refused.
    public func coerce(_ attributes: ItemAttributes) throws(KeychainError) -> ItemAttributes {
        var result = ItemAttributes()
        for (name, value) in attributes { result[name] = try coerce(value, for: name) }
        return result
    }

    /// The value that stands for a missing attribute of the primary key; `nil` for other attributes.
    package func emptyValue(ofPrimaryKey name: AttributeName) -> AttributeValue? {
        guard let place = index[name], definitions[place].isPrimaryKey else { return nil }
        return Self.emptyValue(of: definitions[place].kind)
    }

    /// The value that stands for a missing attribute in the primary key, in which absent and empty are equal.
    package static func emptyValue(of kind: Kind) -> AttributeValue {
        switch kind {
        case .blob, .data, .string: .data(Data())
        case .number: .number(0)
        case .date: .date(Date(timeIntervalSinceReferenceDate: 0))
        }
    }
}

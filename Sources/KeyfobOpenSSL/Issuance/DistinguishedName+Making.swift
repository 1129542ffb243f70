import Foundation

/// Creation of names for requests and certificates.
extension DistinguishedName {
    /// Creates a name from relative names in the order of the DER, with the most specific one last.
    ///
    /// Most relative names have one attribute. Values are encoded as UTF8String, except as RFC 5280 appendix A
    /// requires: country, serial number and qualifier as PrintableString, e-mail addresses and domain components as
    /// IA5String.
    ///
    /// - Throws: `CryptoError` (`invalidInput`) for a value that is empty, too long for its type (RFC 5280 appendix
    ///   A.1) or has characters that its type cannot hold, and for a type that is not an object identifier.
    public init(relativeNames: [[Attribute]]) throws {
        let sets = try relativeNames.map { attributes in
            guard !attributes.isEmpty else { throw CryptoError(.invalidInput, "a relative name needs an attribute") }
            return DERWriter.set(of: try attributes.map(Self.encoded))
        }
        try self.init(der: Data(DERWriter.sequence(of: sets)))
    }

    /// The name without attributes, for certificates that have only alternative names.
    public static var empty: DistinguishedName { get throws { try DistinguishedName(relativeNames: []) } }

    /// Creates a name with one common name.
    ///
    /// - Throws: `CryptoError` (`invalidInput`) if it is empty or has more than 64 characters.
    public init(commonName: String) throws {
        try self.init(relativeNames: [[Attribute(type: OID(rawValue: "2.5.4.3"), value: commonName)]])
    }

    /// Parses a name from text.
    ///
    /// The text has the form of RFC 4514, such as `CN=web,O=Example`, with the most specific attribute first; or the
    /// form of `openssl req -subj`, such as `/O=Example/CN=web`, with the most specific one last.
    ///
    /// Types are the usual short names, in any case, or object identifiers. A backslash escapes the next character, or
    /// two hexadecimal digits for a byte of UTF-8. In the first form it may only precede a special character or two
    /// digits. It is required before `"`, `+`, `,`, `;`, `<` and `>`, unless the value is in quotation marks (RFC 2253
    /// section 4). A value in that form may also be `#` and the DER of a string in hexadecimal.
    ///
    /// - Throws: `CryptoError` (`invalidInput`) for text of another form, and for types and values that cannot be
    ///   encoded.
    public init(parsing text: String) throws {
        let isSlashed = text.hasPrefix("/")
        let body = isSlashed ? text.dropFirst() : text[...]
        guard !body.isEmpty else { throw CryptoError(.invalidInput, "the name is empty") }
        let parts = try Self.split(body, at: isSlashed ? "/" : ",", hasQuotes: !isSlashed)
        let names = try parts.map { part in
            try Self.split(part, at: "+", hasQuotes: !isSlashed).map { pair -> Attribute in
                guard let equals = pair.unicodeScalars.firstIndex(of: "=") else {
                    throw CryptoError(.invalidInput, "each part of a name is TYPE=VALUE")
                }
                let type = try Self.type(pair[..<equals].trimmingSpaces)
                let value = pair[pair.unicodeScalars.index(after: equals)...]
                return Attribute(type: type, value: try isSlashed ? Self.unescaped(value, .slashed) : Self.value(value))
            }
        }
        try self.init(relativeNames: isSlashed ? names : names.reversed())
    }

    private static func encoded(_ attribute: Attribute) throws -> [UInt8] {
        guard let type = attribute.type.der else {
            throw CryptoError(.invalidInput, "the type is not an object identifier")
        }
        let octets = Array(attribute.value.utf8)
        guard !octets.isEmpty else { throw CryptoError(.invalidInput, "a value of a name is not empty") }
        let (tag, range): (UInt8, ClosedRange<Int>) = switch attribute.type.rawValue {
        case "2.5.4.6": (DERTag.printableString, 2...2)
        case "2.5.4.5", "2.5.4.46": (DERTag.printableString, 1...64)
        case "1.2.840.113549.1.9.1": (DERTag.ia5String, 1...255)
        case "0.9.2342.19200300.100.1.25": (DERTag.ia5String, 1...63)
        case "2.5.4.3", "2.5.4.10", "2.5.4.11": (DERTag.utf8String, 1...64)
        case "2.5.4.7", "2.5.4.8": (DERTag.utf8String, 1...128)
        default: (DERTag.utf8String, 1...32768)
        }
        guard range.contains(attribute.value.unicodeScalars.count) else {
            throw CryptoError(
                .invalidInput, "a value of type \(shortNames[attribute.type.rawValue] ?? attribute.type.rawValue) has "
                    + (range.lowerBound == range.upperBound
                        ? "\(range.upperBound) characters" : "at most \(range.upperBound) characters"))
        }
        let isFit = switch tag {
        case DERTag.printableString: octets.allSatisfy(isPrintable)
        case DERTag.ia5String: octets.allSatisfy { $0 < 0x80 }
        default: true
        }
        guard isFit else { throw CryptoError(.invalidInput, "a value has characters that its type cannot hold") }
        return DERWriter.sequence(type, DERWriter.element(tag, octets))
    }

    /// Whether an octet is a character of a PrintableString (X.680 section 41.4).
    private static func isPrintable(_ octet: UInt8) -> Bool {
        switch octet {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: Array(" '()+,-./:=?".utf8).contains(octet)
        }
    }

    private static func type(_ text: String) throws -> OID {
        let wanted = text.lowercased()
        if let known = shortNames.first(where: { $0.value.lowercased() == wanted }) { return OID(rawValue: known.key) }
        if let known = furtherNames[wanted] { return OID(rawValue: known) }
        let isNumber = wanted.utf8.allSatisfy { $0 == 0x2E || (0x30...0x39).contains($0) }
        guard isNumber, OID(rawValue: wanted).der != nil else {
            throw CryptoError(.invalidInput, "a type of a name is one of CN, O, OU, L, ST, C, … or an identifier")
        }
        return OID(rawValue: wanted)
    }

    /// Names of types that are accepted but not written.
    private static let furtherNames = [
        "e": "1.2.840.113549.1.9.1", "surname": "2.5.4.4", "givenname": "2.5.4.42", "businesscategory": "2.5.4.15",
        "postalcode": "2.5.4.17", "dnqualifier": "2.5.4.46", "organizationidentifier": "2.5.4.97",
    ]

    /// Splits text at separators that are not escaped and, with `hasQuotes`, not within quotation marks.
    ///
    /// It works on scalars, because a separator with a combining accent is a different `Character`.
    private static func split(_ text: Substring, at separator: Unicode.Scalar, hasQuotes: Bool) throws -> [Substring] {
        let scalars = text.unicodeScalars
        var parts: [Substring] = []
        var start = text.startIndex
        var position = start
        var isQuoted = false
        // The last scalar that is not a space. A quotation mark after "=" opens a quoted value; elsewhere it is part of
        // the value.
        var last: Unicode.Scalar?
        while position < text.endIndex {
            let (character, next) = (scalars[position], scalars.index(after: position))
            if character == "\\", next < text.endIndex {
                (position, last) = (scalars.index(after: next), character)
                continue
            }
            if character == "\"", hasQuotes, isQuoted || last == "=" { isQuoted.toggle() }
            if character == separator, !isQuoted {
                parts.append(text[start..<position])
                start = next
            }
            if character != " " { last = character }
            position = next
        }
        guard !isQuoted else { throw CryptoError(.invalidInput, "a quotation mark of the name is not closed") }
        parts.append(text[start...])
        guard parts.allSatisfy({ !$0.isEmpty }) else { throw CryptoError(.invalidInput, "a part of the name is empty") }
        return parts
    }

    /// Returns the text of a value: a string of RFC 4514, DER in hexadecimal, or a quoted string of RFC 2253.
    private static func value(_ text: Substring) throws -> String {
        let trimmed = text.unicodeScalars.drop { $0 == " " }
        if trimmed.first == "#" { return try decoded(hexadecimal: Substring(trimmed.dropFirst()).trimmingSpaces) }
        guard trimmed.first == "\"" else { return try unescaped(text, .plain) }
        let inside = trimmed.dropFirst()
        var end = inside.startIndex
        while end < inside.endIndex, inside[end] != "\"" {
            let count = inside[end] == "\\" ? 2 : 1
            end = inside.index(end, offsetBy: count, limitedBy: inside.endIndex) ?? inside.endIndex
        }
        guard Substring(inside[end...]).trimmingSpaces == "\"" else {
            throw CryptoError(.invalidInput, "a value in quotation marks ends with the second one")
        }
        return try unescaped(Substring(inside[..<end]), .quoted)
    }

    /// Returns the text of a string in hexadecimal DER.
    private static func decoded(hexadecimal text: String) throws -> String {
        let digits = Array(text.utf8)
        // Digit by digit, because parsing an integer would accept a sign.
        let values = digits.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        let octets = stride(from: 0, to: values.count - 1, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
        do {
            var reader = DERReader(octets[...])
            let element = try reader.next()
            guard reader.isAtEnd, octets.count * 2 == digits.count, let value = string(of: element) else {
                throw DERError()
            }
            return value
        } catch {
            throw CryptoError(
                .invalidInput,
                "a value that begins with # is the DER of a string; with a backslash before it, it is text")
        }
    }

    /// The notation of a value.
    private enum Form {
        /// The form of `openssl req -subj`, which accepts any character.
        case slashed
        /// The form of RFC 4514.
        case plain
        /// The inside of quotation marks (RFC 2253 section 4).
        case quoted
    }

    /// The characters that a backslash may precede (RFC 4514 section 3, pair).
    private static let escapable = Array(" \"#+,;<=>\\".utf8)
    /// The characters that require a backslash. Separators have been split off already.
    private static let reserved = Array("\"+,;<>".utf8)

    /// Returns the text of a value.
    ///
    /// Surrounding spaces are removed, unless they are escaped or within quotation marks.
    private static func unescaped(_ text: Substring, _ form: Form) throws -> String {
        let isWhole = form == .quoted
        var octets: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while !isWhole, rest.first == 0x20 { rest.removeFirst() }
        // A space after an odd number of backslashes is escaped.
        while !isWhole, rest.last == 0x20,
            rest.dropLast().reversed().prefix(while: { $0 == 0x5C }).count.isMultiple(of: 2)
        { rest.removeLast() }
        while let octet = rest.popFirst() {
            guard octet == 0x5C else {
                guard form != .plain || !reserved.contains(octet) else {
                    throw CryptoError(.invalidInput, "a value of the name has one of \"+,;<> without a backslash")
                }
                octets.append(octet)
                continue
            }
            let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            if digits.count == 2 {
                octets.append(UInt8(digits[0] << 4 | digits[1]))
                rest.removeFirst(2)
            } else if let next = rest.popFirst() {
                guard form == .slashed || escapable.contains(next) else {
                    throw CryptoError(
                        .invalidInput,
                        "a backslash stands before a special character of a name or two hexadecimal digits")
                }
                octets.append(next)
            } else {
                throw CryptoError(.invalidInput, "the name ends in a backslash")
            }
        }
        guard let value = String(validating: octets, as: UTF8.self) else {
            throw CryptoError(.invalidInput, "a value of the name is not UTF-8")
        }
        return value
    }
}

extension Substring {
    /// The text without spaces at both ends. Other white space belongs to a value.
    fileprivate var trimmingSpaces: String {
        var text = self
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}

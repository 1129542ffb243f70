import Foundation

/// Names that are to be written into requests and certificates.
extension DistinguishedName {
    /// A name of relative names in the order of the DER, the most specific one last, each mostly of one attribute.
    ///
    /// Values are written as UTF8String; country, serial number and qualifier as PrintableString, e-mail addresses and
    /// domain components as IA5String, as RFC 5280 appendix A asks for.
    ///
    /// - Throws: `CryptoError` (`invalidInput`) for a value that is empty, too long for its type (RFC 5280 appendix
    ///   A.1) or has characters that its type cannot hold, and for a type that is no object identifier.
    public init(relativeNames: [[Attribute]]) throws {
        let sets = try relativeNames.map { attributes in
            guard !attributes.isEmpty else { throw CryptoError(.invalidInput, "a relative name needs an attribute") }
            return DERWriter.set(of: try attributes.map(Self.encoded))
        }
        try self.init(der: Data(DERWriter.sequence(of: sets)))
    }

    /// The name without any attribute, for certificates that say in their alternative names whom they are for.
    public static var empty: DistinguishedName { get throws { try DistinguishedName(relativeNames: []) } }

    /// A name of one common name.
    ///
    /// - Throws: As `init(relativeNames:)`; a common name has at most 64 characters.
    public init(commonName: String) throws {
        try self.init(relativeNames: [[Attribute(type: OID(rawValue: "2.5.4.3"), value: commonName)]])
    }

    /// A name from text: RFC 4514, such as `CN=web,O=Example`, most specific first; or as `openssl req -subj` takes
    /// it, such as `/O=Example/CN=web`, most specific last.
    ///
    /// Types are the usual short names, in any case, or object identifiers. A backslash takes the next character as it
    /// is, or two hexadecimal digits for a byte of UTF-8. In the first form it stands before a special character or two
    /// digits and nothing else, and has to before `"`, `+`, `,`, `;`, `<` and `>`, unless the value is in quotation
    /// marks (RFC 2253 4); and a value may be the DER of a string in hexadecimal after `#`.
    ///
    /// - Throws: `CryptoError` (`invalidInput`) for text of another form, and as `init(relativeNames:)`.
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
        guard let type = attribute.type.der else { throw CryptoError(.invalidInput, "the type is no identifier") }
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

    /// The characters of a PrintableString (X.680 41.4).
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

    /// Names of types that are read and not written.
    private static let furtherNames = [
        "e": "1.2.840.113549.1.9.1", "surname": "2.5.4.4", "givenname": "2.5.4.42", "businesscategory": "2.5.4.15",
        "postalcode": "2.5.4.17", "dnqualifier": "2.5.4.46", "organizationidentifier": "2.5.4.97",
    ]

    /// The parts between separators that no backslash stands before and, with `hasQuotes`, that are not in a value
    /// in quotation marks.
    ///
    /// By scalars: to a `Character`, a separator with an accent behind it is another letter.
    private static func split(_ text: Substring, at separator: Unicode.Scalar, hasQuotes: Bool) throws -> [Substring] {
        let scalars = text.unicodeScalars
        var parts: [Substring] = []
        var start = text.startIndex
        var position = start
        var isQuoted = false
        // The last one that is no blank: a quotation mark opens a value, or is a letter in it.
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

    /// A value of RFC 4514: a string, DER in hexadecimal, or what RFC 2253 has besides, a string in quotation marks.
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

    /// The text of a string in DER.
    private static func decoded(hexadecimal text: String) throws -> String {
        let digits = Array(text.utf8)
        // Digit by digit: what reads whole numbers takes a sign for one.
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

    /// How a value is written.
    private enum Form {
        /// As `openssl req -subj` takes it, which lets everything pass.
        case slashed
        /// As RFC 4514 has it.
        case plain
        /// The inside of quotation marks (RFC 2253 4).
        case quoted
    }

    /// What a backslash may stand before (RFC 4514 3, pair).
    private static let escapable = Array(" \"#+,;<=>\\".utf8)
    /// What a value has a backslash before; the separators have been taken for such already.
    private static let reserved = Array("\"+,;<>".utf8)

    /// The text of a value. Blanks around it are part of one in quotation marks, and else of none, unless a backslash
    /// stands before them.
    private static func unescaped(_ text: Substring, _ form: Form) throws -> String {
        let isWhole = form == .quoted
        var octets: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while !isWhole, rest.first == 0x20 { rest.removeFirst() }
        // A backslash that has one before it is the end of what that one began.
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
    /// Without the spaces at both ends; other white space belongs to a value.
    fileprivate var trimmingSpaces: String {
        var text = self
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}

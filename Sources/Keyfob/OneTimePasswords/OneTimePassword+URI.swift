import Foundation
package import KeyfobPrimitives

/// The form in which services show a seed: `otpauth://totp/ISSUER:ACCOUNT?secret=SEED&issuer=ISSUER&…`.
extension OneTimePassword {
    /// The longest text that is read; a QR code holds at most 4296 characters.
    private static let maximumLength = 8192

    /// Creates a generator from an `otpauth` URI, or from a bare seed in base32. White space around it is ignored.
    ///
    /// - Throws: `KeychainError.unsupportedFormat` for anything else, and for counter-based passwords. The error never
    ///   repeats a part of the text.
    package init(parsing text: SecretBytes) throws(KeychainError) {
        guard text.count <= Self.maximumLength else { throw Self.malformed("it is longer than any setup") }
        let text = text.trimmingWhiteSpace
        guard !text.isEmpty else { throw Self.malformed("it is empty") }
        guard let colon = text.firstRange(of: "://") else {
            try self.init(base32: text)
            return
        }
        switch text[0..<colon.lowerBound].copyString()?.lowercased() {
        case "otpauth": break
        case "otpauth-migration":
            throw Self.malformed("it is an export of Google Authenticator; export each account from its service")
        default: throw Self.malformed("the URI does not begin with otpauth://")
        }
        try self.init(rest: text.suffix(from: colon.upperBound))
    }

    /// - Parameter rest: The URI after its scheme.
    private init(rest: SecretBytes) throws(KeychainError) {
        // Authenticators ignore a fragment, as URIs have it.
        let rest = rest.split(at: "#")[0]
        let parts = rest.split(at: "?")
        let place = parts[0].split(at: "/")
        switch place[0].copyString()?.lowercased() {
        case "totp": break
        case "hotp":
            throw KeychainError(
                .unsupportedFormat,
                "counter-based one-time passwords (hotp) are not supported, only time-based ones (totp); "
                    + "nothing was changed.",
                hint: "Choose an authenticator app in the settings of the service, if it offers one.")
        default: throw Self.malformed("its type is not totp")
        }
        var values: [Parameter: SecretBytes] = [:]
        for part in parts.count > 1 ? parts[1].split(at: "&", all: true) : [] {
            let pair = part.split(at: "=")
            // Services add parameters of their own, such as the address of an image.
            guard let name = pair[0].copyString(), let parameter = Parameter(rawValue: name.lowercased()) else {
                continue
            }
            guard parameter != .encoder else { throw Self.malformed("its codes are not plain digits") }
            guard pair.count > 1, let value = pair[1].percentDecoded else {
                throw Self.malformed("the parameter \(parameter.rawValue) has no valid value")
            }
            guard values.updateValue(value, forKey: parameter) == nil else {
                throw Self.malformed("it has the parameter \(parameter.rawValue) twice")
            }
        }
        guard let seed = values[.secret] else { throw Self.malformed("the parameter secret is missing") }
        try self.init(base32: seed)
        if let text = values[.algorithm] {
            guard let algorithm = text.copyString().flatMap({ Algorithm(rawValue: $0.uppercased()) }) else {
                throw Self.malformed("its algorithm is none of SHA1, SHA256 and SHA512")
            }
            self.algorithm = algorithm
        }
        digits = try Self.number(values[.digits], in: 6...8, usually: 6, "digits")
        period = try Self.number(values[.period], in: 1...86_400, usually: 30, "period")
        if let issuer = try values[.issuer].map(Self.readable), !issuer.isEmpty { self.issuer = issuer }
        if place.count > 1 { try setLabel(place[1]) }
    }

    /// The parameters that determine the codes, or describe them.
    private enum Parameter: String {
        case secret, issuer, algorithm, digits, period, encoder
    }

    /// Sets the account, and the issuer unless it is known, from `ISSUER:ACCOUNT` or from the account alone.
    private mutating func setLabel(_ encoded: SecretBytes) throws(KeychainError) {
        guard let decoded = encoded.percentDecoded else { throw Self.malformed("its name has a wrong %-encoding") }
        let text = try Self.readable(decoded)
        // An issuer may contain a colon.
        let known = issuer.map { $0 + ":" }.flatMap { text.utf8.starts(with: $0.utf8) ? $0.utf8.count : nil }
        let end = known.map { text.utf8.index(text.startIndex, offsetBy: $0 - 1) } ?? text.utf8.firstIndex(of: 0x3A)
        guard let end else { return setAccount(text) }
        let name = String(decoding: text.utf8[..<end], as: UTF8.self).trimmingBlanks
        if issuer == nil, !name.isEmpty { issuer = name }
        setAccount(String(decoding: text.utf8[text.utf8.index(after: end)...], as: UTF8.self))
    }

    private mutating func setAccount(_ text: String) {
        let name = text.trimmingBlanks
        if !name.isEmpty { account = name }
    }

    private static func readable(_ value: SecretBytes) throws(KeychainError) -> String {
        guard let text = value.copyString(),
            !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { throw malformed("its issuer or account is not readable text") }
        return text
    }

    private static func number(
        _ value: SecretBytes?, in range: ClosedRange<Int>, usually usual: Int, _ name: String
    ) throws(KeychainError) -> Int {
        guard let value else { return usual }
        guard let text = value.copyString(), !text.isEmpty, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
            let number = Int(text), range.contains(number)
        else {
            throw malformed("the parameter \(name) is not a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// The URI with all settings, from which an equal generator can be made.
    package var uri: SecretBytes {
        let name = (issuer.map { Self.encoded($0) + ":" } ?? "") + Self.encoded(account ?? "")
        let service = issuer.map { "&issuer=" + Self.encoded($0) } ?? ""
        return SecretBytes(joining: [
            SecretBytes(utf8: "otpauth://totp/\(name)?secret="), encodedSeed,
            SecretBytes(utf8: "\(service)&algorithm=\(algorithm.rawValue)&digits=\(digits)&period=\(period)"),
        ])
    }

    /// Encodes all characters but those that RFC 3986 leaves alone everywhere.
    private static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            let isPlain = Unicode.Scalar(byte).properties.isAlphabetic && byte < 0x80
            return isPlain || "0123456789-._~@".utf8.contains(byte)
                ? String(Unicode.Scalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }.joined()
    }
}

/// Splitting a text that contains a seed, without copies that are not wiped.
extension SecretBytes {
    fileprivate func firstRange(of text: String) -> Range<Int>? {
        let wanted = Array(text.utf8)
        return unsafe withUnsafeBytes { bytes in
            guard bytes.count >= wanted.count else { return nil }
            let start = (0...bytes.count - wanted.count).first { start in
                wanted.indices.allSatisfy { unsafe bytes[start + $0] == wanted[$0] }
            }
            return start.map { $0..<$0 + wanted.count }
        }
    }

    /// The parts before and after the first separator, or with `all`, between all of them. At least one.
    fileprivate func split(at separator: String, all: Bool = false) -> [SecretBytes] {
        var (parts, rest) = ([SecretBytes](), self)
        while let found = rest.firstRange(of: separator) {
            parts.append(rest[0..<found.lowerBound])
            rest = rest.suffix(from: found.upperBound)
            guard all else { break }
        }
        return parts + [rest]
    }

    fileprivate var trimmingWhiteSpace: SecretBytes {
        let range = unsafe withUnsafeBytes { bytes -> Range<Int> in
            let isText = { (index: Int) in unsafe bytes[index] > 0x20 }
            guard let first = bytes.indices.first(where: isText), let last = bytes.indices.last(where: isText) else {
                return 0..<0
            }
            return first..<last + 1
        }
        return self[range]
    }

    /// The bytes with `%` and two hexadecimal digits replaced by the byte they stand for; `nil` for a wrong encoding.
    fileprivate var percentDecoded: SecretBytes? {
        unsafe withUnsafeBytes { bytes -> SecretBytes? in
            var (count, isValid) = (0, true)
            let decoded = unsafe SecretBytes(count: bytes.count) { target in
                var index = 0
                while index < bytes.count, isValid {
                    var byte = unsafe bytes[index]
                    if byte == UInt8(ascii: "%") {
                        let digits = unsafe bytes[(index + 1)...].prefix(2).compactMap {
                            Character(Unicode.Scalar($0)).hexDigitValue
                        }
                        isValid = digits.count == 2
                        if isValid { byte = UInt8(digits[0] * 16 + digits[1]) }
                        index += 2
                    }
                    index += 1
                    unsafe target[count] = byte
                    count += 1
                }
            }
            return isValid ? decoded.prefix(count) : nil
        }
    }
}

import Foundation
import KeyfobPrimitives

/// Decoding of the output of `JSONEncoder`, with dates in ISO 8601.
extension KeychainConfiguration {
    /// Reads a configuration from a file's text; `nil` if a member is missing or has an unexpected type.
    ///
    /// Members with unknown names belong to later versions and are ignored.
    ///
    /// - Parameters:
    ///   - bytes: The text.
    ///   - directory: The directory of the file.
    init?(json bytes: [UInt8], in directory: URL) {
        guard let file = JSONText(bytes), let schema = file["schema"]?.text, let name = file["name"]?.text,
            let uuid = file["uuid"]?.text.flatMap(UUID.init(uuidString:)), let token = file["token"]?.text,
            let module = file["module"].flatMap(ModuleLocation.init),
            let unlockTimeout = file["unlockTimeout"]?.integer,
            let created = file["created"]?.text.flatMap(Self.date)
        else { return nil }
        self.directory = directory
        self.schema = schema
        self.name = name
        self.uuid = uuid
        self.token = token
        self.module = module
        self.unlockTimeout = unlockTimeout
        self.created = created
        if let value = file["newName"] {
            guard let text = value.text else { return nil }
            newName = text
        }
        if let value = file["unlockOnUse"] {
            guard case .boolean(let flag) = value else { return nil }
            unlockOnUse = flag
        }
        if let source = file["pinSource"] {
            guard let text = source.text else { return nil }
            pinSource = resolved(pinSource: text)
        }
        if let value = file["sealedPIN"] {
            guard let seal = PassphraseSeal(value) else { return nil }
            sealedPIN = seal
        }
        if let value = file["recoverySeal"] {
            guard let seal = PassphraseSeal(value) else { return nil }
            recoverySeal = seal
        }
        if let value = file["accessGroups"] {
            guard case .array(let groups) = value else { return nil }
            let names = groups.compactMap(\.text)
            guard names.count == groups.count else { return nil }
            accessGroups = names
        }
        if let value = file["wrappingKeyID"] {
            guard let text = value.text else { return nil }
            wrappingKeyID = text
        }
        if let value = file["wrapSuite"] {
            guard let text = value.text else { return nil }
            wrapSuite = text
        }
    }

    /// Returns the time that a text such as `2026-11-21T14:34:37Z` states.
    ///
    /// Foundation's formatters would first load the time zones and the calendars, which takes 0.4 ms.
    private static func date(_ text: String) -> Date? {
        let bytes = Array(text.utf8)
        guard bytes.count == 20 else { return nil }
        for (index, mark) in [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":"), (19, "Z")] as [(Int, Unicode.Scalar)]
        where bytes[index] != UInt8(ascii: mark) { return nil }
        var numbers: [Int] = []
        for range in [0..<4, 5..<7, 8..<10, 11..<13, 14..<16, 17..<19] {
            var number = 0
            for byte in bytes[range] {
                guard 0x30...0x39 ~= byte else { return nil }
                number = number * 10 + Int(byte - 0x30)
            }
            numbers.append(number)
        }
        return CivilDate(
            year: numbers[0], month: numbers[1], day: numbers[2], hour: numbers[3], minute: numbers[4],
            second: numbers[5]
        ).map { Date(timeIntervalSince1970: Double($0.secondsSince1970)) }
    }
}

extension ModuleLocation {
    /// Reads the form that the compiler encodes for an enumeration: an object with the case, which holds the associated
    /// values.
    fileprivate init?(_ value: JSONText) {
        guard case .object(let members) = value, members.count == 1, let member = members.first,
            case .object = member.value
        else { return nil }
        let content = member.value
        switch member.name {
        case "softHSM": self = .softHSM
        case "path":
            guard let path = content["_0"]?.text else { return nil }
            if let parameters = content["parameters"] {
                guard let text = parameters.text else { return nil }
                self = .path(path, parameters: text)
            } else {
                self = .path(path)
            }
        case "registered":
            guard let name = content["_0"]?.text else { return nil }
            self = .registered(name)
        default: return nil
        }
    }
}

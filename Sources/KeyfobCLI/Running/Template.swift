import Foundation
import Keyfob
import KeyfobPrimitives

/// A text with references: `{{ keyfob://ITEM }}`, or bare `keyfob://ITEM`.
///
/// A bare reference ends before the first character that is not an ASCII letter, a digit or one of `-._~%/?=&:@+`. A
/// name with other characters, such as a blank, needs the braces. Braces without a reference stay as they are, because
/// they belong to another program.
struct Template {
    /// A part of a template.
    enum Part {
        case text(Range<Int>)
        /// The reference, and the offset of its scheme.
        case reference(SecretReference, Int)
    }

    let parts: [Part]
    private let bytes: [UInt8]
    /// The name of the file, for errors.
    private let file: String

    /// Finds the references in `content`.
    ///
    /// - Parameter file: The name of the file, for errors.
    /// - Throws: `KeychainError.invalidArgument` with line and column for a malformed reference or unclosed braces.
    init(_ content: [UInt8], file: String) throws {
        bytes = content
        self.file = file
        var parts: [Part] = []
        var (index, start) = (0, 0)
        while index < content.count {
            guard let found = try Self.reference(at: index, in: content, file: file) else {
                index += 1
                continue
            }
            if start < index { parts.append(.text(start..<index)) }
            parts.append(.reference(found.reference, found.start))
            (index, start) = (found.end, found.end)
        }
        if start < content.count { parts.append(.text(start..<content.count)) }
        self.parts = parts
    }

    /// The references in their order.
    var references: [SecretReference] {
        parts.compactMap { if case .reference(let reference, _) = $0 { reference } else { nil } }
    }

    /// Returns the text with the value of each reference in its place.
    ///
    /// - Throws: The errors of `value`, with line and column.
    func filled(with value: (SecretReference) throws -> SecretBytes) throws -> SecretBytes {
        SecretBytes(
            joining: try parts.map { part in
                switch part {
                case .text(let range): SecretBytes(bytes[range])
                case .reference(let reference, let start):
                    try SourcePosition.naming(file, offset: start, in: bytes) { try value(reference) }
                }
            })
    }

    /// The characters of a bare reference.
    private static let bare = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%/?=&:@+".utf8)
    private static let scheme = Array(SecretReference.scheme.utf8)

    /// The reference that begins at an offset, in braces or bare.
    ///
    /// - Returns: `nil` if none begins there. Otherwise also the offsets of its scheme and of its end, braces included.
    private static func reference(
        at offset: Int, in bytes: [UInt8], file: String
    ) throws -> (reference: SecretReference, start: Int, end: Int)? {
        switch bytes[offset] {
        case UInt8(ascii: "{"):
            guard offset + 1 < bytes.count, bytes[offset + 1] == UInt8(ascii: "{") else { return nil }
            let start = bytes[(offset + 2)...].firstIndex { $0 != 0x20 && $0 != 0x09 } ?? bytes.count
            guard begins(at: start, bytes) else { return nil }
            let rest = bytes[start...].prefix { $0 != 0x0A }
            guard let end = rest.indices.dropLast().first(where: { rest[$0] == 0x7D && rest[$0 + 1] == 0x7D }) else {
                return try SourcePosition.naming(file, offset: start, in: bytes) {
                    throw KeychainError(
                        .invalidArgument, "the braces before this reference are not closed on its line.",
                        hint: "Write {{ keyfob://ITEM }}")
                }
            }
            let text = String(decoding: bytes[start..<end], as: UTF8.self).trimmingBlanks
            let reference = try SourcePosition.naming(file, offset: start, in: bytes) {
                try SecretReference(parsing: text)
            }
            return (reference, start, end + 2)
        case UInt8(ascii: "k"), UInt8(ascii: "K"):
            // "xkeyfob://" is a scheme of another program.
            let isAlone = offset == 0 || !isLetterOrDigit(bytes[offset - 1])
            guard isAlone, begins(at: offset, bytes) else { return nil }
            let text = bytes[offset...].prefix { bare.contains($0) }
            let reference = try SourcePosition.naming(file, offset: offset, in: bytes) {
                try SecretReference(parsing: String(decoding: text, as: UTF8.self))
            }
            return (reference, offset, text.endIndex)
        default: return nil
        }
    }

    private static func begins(at offset: Int, _ bytes: [UInt8]) -> Bool {
        guard offset + scheme.count <= bytes.count else { return false }
        return SecretReference.isReference(String(decoding: bytes[offset..<(offset + scheme.count)], as: UTF8.self))
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        let character = Character(Unicode.Scalar(byte))
        return byte >= 0x80 || character.isLetter || character.isNumber
    }
}

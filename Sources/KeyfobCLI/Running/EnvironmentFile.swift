import Keyfob
import KeyfobPrimitives

/// A file of environment variables, one `NAME=VALUE` each, as `op run` and `docker` read them.
///
/// Empty lines and lines that begin with `#` mean nothing, and `export` may precede a name. White space around names
/// and values is left out. A value in single quotes is literal. In double quotes, `\n`, `\r` and `\t` stand for the
/// control characters, and `\\`, `\"`, `\$` and `` \` `` for the second character. Both kinds of quotes may contain
/// line breaks. Without quotes, the value ends at the end of the line, or at white space before a `#`. Nothing is
/// expanded: `$` is an ordinary character.
struct EnvironmentFile {
    /// A variable, and the place of its value in the file.
    struct Variable {
        let name: String
        let value: SecretBytes
        let position: SourcePosition
    }

    /// The variables in their order.
    let variables: [Variable]

    /// Parses the content of a file.
    ///
    /// - Parameter file: The name of the file, for errors.
    /// - Throws: `KeychainError.unsupportedFormat` with line and column. It never repeats a value, which may be a
    ///   secret.
    init(_ content: [UInt8], file: String) throws {
        var parser = Parser(bytes: content, file: file)
        var variables: [Variable] = []
        while let variable = try parser.next() { variables.append(variable) }
        self.variables = variables
    }

    /// Whether a text can be the name of a variable in a file or an option.
    static func isName(_ text: String) -> Bool {
        !text.isEmpty
            && text.unicodeScalars.allSatisfy { scalar in
                !scalar.properties.isWhitespace && scalar.properties.generalCategory != .control
                    && !"=\"'`#$".unicodeScalars.contains(scalar)
            }
    }

    private struct Parser {
        let bytes: [UInt8]
        let file: String
        var index = 0

        init(bytes: [UInt8], file: String) {
            self.bytes = bytes
            self.file = file
            // The byte order mark that Windows programs write.
            if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
        }

        private var byte: UInt8? { index < bytes.count ? bytes[index] : nil }

        mutating func next() throws -> Variable? {
            skip { Self.isBlank($0) || $0 == 0x0A }
            while byte == UInt8(ascii: "#") {
                skip { $0 != 0x0A }
                skip { Self.isBlank($0) || $0 == 0x0A }
            }
            guard byte != nil else { return nil }
            let name = try name()
            skip(Self.isBlank)
            let position = SourcePosition(of: index, in: bytes)
            let value =
                switch byte {
                case UInt8(ascii: "'"): try quoted(by: UInt8(ascii: "'"))
                case UInt8(ascii: "\""): try quoted(by: UInt8(ascii: "\""))
                default: unquoted()
                }
            return Variable(name: name, value: value, position: position)
        }

        /// Reads up to the equals sign.
        private mutating func name() throws -> String {
            let start = index
            skip { $0 != UInt8(ascii: "=") && $0 != 0x0A }
            guard byte == UInt8(ascii: "=") else {
                throw error("there is no \"=\" after a variable's name", at: start)
            }
            var name = String(decoding: bytes[start..<index], as: UTF8.self).trimmingBlanks
            if let rest = name.dropping(prefix: "export"), rest.first?.isWhitespace == true {
                name = rest.trimmingBlanks
            }
            guard EnvironmentFile.isName(name) else {
                throw error("this is not the name of a variable", at: start)
            }
            index += 1
            return name
        }

        private mutating func quoted(by quote: UInt8) throws -> SecretBytes {
            let start = index
            var value: [UInt8] = []
            defer { value.wipe() }
            // Never moved, so that wiping reaches all copies.
            value.reserveCapacity(bytes.count - index)
            index += 1
            while let byte, byte != quote {
                index += 1
                guard byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\""), let next = self.byte,
                    let meant = Self.escaped(next)
                else {
                    value.append(byte)
                    continue
                }
                value.append(meant)
                index += 1
            }
            guard byte == quote else { throw error("the quotation mark is not closed", at: start) }
            index += 1
            let end = index
            skip(Self.isBlank)
            if byte == UInt8(ascii: "#"), index > end { skip { $0 != 0x0A } }
            guard byte == nil || byte == 0x0A else {
                throw error("only a comment may follow the closing quotation mark", at: index)
            }
            return SecretBytes(value)
        }

        /// The byte that a backslash and `byte` stand for; `nil` if the backslash stands for itself.
        private static func escaped(_ byte: UInt8) -> UInt8? {
            switch byte {
            case UInt8(ascii: "n"): 0x0A
            case UInt8(ascii: "r"): 0x0D
            case UInt8(ascii: "t"): 0x09
            case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "$"), UInt8(ascii: "`"): byte
            default: nil
            }
        }

        private mutating func unquoted() -> SecretBytes {
            let start = index
            var end = index
            while let byte, byte != 0x0A {
                if byte == UInt8(ascii: "#"), Self.isBlank(bytes[index - 1]) {
                    skip { $0 != 0x0A }
                    break
                }
                index += 1
                if !Self.isBlank(byte) { end = index }
            }
            return SecretBytes(bytes[start..<end])
        }

        private mutating func skip(_ isSkipped: (UInt8) -> Bool) {
            while let byte, isSkipped(byte) { index += 1 }
        }

        private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }

        private func error(_ reason: String, at offset: Int) -> any Error {
            do {
                return try SourcePosition(of: offset, in: bytes).naming(file) {
                    throw KeychainError(
                        .unsupportedFormat, reason + ".",
                        hint: "Each variable is NAME=VALUE; a value may be in quotes.")
                }
            } catch {
                return error
            }
        }
    }
}

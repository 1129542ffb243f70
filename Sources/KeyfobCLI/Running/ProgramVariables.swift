import Foundation
import Keyfob
import KeyfobPrimitives

/// The variables that `keyfob run` sets for the program: literal values and references.
struct ProgramVariables {
    /// A variable before its reference is resolved.
    struct Variable {
        enum Value {
            case literal(SecretBytes)
            case reference(SecretReference)
        }

        let name: String
        let value: Value
        let origin: Origin
    }

    /// Where a variable comes from, for errors.
    enum Origin {
        case option
        case caller(String)
        case file(String, SourcePosition)

        /// Runs `body`, and adds the origin to its errors. An error about an option names what the option says.
        func naming<Result>(_ body: () throws -> Result) throws -> Result {
            switch self {
            case .option: return try body()
            case .file(let file, let position): return try position.naming(file, body)
            case .caller(let name):
                do { return try body() } catch let error as KeychainError {
                    throw error.replacing(message: "the variable \(TerminalSafe.text(name)): \(error.message)")
                }
            }
        }
    }

    /// The variables, each name once.
    private(set) var variables: [Variable] = []

    /// Collects the variables of the caller that are references, those of files and those of options. Later ones
    /// replace earlier ones.
    ///
    /// - Parameter options: The values of `--env`, `NAME=ITEM` each.
    /// - Throws: `UsageError` for an option without a name or an item, or that names a variable twice. `KeychainError`
    ///   for a malformed file or reference, or a file that cannot be read.
    init(inherited: ProgramEnvironment, files: [FileArgument], options: [String], waiting timeout: TimeSpan?) throws {
        for (name, value) in inherited.texts(where: SecretReference.isReference) {
            let origin = Origin.caller(name)
            let reference = try origin.naming { try SecretReference(parsing: value) }
            set(Variable(name: name, value: .reference(reference), origin: origin))
        }
        for file in files { try add(file, waiting: timeout) }
        var named: Set<String> = []
        for option in options {
            let (name, reference) = try Self.assignment(option, option: "--env NAME=ITEM")
            guard EnvironmentFile.isName(name) else {
                throw UsageError(
                    "\"\(TerminalSafe.text(name))\" is not the name of a variable.",
                    hint: "Example: --env PASSWORD=db/prod")
            }
            guard named.insert(name).inserted else {
                throw UsageError("--env gives the variable \(name) twice.", hint: "Give it once.")
            }
            set(Variable(name: name, value: .reference(reference), origin: .option))
        }
    }

    /// Splits `LEFT=ITEM`, where ITEM is a reference or a bare name.
    ///
    /// - Throws: `UsageError` if a part is missing; the errors of `SecretReference`.
    static func assignment(_ text: String, option: String) throws -> (left: String, reference: SecretReference) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
            throw UsageError("\"\(TerminalSafe.text(text))\" is incomplete.", hint: "Give \(option)")
        }
        return (parts[0], try SecretReference(argument: parts[1]))
    }

    /// The references in their order.
    var references: [SecretReference] {
        variables.compactMap { if case .reference(let reference) = $0.value { reference } else { nil } }
    }

    /// The literal value of a variable as text; `nil` if there is none.
    func literal(_ name: String) -> String? {
        variables.lazy.compactMap { variable in
            guard variable.name.isIdentical(to: name), case .literal(let value) = variable.value else { return nil }
            return value.copyString()
        }.first
    }

    /// Returns the values of all variables.
    ///
    /// - Throws: The errors of the reader, with the place of the variable; `KeychainError.refused` for a value that no
    ///   variable can hold.
    func values(from reader: inout SecretReader) throws -> [(name: String, value: SecretBytes)] {
        try variables.map { variable in
            let value = try variable.origin.naming {
                switch variable.value {
                case .literal(let value): value
                case .reference(let reference): try reader.value(of: reference)
                }
            }
            guard unsafe !value.withUnsafeBytes({ unsafe $0.contains(0) }) else {
                throw KeychainError(
                    .refused, "the value of \(variable.name) contains a zero byte, which no variable can hold.",
                    hint: "Give the program a file: --file PATH=ITEM", details: ["variable": variable.name])
            }
            return (variable.name, value)
        }
    }

    private mutating func add(_ file: FileArgument, waiting timeout: TimeSpan?) throws {
        var content = [UInt8](try file.read(waiting: timeout))
        defer { content.wipe() }
        for variable in try EnvironmentFile(content, file: file.name).variables {
            let origin = Origin.file(file.name, variable.position)
            guard let text = variable.value.copyString(), SecretReference.isReference(text) else {
                set(Variable(name: variable.name, value: .literal(variable.value), origin: origin))
                continue
            }
            let reference = try origin.naming { try SecretReference(parsing: text) }
            set(Variable(name: variable.name, value: .reference(reference), origin: origin))
        }
    }

    private mutating func set(_ variable: Variable) {
        variables.removeAll { $0.name.isIdentical(to: variable.name) }
        variables.append(variable)
    }
}

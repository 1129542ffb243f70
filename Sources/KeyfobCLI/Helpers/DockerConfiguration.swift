import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// The configuration file of docker.
struct DockerConfiguration {
    private static let limit = 1 << 20
    private static let helper = "keyfob"
    /// The member that names the helper for all registries.
    private static let store = "credsStore"
    /// The member that names the helper of single registries, which takes precedence.
    private static let helpers = "credHelpers"

    private let path: String
    private let members: [JSONText.Member]
    private let mode: mode_t

    /// Reads the file; a missing one is an empty object.
    ///
    /// - Throws: `KeychainError.fileDamaged` if it, or its list of helpers, is not a JSON object; `fileUnavailable`.
    init() throws {
        let folder = Environment.nonEmpty("DOCKER_CONFIG")
            ?? (Environment.nonEmpty("HOME") ?? NSHomeDirectory()) + "/.docker"
        path = folder + "/config.json"
        guard let file = OpenFile(path: path, flags: O_RDONLY | O_NONBLOCK) else {
            guard errno == ENOENT else { throw KeychainError.file("read", path, errno) }
            (members, mode) = ([], 0o600)
            return
        }
        mode = try file.status().st_mode & 0o777
        let bytes = try file.read(limit: Self.limit + 1)
        guard bytes.count <= Self.limit, case .object(let members)? = JSONText(bytes.copyBytes()) else {
            throw KeychainError(
                .fileDamaged, "\(TerminalSafe.text(path)) is not a JSON object; it was not changed.",
                hint: "Correct it, or add this yourself: \(Self.entry(for: []))", details: ["path": path])
        }
        self.members = members
        switch object[Self.helpers] {
        case nil, .object?: break
        default:
            throw KeychainError(
                .fileDamaged, "\"\(Self.helpers)\" in \(TerminalSafe.text(path)) is not an object; it was not changed.",
                hint: "Correct it, and run the command again.", details: ["path": path])
        }
    }

    /// The entry that makes docker call the helper: for the given registries, or for all.
    static func entry(for registries: [String]) -> String {
        guard !registries.isEmpty else { return "\"\(store)\": \"\(helper)\"" }
        let entries: Members = Members(registries.map { (name: $0, value: helper) })
        return "\"\(helpers)\": " + Value.object(entries).json
    }

    /// Whether docker calls the helper for all of the given registries, or by default.
    func callsHelper(for registries: [String]) -> Bool {
        guard !registries.isEmpty else { return object[Self.store]?.text == Self.helper }
        return registries.allSatisfy { object[Self.helpers]?[$0]?.text == Self.helper }
    }

    /// The other helper that docker calls by default.
    var otherHelper: String? {
        object[Self.store]?.text.flatMap { $0 == Self.helper || $0.isEmpty ? nil : $0 }
    }

    /// Makes docker call the helper for the given registries, or by default.
    ///
    /// - Throws: `KeychainError.fileUnavailable` or `refused`.
    func addHelper(for registries: [String]) throws { try write(Self.helper, for: registries) }

    /// Undoes `addHelper`.
    ///
    /// - Throws: `KeychainError.fileUnavailable` or `refused`.
    func removeHelper(for registries: [String]) throws { try write(nil, for: registries) }

    private var object: JSONText { .object(members) }

    private func write(_ helper: String?, for registries: [String]) throws {
        let value = helper.map { JSONText.string($0) }
        guard !registries.isEmpty else { return try write(Self.setting([Self.store], value, in: members)) }
        var known: [JSONText.Member] = []
        if case .object(let members)? = object[Self.helpers] { known = members }
        let entries = Self.setting(registries, value, in: known)
        try write(Self.setting([Self.helpers], entries.isEmpty ? nil : .object(entries), in: members))
    }

    /// The members with another value for some names. All others keep their values and their order.
    private static func setting(
        _ names: [String], _ value: JSONText?, in members: [JSONText.Member]
    ) -> [JSONText.Member] {
        members.filter { !names.contains($0.name) }
            + (value.map { value in names.map { JSONText.Member(name: $0, value: value) } } ?? [])
    }

    private func write(_ members: [JSONText.Member]) throws {
        if !FileManager.default.fileExists(atPath: path) {
            try PrivateFile.createDirectory(URL(fileURLWithPath: OpenFile.directory(of: path), isDirectory: true))
        }
        let text = Self.text(.object(members), indentation: "") + "\n"
        // The file may be a link into a collection of such files.
        try FileDestination(path: path, mode: mode).write(SecretBytes(utf8: text))
    }

    /// The JSON with the indentation that docker uses.
    private static func text(_ json: JSONText, indentation: String) -> String {
        let inner = indentation + "\t"
        func block(_ open: String, _ lines: [String], _ close: String) -> String {
            guard !lines.isEmpty else { return open + close }
            return open + "\n" + lines.map { inner + $0 }.joined(separator: ",\n") + "\n" + indentation + close
        }
        return switch json {
        case .object(let members):
            block("{", members.map { Value.string($0.name).json + ": " + text($0.value, indentation: inner) }, "}")
        case .array(let elements): block("[", elements.map { text($0, indentation: inner) }, "]")
        case .string(let string): Value.string(string).json
        case .integer(let number): String(number)
        case .number(let digits): digits
        case .boolean(let flag): flag ? "true" : "false"
        case .null: "null"
        }
    }
}

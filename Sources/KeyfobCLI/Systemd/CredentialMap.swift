import ArgumentParser
import Foundation
import Glibc
import Keyfob

/// A credential that a unit may have: `UNIT/CREDENTIAL=ITEM`.
struct ServedCredential: ExpressibleByArgument {
    /// The name of the unit; that of a template is for all its instances.
    let unit: String
    /// The name of the credential in the unit's `LoadCredential=`.
    let name: String
    /// The name of the item, or a reference to it.
    let item: String

    init?(argument: String) {
        guard let slash = argument.firstIndex(of: "/"),
            let equals = argument[slash...].firstIndex(of: "=")
        else { return nil }
        unit = String(argument[..<slash])
        name = String(argument[argument.index(after: slash)..<equals])
        item = String(argument[argument.index(after: equals)...])
        // Units without a type, such as "nginx", do not exist, so the line would never apply.
        guard unit.wholeMatch(of: /[A-Za-z0-9:_.\\@-]+\.[a-z]+/) != nil else { return nil }
        guard !name.isEmpty, !name.contains("/"), !item.isEmpty else { return nil }
    }

    /// The argument that makes it.
    var text: String { "\(place)=\(item)" }

    /// The unit and the name.
    var place: String { "\(unit)/\(name)" }

    /// Whether this is a credential of a unit, by the very names.
    func isCredential(_ name: String, of unit: String) -> Bool {
        self.name.isIdentical(to: name) && self.unit.isIdentical(to: unit)
    }
}

/// The credentials that units may have, from options and from a file.
///
/// A file has one `UNIT/CREDENTIAL=ITEM` on each line. Empty lines and lines that begin with `#` mean nothing.
struct CredentialMap {
    private(set) var credentials: [ServedCredential]

    /// - Throws: `KeychainError`; `unsafeFile` for a file that other users can change or replace, `unsupportedFormat`
    ///   with the line of an error in it, `fileUnavailable`. `UsageError` if two options name one credential.
    init(_ credentials: [ServedCredential], file: FileArgument?, waiting timeout: TimeSpan?) throws {
        self.credentials = []
        for credential in credentials {
            guard item(of: credential) == nil else {
                throw UsageError(
                    "the credential \(credential.place) is named twice.", hint: "Give one --serve for each credential.")
            }
            self.credentials.append(credential)
        }
        guard let file else { return }
        if file.path != "-" { try Self.requireOwn(file.path) }
        let text = String(decoding: try file.read(waiting: timeout), as: UTF8.self)
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
            guard let credential = ServedCredential(argument: line) else {
                throw KeychainError(
                    .unsupportedFormat,
                    "\(TerminalSafe.text(file.name)), line \(index + 1): this is not UNIT/CREDENTIAL=ITEM.",
                    hint: "Example: nginx.service/db-password=db/prod",
                    details: ["file": file.path, "line": String(index + 1)])
            }
            guard item(of: credential) == nil else {
                throw KeychainError(
                    .unsupportedFormat,
                    "\(TerminalSafe.text(file.name)), line \(index + 1): \(credential.place) is named twice.",
                    hint: "Keep one line for each credential.",
                    details: ["file": file.path, "line": String(index + 1)])
            }
            self.credentials.append(credential)
        }
    }

    private func item(of credential: ServedCredential) -> String? {
        credentials.first { $0.isCredential(credential.name, of: credential.unit) }?.item
    }

    /// The item of a credential; `nil` if the unit may not have it.
    ///
    /// A credential of the unit itself comes before one of its template.
    func item(of name: String, for unit: String) -> String? {
        if let own = credentials.first(where: { $0.isCredential(name, of: unit) }) { return own.item }
        guard let at = unit.firstIndex(of: "@"), let dot = unit.lastIndex(of: "."), at < dot else { return nil }
        let template = String(unit[...at] + unit[dot...])
        return credentials.first { $0.isCredential(name, of: template) }?.item
    }

    /// Refuses a file that another user can change or replace: it says which service gets which secret.
    private static func requireOwn(_ path: String) throws {
        try PrivateFile.requireUnwritableByOthers(path)
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_uid != 0, status.st_uid != geteuid() else { return }
        throw KeychainError(
            .unsafeFile, "\(TerminalSafe.text(path)) belongs to another user.",
            hint: "Give it to root: chown root \(ShellWord.quoted(path))", details: ["file": path])
    }
}

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
    var text: String { "\(unit)/\(name)=\(item)" }

    /// Whether a credential of a unit is this one.
    func concerns(_ name: String, of unit: String) -> Bool {
        guard self.name.isIdentical(to: name) else { return false }
        if self.unit.isIdentical(to: unit) { return true }
        guard let at = unit.firstIndex(of: "@"), let dot = unit.lastIndex(of: "."), at < dot else { return false }
        return self.unit.isIdentical(to: String(unit[...at] + unit[dot...]))
    }
}

/// The credentials that units may have, from options and from a file.
///
/// A file has one `UNIT/CREDENTIAL=ITEM` on each line. Empty lines and lines that begin with `#` mean nothing.
struct CredentialMap {
    private(set) var credentials: [ServedCredential]

    /// - Throws: `KeychainError`; `unsafeFile` for a file that other users can change, `unsupportedFormat` with the
    ///   line of an error in it, `fileUnavailable`.
    init(_ credentials: [ServedCredential], file: FileArgument?, waiting timeout: TimeSpan?) throws {
        self.credentials = credentials
        guard let file else { return }
        try Self.requireOwn(file)
        let text = String(decoding: try file.read(waiting: timeout), as: UTF8.self)
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
            guard let credential = ServedCredential(argument: line) else {
                throw KeychainError(
                    .unsupportedFormat,
                    "\(TerminalSafe.text(file.name)), line \(index + 1): this is not UNIT/CREDENTIAL=ITEM.",
                    hint: "Example: nginx.service/db-password=db/prod",
                    details: ["file": file.path, "line": String(index + 1)])
            }
            self.credentials.append(credential)
        }
    }

    /// The item of a credential; `nil` if the unit may not have it.
    func item(of name: String, for unit: String) -> String? {
        credentials.first { $0.concerns(name, of: unit) }?.item
    }

    /// Refuses a file that another user can change: it says which service gets which secret.
    private static func requireOwn(_ file: FileArgument) throws {
        var status = stat()
        guard file.path != "-", unsafe stat(file.path, &status) == 0 else { return }
        guard status.st_uid == 0 || status.st_uid == geteuid(), status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            throw KeychainError(
                .unsafeFile, "\(TerminalSafe.text(file.path)) can be changed by other users.",
                hint: "chmod go-w \(ShellWord.quoted(file.path)); it must belong to root or to you.",
                details: ["file": file.path])
        }
    }
}

import Foundation
import Keyfob
import KeyfobOpenSSL

/// One certificate of a list, and its key if it has one.
struct ListedCertificate {
    /// The columns and members that exist only for identities.
    struct Key {
        let token: String
        let isExtractable: Bool
    }

    let label: String?
    let certificate: Certificate
    /// Whether it is an older version of an identity.
    var isReplaced = false
    var key: Key?
    /// The keychain, in lists of several keychains; its name is `nil` for a token without one.
    var keychain: String??

    /// Returns the document for a list.
    ///
    /// - Parameter members: The members that describe the list as a whole.
    static func document(
        _ listed: [ListedCertificate], as name: String, on date: Date, _ members: Members
    ) -> Document {
        Document(members + [name: listed.map { $0.members(on: date) }], listName: name)
    }

    /// Returns the table for a list.
    ///
    /// - Parameter hasKeys: Whether to include the key columns.
    static func table(_ listed: [ListedCertificate], hasKeys: Bool, on date: Date) -> Table {
        var table = Table(
            [.init("NAME", mayShrink: true), .init("SUBJECT", mayShrink: true), .init("ISSUER", mayShrink: true)]
                + (hasKeys ? [.init("KEY"), .init("TOKEN")] : []) + [.init("EXPIRES"), .init("STATE")])
        for one in listed { table.add(one.cells(hasKeys: hasKeys, on: date)) }
        return table
    }

    private func members(on date: Date) -> Members {
        var members: Members = keychain.map { ["keychain": $0] } ?? [:]
        members += ["name": label]
        if let key {
            members += ["token": key.token, "extractable": key.isExtractable]
        }
        return members + CertificatePhrases.members(certificate, on: date, isReplaced: isReplaced)
    }

    private func cells(hasKeys: Bool, on date: Date) -> [Table.Cell] {
        let state = CertificatePhrases.State(certificate, on: date, isReplaced: isReplaced)
        var cells: [Table.Cell] = [
            .init(label ?? ""), .init(CertificatePhrases.subject(certificate)),
            .init(CertificatePhrases.issuer(certificate)),
        ]
        if hasKeys { cells += [.init(certificate.publicKey.algorithm.description), .init(key?.token ?? "")] }
        return cells + [.init(Plural.relative(certificate.notAfter, to: date)), .init(state.rawValue, state.style)]
    }
}

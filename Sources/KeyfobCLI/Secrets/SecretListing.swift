import ArgumentParser
import Foundation
import Keyfob

/// The options and the output of the commands that list secrets.
struct SecretListing: ParsableArguments {
    /// The sort orders of a list.
    enum Order: String, CaseIterable, ExpressibleByArgument {
        case added, name, modified
    }

    @Option(help: ArgumentHelp("added, name or modified.", valueName: "order"))
    var sort: Order = .added

    @Flag(help: "Leave out damaged items; otherwise the list ends with an error.")
    var skipDamaged = false

    /// Prints the passwords that fulfil a condition.
    ///
    /// - Parameters:
    ///   - verb: The command, for hints.
    ///   - selection: The options that select the items.
    /// - Returns: The number of items, damaged ones included.
    /// - Throws: `KeychainError.vaultDamaged` at the end if items are damaged, and the errors of the keychain.
    func list(
        _ keychain: Keychain, _ selection: SecretSelection, verb: String, _ output: Output,
        where isListed: (Item) -> Bool
    ) throws -> Int {
        var damage: (count: Int, first: (any Error)?) = (0, nil)
        var count = 0
        let sink = Sink(output, keychain)
        try walk(
            keychain, selection,
            damaged: { error in
                damage.count += 1
                if damage.first == nil { damage.first = error }
            }
        ) { item in
            guard isListed(item) else { return }
            count += 1
            try sink.add(item)
        }
        try sink.finish(damaged: damage.count)
        guard damage.count > 0 else { return count }
        let be = damage.count == 1 ? "is" : "are"
        let text = "\(Plural.counted(damage.count, "item")) of keychain \"\(keychain.name)\" \(be) damaged"
        guard !skipDamaged else {
            StandardError.write("keyfob: \(text) and left out.\n")
            return count + damage.count
        }
        throw KeychainError(
            .vaultDamaged, "\(text); \(Plural.counted(count, "item")) \(count == 1 ? "is" : "are") fine.",
            remedies: [
                Remedy(
                    "Restore a backup. To see the damaged items, and what to do without a backup",
                    .checkKeychain(keychain.name)),
                Remedy(
                    "To list the others: " + Wording(keychain: keychain.name).keyfob("\(verb) --skip-damaged")),
            ],
            details: ["keychain": keychain.name, "damaged": String(damage.count)], cause: damage.first)
    }

    private func walk(
        _ keychain: Keychain, _ selection: SecretSelection, damaged: (any Error) -> Void, _ body: (Item) throws -> Void
    ) throws {
        guard sort == .added else {
            var items: [Item] = []
            try walkByAge(keychain, selection, damaged: damaged) { items.append($0) }
            switch sort {
            case .modified: items.sort { ($0.modified ?? .distantPast) > ($1.modified ?? .distantPast) }
            default:
                items.sort { left, right in
                    let (one, two) = (left.nameText.utf8, right.nameText.utf8)
                    return one.elementsEqual(two)
                        ? left.userText.utf8.lexicographicallyPrecedes(right.userText.utf8)
                        : one.lexicographicallyPrecedes(two)
                }
            }
            for item in items { try body(item) }
            return
        }
        try walkByAge(keychain, selection, damaged: damaged, body)
    }

    private func walkByAge(
        _ keychain: Keychain, _ selection: SecretSelection, damaged: (any Error) -> Void, _ body: (Item) throws -> Void
    ) throws {
        var classes: [ItemClass] = []
        if !selection.choice.isInternet { classes.append(.genericPassword) }
        if selection.kind != .generic { classes.append(.internetPassword) }
        try keychain.forEachPassword(of: classes, damaged: damaged) { item in
            if let server = selection.server, !item.hasText(.server, server) { return true }
            if selection.choice.fits(item) { try body(item) }
            return true
        }
    }

    /// Writes the list in the requested format.
    private final class Sink {
        private var table: TableStream
        private var list: ListStream
        private let isTable: Bool
        private let now = Date()
        private var count = 0

        init(_ output: Output, _ keychain: Keychain) {
            isTable = !output.format.isMachineReadable
            table = TableStream(
                [
                    .init("NAME", mayShrink: true), .init("USER", mayShrink: true), .init("KIND"), .init("UPDATED"),
                ], width: StandardOutput.terminalWidth, colour: output.colour)
            list = ListStream(
                output.format, members: ["keychain": keychain.name], listName: "items")
        }

        func add(_ item: Item) throws {
            count += 1
            guard isTable else { return try list.add(item.listMembers) }
            let updated = item.modified.map { Plural.relative($0, to: now) } ?? ""
            try table.add([.init(item.nameText), .init(item.userText), .init(item.distinctKindText), .init(updated)])
        }

        func finish(damaged: Int) throws {
            guard isTable else {
                return try list.finish(["count": count, "damaged": damaged])
            }
            try table.finish()
        }
    }
}

extension Item {
    /// The members of one list entry. Both kinds have the same members, so that columns line up.
    fileprivate var listMembers: Members {
        [
            "name": nameText, "user": userText, "kind": kindText, "label": text(.label), "server": value(.server),
            "created": attributes[.creationDate]?.date, "modified": modified,
        ] + placeMembers + referenceMembers
    }
}

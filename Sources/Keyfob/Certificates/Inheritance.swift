import Foundation
import OpenSSL
import PKCS11

/// What the items of a certificate or of a key leave to those of the one that takes its place.
///
/// A certificate that two access groups see is two items, and so has two shares: whoever saw the one before sees the
/// one after it, and nobody else does.
struct Inheritance {
    /// One for each owner, the one that was changed last first; empty where nobody had said anything.
    private(set) var shares: [ItemAttributes] = []
    /// How the identity is renewed from now on.
    var policy: AttributeValue?

    /// What is said of an item that has just been made: of the owner's share, or of the policy alone.
    var complete: [ItemAttributes] {
        (shares.isEmpty ? [ItemAttributes()] : shares).map { share in
            var share = share
            if let policy { share[.renewalPolicy] = policy }
            return share
        }
    }

    /// What certificates that came along are given: to be found by those who need them.
    var ofAuthorities: [ItemAttributes] {
        shares.map { $0.owner.merging($0.filtered([.accessible])) }
    }

    /// Whether what a row says of an item is said by one of the owners.
    func isOfOwner(_ stored: ItemAttributes) -> Bool {
        let owner = stored.owner
        return shares.contains { $0.owner == owner } || shares.isEmpty && stored.isNobodys
    }

    /// Adds what the row of an item says; what was said last comes first and counts.
    mutating func add(_ stored: ItemAttributes) {
        var share = stored.filtered(Self.lasting)
        guard let index = shares.firstIndex(where: { $0.owner == share.owner }) else {
            share.preferences = stored.preferences
            shares.append(share)
            return
        }
        shares[index] = share.yielding(to: shares[index]).merging(shares[index])
        shares[index].preferences += stored.preferences.filter { !shares[index].preferences.contains($0) }
    }

    /// What is said of an item, and neither of these bytes nor of this time: a trust that was given to a certificate,
    /// or the days on which a key is good, are none of its successor's.
    private static let lasting: Set<AttributeName> = ItemAttributes.ownerNames.union([
        .accessible, .accessControl, .systemBound, .alias, .comment, .program,
    ])
}

extension ItemAttributes {
    /// The parts of a primary key that say whose an item is, and by what its owner finds it; none that the object
    /// tells.
    fileprivate static let ownerNames: Set<AttributeName> = groupNames.union([.applicationTag, .creator])
    private static let groupNames: Set<AttributeName> = [
        .accessGroup, .synchronizable, .syncViewHint, .tokenID, .multiUser, .sharingGroup,
    ]

    /// Whose the item is. Absent and empty are the same.
    fileprivate var owner: ItemAttributes {
        var owner = ItemAttributes()
        for (name, value) in self where Self.ownerNames.contains(name) {
            guard value.number != 0, value.bytes?.isEmpty != true else { continue }
            owner[name] = value
        }
        return owner
    }

    /// Whose the item is, by what tells it from other items of the same certificate.
    fileprivate var group: ItemAttributes { owner.filtered(Self.groupNames) }

    /// Whether nobody has said whose the item is, as of what the command makes.
    fileprivate var isNobodys: Bool { filtered(Self.groupNames).count == 0 }

    fileprivate func merging(_ other: ItemAttributes) -> ItemAttributes {
        var merged = self
        merged.merge(other)
        return merged
    }

    /// The same without a protection of its own where `item` has one: the two attributes of it are one statement.
    fileprivate func yielding(to item: ItemAttributes) -> ItemAttributes {
        guard item[.accessible] != nil || item[.accessControl] != nil else { return self }
        var own = self
        for name in [AttributeName.accessible, .accessControl] { own[name] = nil }
        return own
    }
}

extension Keychain {
    /// Those bearers of a name that make room for a certificate: not those of another owner, who calls his own so.
    ///
    /// The one that is renewed. Where that has made room for this very certificate already, or it is not said which,
    /// those of the owners of the certificate's other versions; else those that are nobody's, and where there are none
    /// all: the name alone tells.
    ///
    /// - Parameter renewed: The certificate whose next version it is.
    func predecessors(
        of certificate: Certificate, named name: String, _ bearers: [TokenObject], renewing renewed: Certificate? = nil,
        among objects: [TokenObject], _ keys: VaultKeys
    ) throws -> [TokenObject] {
        guard !bearers.isEmpty else { return [] }
        if let renewed, let one = bearers.first(where: { $0.certificateDER == renewed.der }) { return [one] }
        let relatives = objects.filter { object in
            guard object.objectClass == .certificate, let der = object.certificateDER else { return false }
            return der == renewed?.der || der == certificate.der
                || object.publicKeyHash == certificate.publicKey.identifier
        }
        let owners = try relatives.isEmpty ? [""] : relatives.reduce(into: Set<String>()) {
            try $0.formUnion(self.owners(of: $1, keys))
        }
        let own = try bearers.filter { try !self.owners(of: $0, called: name, keys).isDisjoint(with: owners) }
        return own.isEmpty && relatives.isEmpty && renewed == nil ? bearers : own
    }

    /// Whose a certificate is: the access groups that see it, or see it under a name.
    func owners(of certificate: TokenObject, called name: String? = nil, _ keys: VaultKeys) throws -> Set<String> {
        let rows = try store.read(keys.tree) { try labelledRows(certificate, keys, $0) }.map(\.attributes)
        guard !rows.isEmpty else { return [""] }
        return Set(rows.filter { row in
            guard let name else { return true }
            return row.label(of: certificate, base: certificate.label)?.labelBytes == Data(name.utf8)
        }.map { $0[.accessGroup]?.text ?? "" })
    }

    /// What the new version takes over from the one before, which is then without it where only one can have it.
    ///
    /// Of several items that share a certificate only those that bear the name are versions of it; what was said last
    /// counts, and every preference. Another identity that bore the name makes room; what its owners have of it, and
    /// what they prefer it for, stays theirs, unless the heir is theirs too.
    ///
    /// - Parameter ancestors: Those of the predecessors whose next version it is.
    func inherit(
        _ succession: Succession, from ancestors: [TokenObject], _ name: String, _ policy: RenewalPolicy?,
        _ writer: any StoreWriter, _ keys: VaultKeys
    ) throws -> Inheritance {
        var inheritance = Inheritance()
        let others = succession.predecessors.map(\.object).filter { !ancestors.contains($0) }
        for object in ancestors + others {
            let isAncestor = ancestors.contains(object)
            let rows = try labelledRows(object, keys, writer)
                .filter { $0.attributes.label(of: object, base: object.label)?.labelBytes == Data(name.utf8) }
            for (row, stored) in rows.sorted(by: { $0.row.modified > $1.row.modified }) {
                guard isAncestor || inheritance.isOfOwner(stored) else { continue }
                inheritance.add(stored)
                if inheritance.policy == nil { inheritance.policy = stored[.renewalPolicy] }
                try updateRow(
                    .certificate, object, identity: row.identity, [:],
                    [.renewalPolicy, .preferredServices, .preferences], writer, keys)
            }
        }
        if let policy { inheritance.policy = .data(try JSONEncoder().encode(policy)) }
        return inheritance
    }

    /// Records the certificates that were made for a name: the leaf's owners are those of the version before, and find
    /// the authorities above it too.
    func record(
        _ added: [TokenObject], leaf: Certificate, called name: String, _ inheritance: Inheritance,
        _ writer: any StoreWriter, _ keys: VaultKeys
    ) throws -> [Item] {
        try added.map { object in
            guard object.objectClass == .certificate else { return try record(Item(.key, [:]), object, writer, keys) }
            let isLeaf = object.certificateDER == leaf.der
            let shares = isLeaf ? inheritance.complete : inheritance.ofAuthorities
            let item = try record(Item(.certificate, shares.first ?? [:]), object, writer, keys)
            let label = isLeaf ? .string(name) : object.label
            for share in shares.dropFirst() { try recordFurther(share, object, called: label, writer, keys) }
            return item
        }
    }

    /// Makes one more item of an object that has one.
    private func recordFurther(
        _ share: ItemAttributes, _ object: TokenObject, called label: AttributeValue?, _ writer: any StoreWriter,
        _ keys: VaultKeys
    ) throws {
        guard let itemClass = object.itemClass else { return }
        var share = share
        share[.label] = label
        _ = try record(Item(itemClass, share), object, writer, keys, isNew: false)
    }

    /// Has whoever finds a leaf find authorities above it that were on the token before, too, as items of their own:
    /// what others have of them stays theirs.
    func share(
        _ authorities: [TokenObject], _ inheritance: Inheritance, _ writer: any StoreWriter, _ keys: VaultKeys
    ) throws {
        let shares = inheritance.shares.isEmpty ? [ItemAttributes()] : inheritance.ofAuthorities
        for object in authorities {
            // An object that nobody has said anything of is nobody's.
            var owners = try labelledRows(object, keys, writer).map(\.attributes.group)
            for share in shares where !owners.contains(share.group) && !(owners.isEmpty && share.group.count == 0) {
                if owners.isEmpty {
                    try adopt(.certificate, object, ItemAttributes(), writer, keys)
                    owners.append(ItemAttributes())
                }
                try recordFurther(share, object, called: object.label, writer, keys)
                owners.append(share.group)
            }
        }
    }

    /// Gives what was taken over to the items of a certificate that bears the name now.
    func bequeath(
        _ inheritance: Inheritance, to object: TokenObject, _ name: String, _ writer: any StoreWriter, _ keys: VaultKeys
    ) throws {
        func isCalledSo(_ item: ItemAttributes) -> Bool {
            item[.hasOwnLabel] == nil || item[.label]?.labelBytes == Data(name.utf8)
        }
        guard inheritance.shares.isEmpty else {
            // The one that is called so already before any other of the same owner.
            return try bequeath(
                inheritance.complete, to: object, called: .string(name), writer, keys, preferring: isCalledSo)
        }
        let heir = try labelledRows(object, keys, writer).first { isCalledSo($0.attributes) }
        guard let share = inheritance.complete.first else { return }
        try updateRow(.certificate, object, identity: heir?.row.identity, share, [], writer, keys)
    }

    /// Gives a key what the keys of the versions before had: their owners could not use the certificate otherwise.
    ///
    /// The private half alone: a public one that is an item of its own outlives its pair, and each renewal would leave
    /// one.
    ///
    /// - Parameters:
    ///   - ancestors: Their certificates. The key of the new version may be that of one of them; it is then nobody's
    ///     heir.
    ///   - objects: What is on the token.
    func bequeathKeys(
        of ancestors: [TokenObject], to publicKey: PublicKey, among objects: [TokenObject], _ writer: any StoreWriter,
        _ keys: VaultKeys
    ) throws {
        let before = Set(ancestors.compactMap(\.publicKeyHash))
        guard !before.contains(publicKey.identifier) else { return }
        let privateKeys = objects.filter { $0.objectClass == .privateKey }
        guard let heir = privateKeys.first(where: { $0.keyIdentifier == publicKey.identifier }) else {
            return
        }
        let rows = try privateKeys.filter { before.contains($0.keyIdentifier) }
            .flatMap { try labelledRows($0, keys, writer) }
        var inheritance = Inheritance()
        for (_, stored) in rows.sorted(by: { $0.row.modified > $1.row.modified }) { inheritance.add(stored) }
        try bequeath(inheritance.shares, to: heir, called: heir.label, writer, keys)
    }

    /// Gives shares to the items of an object: each to that of its owner, else to one that is nobody's, else to a new
    /// one.
    ///
    /// - Parameters:
    ///   - label: What new items are called.
    ///   - isPreferred: Which of several items of one owner it is, by their rows.
    private func bequeath(
        _ shares: [ItemAttributes], to object: TokenObject, called label: AttributeValue?, _ writer: any StoreWriter,
        _ keys: VaultKeys, preferring isPreferred: (ItemAttributes) -> Bool = { _ in true }
    ) throws {
        guard let itemClass = object.itemClass else { return }
        var rows = try labelledRows(object, keys, writer)
        rows = rows.filter { isPreferred($0.attributes) } + rows.filter { !isPreferred($0.attributes) }
        var hasRows = !rows.isEmpty
        func give(_ share: ItemAttributes, to heir: (row: SealedRow, attributes: ItemAttributes)?) throws {
            let own = heir?.attributes ?? ItemAttributes()
            // What the heir says itself is true of it; of the name, what was said last.
            var kept: Set<AttributeName> = [.applicationTag, .creator, .alias, .systemBound]
            if itemClass == .key { kept.insert(.comment) }
            var given = share.yielding(to: own).merging(own.filtered(kept))
            given.preferences = own.preferences + share.preferences.filter { !own.preferences.contains($0) }
            try updateRow(itemClass, object, identity: heir?.row.identity, given, [], writer, keys)
        }
        var left: [ItemAttributes] = []
        for share in shares {
            guard let index = rows.firstIndex(where: { $0.attributes.owner == share.owner }) else {
                left.append(share)
                continue
            }
            try give(share, to: rows.remove(at: index))
        }
        for share in left {
            if let index = rows.firstIndex(where: { $0.attributes.isNobodys }) {
                try give(share, to: rows.remove(at: index))
            } else if hasRows {
                try recordFurther(share, object, called: label, writer, keys)
            } else {
                try give(share, to: nil)
                hasRows = true
            }
        }
    }
}

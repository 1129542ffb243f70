import Foundation
import KeyfobOpenSSL
import PKCS11

/// The attributes that the items of a certificate or key pass on to the items of the next version.
///
/// A certificate that two access groups see is two items and has two shares. The groups that see the previous version
/// see the next one, and no others.
struct AttributeTransfer {
    /// One share for each owner, the most recently changed item's first; empty if the items had no attributes of their
    /// own.
    private(set) var shares: [ItemAttributes] = []
    /// The renewal policy of the new version.
    var policy: AttributeValue?

    /// The attributes of the new items: the shares with the policy, or the policy alone.
    var complete: [ItemAttributes] {
        (shares.isEmpty ? [ItemAttributes()] : shares).map { share in
            var share = share
            if let policy { share[.renewalPolicy] = policy }
            return share
        }
    }

    /// The attributes of the authorities stored with the leaf, so that its owners find them.
    var ofAuthorities: [ItemAttributes] {
        shares.map { $0.owner.merging($0.filtered([.accessible])) }
    }

    /// Whether an item belongs to one of the owners.
    func isOfOwner(_ stored: ItemAttributes) -> Bool {
        let owner = stored.owner
        return shares.contains { $0.owner == owner } || shares.isEmpty && stored.hasNoGroup
    }

    /// Adds the attributes of an item. Call it in order of the last change, latest first: earlier calls take
    /// precedence.
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

    /// Attributes of the item rather than of its bytes or dates. Trust in a certificate and the validity dates of a key
    /// are not passed on.
    private static let lasting: Set<AttributeName> = ItemAttributes.ownerNames.union([
        .accessible, .accessControl, .systemBound, .alias, .comment, .program, .isProtectedItem,
    ])
}

extension ItemAttributes {
    /// The attributes of a primary key that identify the owner of an item, without those that the object determines.
    fileprivate static let ownerNames: Set<AttributeName> = groupNames.union([.applicationTag, .creator])
    private static let groupNames: Set<AttributeName> = [
        .accessGroup, .synchronizable, .syncViewHint, .tokenID, .multiUser, .sharingGroup,
    ]

    /// The owner of the item. Absent and empty values are equal.
    fileprivate var owner: ItemAttributes {
        var owner = ItemAttributes()
        for (name, value) in self where Self.ownerNames.contains(name) {
            guard value.number != 0, value.bytes?.isEmpty != true else { continue }
            owner[name] = value
        }
        return owner
    }

    /// The attributes that distinguish the item from items of other access groups.
    fileprivate var group: ItemAttributes { owner.filtered(Self.groupNames) }

    /// Whether the item belongs to no access group, like items made by the command.
    fileprivate var hasNoGroup: Bool { filtered(Self.groupNames).count == 0 }

    fileprivate func merging(_ other: ItemAttributes) -> ItemAttributes {
        var merged = self
        merged.merge(other)
        return merged
    }

    /// The attributes without a protection of their own if `item` has one: the two protection attributes belong
    /// together.
    fileprivate func yielding(to item: ItemAttributes) -> ItemAttributes {
        guard item[.accessible] != nil || item[.accessControl] != nil else { return self }
        var own = self
        for name in [AttributeName.accessible, .accessControl] { own[name] = nil }
        return own
    }
}

extension KeychainIdentities {
    /// The certificates of a name that a new certificate replaces, without those of other owners.
    ///
    /// That is the renewed certificate if it has the name. Otherwise it is those that share an owner with other
    /// versions of the new certificate. If there are no other versions, it is those without an owner; if there are
    /// none, it is all of them.
    ///
    /// - Parameters:
    ///   - inUse: The certificates that have the name.
    ///   - renewed: The certificate being renewed.
    func predecessors(
        of certificate: Certificate, named name: String, _ inUse: [TokenObject], renewing renewed: Certificate? = nil,
        among objects: [TokenObject], _ keys: VaultKeys
    ) throws -> [TokenObject] {
        guard !inUse.isEmpty else { return [] }
        if let renewed, let one = inUse.first(where: { $0.certificateDER == renewed.der }) { return [one] }
        let relatives = objects.filter { object in
            guard object.objectClass == .certificate, let der = object.certificateDER else { return false }
            return der == renewed?.der || der == certificate.der
                || object.publicKeyHash == certificate.publicKey.identifier
        }
        let owners = try relatives.isEmpty ? [""] : relatives.reduce(into: Set<String>()) {
            try $0.formUnion(self.owners(of: $1, keys))
        }
        let own = try inUse.filter { try !self.owners(of: $0, called: name, keys).isDisjoint(with: owners) }
        return own.isEmpty && relatives.isEmpty && renewed == nil ? inUse : own
    }

    /// The access groups that see a certificate, or that see it under a name.
    func owners(of certificate: TokenObject, called name: String? = nil, _ keys: VaultKeys) throws -> Set<String> {
        let rows = try keychain.store.read(keys.tree) { try keychain.tokenItems.openRows(certificate, keys, $0) }.map(
            \.attributes)
        guard !rows.isEmpty else { return [""] }
        return Set(rows.filter { row in
            guard let name else { return true }
            return row[.label]?.labelBytes == Data(name.utf8)
        }.map { $0[.accessGroup]?.text ?? "" })
    }

    /// Takes the attributes of a new version from the versions that it replaces.
    ///
    /// Only items that have the name pass attributes on. Renewal policy, preferences and protection move to the new
    /// version; all other attributes are copied. Items of other owners keep theirs.
    ///
    /// - Parameter predecessors: The previous versions; the other replaced certificates only had the same name.
    func takeAttributes(
        of replaced: ReplacedVersions, from predecessors: [TokenObject], _ name: String, _ policy: RenewalPolicy?,
        _ writer: any StoreWriter, _ keys: VaultKeys
    ) throws -> AttributeTransfer {
        var transfer = AttributeTransfer()
        let others = replaced.versions.map(\.object).filter { !predecessors.contains($0) }
        for object in predecessors + others {
            let isPredecessor = predecessors.contains(object)
            let rows = try keychain.tokenItems.openRows(object, keys, writer)
                .filter { $0.attributes[.label]?.labelBytes == Data(name.utf8) }
            for (row, stored) in rows.sorted(by: { $0.row.modified > $1.row.modified }) {
                guard isPredecessor || transfer.isOfOwner(stored) else { continue }
                transfer.add(stored)
                if transfer.policy == nil { transfer.policy = stored[.renewalPolicy] }
                try keychain.tokenItems.updateRow(
                    .certificate, object, identity: row.identity, [:],
                    [.renewalPolicy, .preferredServices, .preferences, .isProtectedItem], writer, keys)
            }
        }
        if let policy { transfer.policy = .data(try JSONEncoder().encode(policy)) }
        return transfer
    }

    /// Records the objects created for a name. The leaf and the authorities above it get the owners of the previous
    /// version.
    func record(
        _ added: [TokenObject], leaf: Certificate, called name: String, _ transfer: AttributeTransfer,
        _ writer: any StoreWriter, _ keys: VaultKeys
    ) throws -> [Item] {
        try added.map { object in
            guard object.objectClass == .certificate else {
                return try keychain.tokenItems.recordItem(Item(.key, [:]), object, writer, keys)
            }
            let isLeaf = object.certificateDER == leaf.der
            let label = isLeaf ? .string(name) : object.label
            let shares = isLeaf ? transfer.complete : transfer.ofAuthorities
            var first = shares.first ?? [:]
            first[.label] = label
            let item = try keychain.tokenItems.recordItem(Item(.certificate, first), object, writer, keys)
            for share in shares.dropFirst() { try recordFurther(share, object, called: label, writer, keys) }
            return item
        }
    }

    /// Makes another item of an object that already has one.
    private func recordFurther(
        _ share: ItemAttributes, _ object: TokenObject, called label: AttributeValue?, _ writer: any StoreWriter,
        _ keys: VaultKeys
    ) throws {
        guard let itemClass = object.itemClass else { return }
        var share = share
        share[.label] = label
        _ = try keychain.tokenItems.recordItem(Item(itemClass, share), object, writer, keys, isNew: false)
    }

    /// Makes items of authorities that were already on the token, for owners of the leaf that do not see them yet.
    func share(
        _ authorities: [TokenObject], _ transfer: AttributeTransfer, _ writer: any StoreWriter, _ keys: VaultKeys
    ) throws {
        let shares = transfer.shares.isEmpty ? [ItemAttributes()] : transfer.ofAuthorities
        for object in authorities {
            let rows = try keychain.tokenItems.openRows(object, keys, writer)
            var groups = rows.map(\.attributes.group)
            let label = rows.first?.attributes[.label] ?? object.nameWithoutRow
            // An object without a row belongs to no access group.
            for share in shares where !groups.contains(share.group) && !(groups.isEmpty && share.group.count == 0) {
                if groups.isEmpty {
                    var own = ItemAttributes()
                    own[.label] = label
                    try keychain.tokenItems.adopt(.certificate, object, own, writer, keys)
                    groups.append(ItemAttributes())
                }
                try recordFurther(share, object, called: label, writer, keys)
                groups.append(share.group)
            }
        }
    }

    /// Passes attributes to the items of a certificate that is already on the token and now has the name.
    func give(
        _ transfer: AttributeTransfer, to object: TokenObject, _ name: String, _ writer: any StoreWriter,
        _ keys: VaultKeys
    ) throws {
        func hasName(_ item: ItemAttributes) -> Bool { item[.label]?.labelBytes == Data(name.utf8) }
        guard transfer.shares.isEmpty else {
            // The item that already has the name takes precedence over other items of the same owner.
            return try give(
                transfer.complete, to: object, called: .string(name), writer, keys, preferring: hasName)
        }
        let named = try keychain.tokenItems.openRows(object, keys, writer).first { hasName($0.attributes) }
        guard let share = transfer.complete.first else { return }
        try keychain.tokenItems.updateRow(.certificate, object, identity: named?.row.identity, share, [], writer, keys)
    }

    /// Gives a private key the attributes of the previous versions' keys, so that their owners can use the certificate.
    ///
    /// This applies to the private half only: a public key that is an item of its own outlives its pair, so each
    /// renewal would leave one behind.
    ///
    /// - Parameters:
    ///   - predecessors: The certificates of the previous versions. Nothing is done if the key is one of theirs.
    ///   - objects: The objects on the token.
    func giveKeyAttributes(
        of predecessors: [TokenObject], to publicKey: PublicKey, among objects: [TokenObject],
        _ writer: any StoreWriter, _ keys: VaultKeys
    ) throws {
        let before = Set(predecessors.compactMap(\.publicKeyHash))
        guard !before.contains(publicKey.identifier) else { return }
        let privateKeys = objects.filter { $0.objectClass == .privateKey }
        guard let key = privateKeys.first(where: { $0.keyIdentifier == publicKey.identifier }) else {
            return
        }
        let rows = try privateKeys.filter { before.contains($0.keyIdentifier) }
            .flatMap { try keychain.tokenItems.openRows($0, keys, writer) }
        var transfer = AttributeTransfer()
        for (_, stored) in rows.sorted(by: { $0.row.modified > $1.row.modified }) { transfer.add(stored) }
        let label = try keychain.tokenItems.openRows(key, keys, writer).first?.attributes[.label] ?? key.nameWithoutRow
        try give(transfer.shares, to: key, called: label, writer, keys)
    }

    /// Gives shares to the items of an object: each to the item of its owner, otherwise to one without an owner,
    /// otherwise to a new one.
    ///
    /// - Parameters:
    ///   - label: The name of new items.
    ///   - isPreferred: Selects among several items of one owner, by the attributes of their rows.
    private func give(
        _ shares: [ItemAttributes], to object: TokenObject, called label: AttributeValue?, _ writer: any StoreWriter,
        _ keys: VaultKeys, preferring isPreferred: (ItemAttributes) -> Bool = { _ in true }
    ) throws {
        guard let itemClass = object.itemClass else { return }
        var rows = try keychain.tokenItems.openRows(object, keys, writer)
        rows = rows.filter { isPreferred($0.attributes) } + rows.filter { !isPreferred($0.attributes) }
        var hasRows = !rows.isEmpty
        func give(_ share: ItemAttributes, to item: (row: SealedRow, attributes: ItemAttributes)?) throws {
            let own = item?.attributes ?? ItemAttributes()
            // The item keeps these attributes of its own; for the others the share takes precedence.
            var kept: Set<AttributeName> = [.applicationTag, .creator, .alias, .systemBound]
            if itemClass == .key { kept.insert(.comment) }
            var given = share.yielding(to: own).merging(own.filtered(kept))
            given.preferences = own.preferences + share.preferences.filter { !own.preferences.contains($0) }
            try keychain.tokenItems.updateRow(itemClass, object, identity: item?.row.identity, given, [], writer, keys)
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
            if let index = rows.firstIndex(where: { $0.attributes.hasNoGroup }) {
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

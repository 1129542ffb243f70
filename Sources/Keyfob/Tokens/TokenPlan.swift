import Foundation
import PKCS11

/// A change to several objects on the token, as it is written to the vault before the first of them is touched.
///
/// Several objects and a row cannot be one transaction. So the plan goes to disk first, then the objects
/// are changed, then one transaction writes the rows and removes the plan. A plan that is found at the next
/// opening was cut short: additions and renamings are undone, removals are finished. Either way every
/// identity is whole or not there, and nothing that was reported as done is lost.
struct TokenPlan: Codable, Sendable {
    enum Kind: String, Codable, Sendable {
        /// Objects are made; undone by destroying those that are there.
        case create
        /// Objects are destroyed; finished by destroying those that are left.
        case destroy
        /// Labels are changed; undone by putting the old ones back, and by removing the copies made meanwhile.
        case relabel
        /// Objects are made, and certificates get another label, as when a new one takes a name over. Objects with a
        /// new label are put back as by `relabel`, the others destroyed as by `create`.
        case install

        /// Whether objects are made, or written, that a kill may leave half-way.
        var writesObjects: Bool { self != .destroy }
    }

    /// One object, as it can be recognised on the token.
    struct Object: Codable, Sendable, Hashable {
        var objectClass: UInt
        /// `CKA_ID` while the change is under way, and after it; they differ for generated keys only.
        var ids: [Data]
        /// Where it is known in advance.
        var fingerprint: Data?
        /// `CKA_LABEL` before a change of labels.
        var oldLabel: Data?
        /// `CKA_LABEL` after it.
        var newLabel: Data?
        /// DER of a certificate that gets another label, to make it anew: a kill inside `C_SetAttributeValue` leaves
        /// SoftHSM with a file that is cut short, and the object is lost (seen at one kill in about fifty).
        var certificate: Data?
        /// Whether a copy of the object, the same but for the label, may be on the token while its label is changed;
        /// `nil` in the plans of earlier versions. Not where the token had two of it before: they must not be one
        /// after.
        var isCopied: Bool?

        /// Whether an object is this one.
        func matches(_ object: TokenObject) -> Bool {
            object.objectClass.rawValue == objectClass && ids.contains(object.id)
                && (fingerprint == nil || fingerprint == object.fingerprint)
        }
    }

    /// What becomes of an object when the plan is settled.
    enum Settlement {
        case destroy
        case restoreLabel
    }

    /// What becomes of one of the plan's objects when the plan was cut short.
    func settlement(of object: Object) -> Settlement {
        switch kind {
        case .create, .destroy: .destroy
        case .relabel: .restoreLabel
        case .install: object.newLabel == nil ? .destroy : .restoreLabel
        }
    }

    /// The objects as they were before the change, for those who look while it is under way: what was made is not
    /// there yet, and labels are the old ones. What is being destroyed is shown for as long as it is there.
    func hidden(from objects: [TokenObject]) -> [TokenObject] {
        guard kind != .destroy else { return objects }
        var shown: Set<Object> = []
        return objects.compactMap { object in
            guard let planned = self.objects.first(where: { $0.matches(object) }) else { return object }
            guard settlement(of: planned) == .restoreLabel else { return nil }
            // Of an object and its copy one is shown, whichever: nothing tells them apart.
            guard shown.insert(planned).inserted || planned.isCopied != true else { return nil }
            return object.relabelled(planned.oldLabel)
        }
    }

    /// Whether each object that gets another label is among those that somebody saw, or its copy is.
    ///
    /// SoftHSM's files are empty for a moment while they are written. Who listed the objects before the copy was made
    /// and reads the object then, sees neither.
    func areSeen(in objects: [TokenObject]) -> Bool {
        self.objects.allSatisfy { planned in planned.isCopied != true || objects.contains { planned.matches($0) } }
    }

    var kind: Kind
    var objects: [Object]
    /// Identities of rows that go with the objects.
    var rows: [Data] = []
    /// When it was written, before anything was done; `nil` in the plans of earlier versions.
    var begun: Date?
    /// The time of its ``Witness``; `nil` in the plans of earlier versions, which are believed without.
    var witness: Int?
}

extension TokenPlan.Object {
    /// The plan's entry for an object that is on the token.
    init(_ object: TokenObject) {
        self.init(
            objectClass: object.objectClass.rawValue, ids: [object.id], fingerprint: object.fingerprint,
            oldLabel: object.label?.bytes)
    }

    /// The plan's entry for an object that gets another label, among those that are on the token.
    init(_ object: TokenObject, newLabel: Data, among objects: [TokenObject]) {
        self.init(object)
        self.newLabel = newLabel
        certificate = object.certificateDER
        isCopied = objects.count { $0.isSame(as: object) } == 1
    }
}

/// Plans in the vault, sealed: they name objects that only the owner may know.
extension VaultKeys {
    func sealPlan(_ plan: TokenPlan, identity: Data, vault: Data) throws -> IntentRow {
        let bytes = [UInt8](try JSONEncoder().encode(plan))
        return IntentRow(
            plan: try seal(bytes, AdditionalData(.intent, vault: vault, row: identity)), identity: identity)
    }

    func openPlan(_ intent: IntentRow, vault: Data) throws -> TokenPlan {
        let bytes = try open(intent.plan, AdditionalData(.intent, vault: vault, row: intent.identity))
        do { return try JSONDecoder().decode(TokenPlan.self, from: Data(bytes)) } catch {
            throw VaultKeys.damaged(cause: error)
        }
    }

    /// Whether a plan can be read.
    func opens(_ intent: IntentRow, vault: Data) -> Bool {
        // Any reason that it does not open is the same answer.
        (try? openPlan(intent, vault: vault)) != nil
    }
}

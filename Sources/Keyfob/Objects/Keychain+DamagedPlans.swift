import KeyfobPrimitives
import Logging

/// Plans of interrupted changes to the token that nobody can read any more.
///
/// What such a change has made, or left half done, cannot be told, and so not be undone. Whoever looks sees the objects
/// as they are. Whoever is to change them is stopped, until somebody has the plan removed (``removeDamagedItems()``)
/// who has been told that objects of it may be left there.
extension Keychain {
    /// The plans that can be read. The log tells of the others, of each once.
    func plans(_ intents: [IntentRow], _ keys: VaultKeys) -> [TokenPlan] {
        intents.compactMap { intent in
            // Any reason that it does not open is the same to those who look.
            if let plan = try? keys.openPlan(intent, vault: store.identity) { return plan }
            if lockState.withLock({ $0.damagedPlans.insert(intent.id).inserted }) {
                options.logger.error(
                    "a damaged plan of an interrupted change is passed over", metadata: ["intent": "\(intent.id)"])
            }
            return nil
        }
    }

    /// The plans that cannot be read, with what a check of the keychain says of each.
    func damagedPlans(
        _ reader: any StoreReader, _ keys: VaultKeys
    ) throws -> [(id: Int64, finding: VaultFinding)] {
        try reader.intents().filter { !keys.opens($0, vault: store.identity) }.map { intent in
            let finding = VaultFinding(
                .intentDamaged,
                "a change to token \"\(token.label)\" was interrupted, and its plan fails its integrity check: objects "
                    + "of the change may be left there, and no key or certificate can be changed")
            return (intent.id, finding)
        }
    }
}

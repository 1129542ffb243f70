import Foundation
import KeyfobPrimitives

/// Witnesses of plans: each lies beside the vault for as long as its plan is under way.
///
/// A copy of the vault that was taken in the middle of a change holds the plan of it. To carry that out when the copy
/// is put back would destroy what has been imported again since, or whose import came to its end. A plan whose witness
/// is missing, or is of another time than the plan says, was not left here by a kill.
///
/// Made, asked and removed with the vault's lock held, or where the vault is being removed.
extension Witness {
    /// The witness of the plan with that identity; one that is there or not. It is removed once the plan is out of the
    /// vault; one that a kill leaves goes with `removeAll`.
    init(ofPlan plan: Data, in vault: String) { self.init(path: vault + Self.infix + plan.hexadecimal) }

    /// Removes what kills have left of the witnesses of a vault's plans.
    ///
    /// - Parameter plans: The identities of those plans that are under way.
    /// - Throws: `fileUnavailable` where the directory cannot be read.
    static func removeAll(ofPlansIn vault: String, besides plans: Set<Data> = []) throws(KeychainError) {
        let file = URL(fileURLWithPath: vault, isDirectory: false)
        let kept = Set(plans.map { file.lastPathComponent + infix + $0.hexadecimal })
        for name in try OpenDirectory.names(in: file.deletingLastPathComponent())
        where name.hasPrefix(file.lastPathComponent + infix) && !kept.contains(name) {
            Witness(path: vault + name.dropFirst(file.lastPathComponent.count)).remove()
        }
    }

    private static let infix = ".plan-"
}

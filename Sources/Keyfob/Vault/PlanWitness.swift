import CLinux
import Foundation
import KeyfobPrimitives

/// A file beside the vault, there for as long as a plan is under way: it tells the plan from one out of a backup.
///
/// A copy of the vault that was taken in the middle of a change holds the plan of it. To carry that out when the copy
/// is put back would destroy what has been imported again since, or whose import came to its end. A plan whose
/// ``Witness`` is missing, or is of another time than the plan says, was not left here by a kill.
///
/// Made, asked and removed with the vault's lock held, or where the vault is being removed.
struct PlanWitness {
    private let file: Witness

    /// The witness of the plan with that identity; one that is there or not.
    init(of plan: Data, in vault: String) { file = Witness(path: vault + Self.infix + plan.hexadecimal) }

    /// As `Witness.make`.
    func make() throws(KeychainError) -> Int { try file.make() }

    /// Whether it is the file that `make` made then.
    func isOriginal(of time: Int) -> Bool { file.isOriginal(of: time) }

    /// Removes it, once the plan is out of the vault. One that a kill leaves goes with `removeAll`.
    func remove() { file.remove() }

    /// Removes what kills have left of a vault's witnesses.
    ///
    /// - Parameter plans: The identities of those plans that are under way.
    /// - Throws: `fileUnavailable` where the directory cannot be read.
    static func removeAll(in vault: String, besides plans: Set<Data> = []) throws(KeychainError) {
        let file = URL(fileURLWithPath: vault, isDirectory: false)
        let kept = Set(plans.map { file.lastPathComponent + infix + $0.hexadecimal })
        for name in try OpenDirectory.names(in: file.deletingLastPathComponent())
        where name.hasPrefix(file.lastPathComponent + infix) && !kept.contains(name) {
            unsafe unlink(vault + name.dropFirst(file.lastPathComponent.count))
        }
    }

    private static let infix = ".plan-"
}

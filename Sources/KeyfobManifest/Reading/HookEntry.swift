package import Foundation
import KeyfobOpenSSL

/// A program that runs after a change.
package struct HookEntry: Sendable, Hashable {
    package let arguments: [String]
    /// After how many seconds the program is killed.
    package let timeout: Double
    /// Identifies the entry of the manifest after whose change the program runs.
    package let owner: Data

    package init(arguments: [String], timeout: Double = 600, owner: Data = Data()) {
        self.arguments = arguments
        self.timeout = timeout
        self.owner = owner
    }

    /// Whether two entries run the same program, which then runs once.
    func runsSame(as other: HookEntry) -> Bool { arguments == other.arguments && timeout == other.timeout }

    /// The identifier of an entry.
    ///
    /// It is a digest, because the vault does not show the names of its items.
    ///
    /// - Parameters:
    ///   - kind: The list of the manifest that has the entry.
    ///   - name: The name of the entry.
    package static func owner(_ kind: String, _ name: String) -> Data {
        Digest.sha256(Data("\(kind)\u{0}\(name)".utf8))
    }

    static func all(_ record: Record, of owner: Data) -> [HookEntry] {
        record.records("onChange").compactMap { hook in
            let words = hook.texts("run")
            return words.isEmpty
                ? nil : HookEntry(arguments: words, timeout: hook.seconds("timeout") ?? 600, owner: owner)
        }
    }
}

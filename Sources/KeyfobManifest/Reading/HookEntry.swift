/// A program that runs after a change.
package struct HookEntry: Sendable, Hashable, Codable {
    package let arguments: [String]
    /// After how many seconds the program is killed.
    package let timeout: Double

    package init(arguments: [String], timeout: Double = 600) {
        self.arguments = arguments
        self.timeout = timeout
    }

    static func all(_ record: Record) -> [HookEntry] {
        record.records("onChange").compactMap { hook in
            let words = hook.texts("run")
            return words.isEmpty ? nil : HookEntry(arguments: words, timeout: hook.seconds("timeout") ?? 600)
        }
    }
}

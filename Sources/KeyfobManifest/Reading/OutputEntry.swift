/// A file that programs read.
package struct OutputEntry: Sendable, Hashable {
    /// The content of the file.
    package enum Content: Sendable, Hashable { case chain, certificate, keyURI, value }

    package let content: Content
    package let path: String
    package let mode: UInt32
    package let owner: String?
    package let group: String?
    package let position: Position

    /// The files of a record.
    ///
    /// - Parameter members: The members that name a file, and the content of each.
    static func all(_ record: Record, _ members: [(String, Content)], defaultMode: UInt32) -> [OutputEntry] {
        members.compactMap { name, content in
            record.text(name).map { path in
                OutputEntry(
                    content: content, path: path, mode: record.integer("mode").map { UInt32($0) } ?? defaultMode,
                    owner: record.text("owner"), group: record.text("group"), position: record.position(of: name))
            }
        }
    }
}

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

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

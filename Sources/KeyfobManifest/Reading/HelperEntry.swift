/// A program that gets its passwords from Keyfob.
package struct HelperEntry: Sendable, Hashable {
    /// The word for the program, such as `git`.
    package let name: String
    /// The registries for which docker asks; empty for the other programs.
    package let registries: [String]
    /// The directory of the link; `nil` for the usual one.
    package let directory: String?
    package let position: Position

    /// The helpers of a record.
    static func all(_ record: Record?, _ problems: inout [ManifestProblem]) -> [HelperEntry] {
        guard let record else { return [] }
        let registries = record.texts("docker")
        if record.has("docker"), registries.isEmpty {
            problems.append(
                ManifestProblem(
                    "\"docker\" names no registry", at: record.position(of: "docker"),
                    hint: "docker: [registry.example.org]"))
        }
        let names = ["git", "cargo", "keyring"].filter { record.flag($0) } + (registries.isEmpty ? [] : ["docker"])
        return names.map { name in
            HelperEntry(
                name: name, registries: name == "docker" ? registries : [], directory: record.text("directory"),
                position: record.position(of: name))
        }
    }
}

/// A unit file of systemd (systemd.syntax(7)).
struct UnitFile {
    /// A section: its name, and its settings in their order.
    struct Section {
        let name: String
        var settings: [(name: String, value: String)]
    }

    let name: String
    let sections: [Section]

    /// The content of the file.
    var text: String {
        sections.map { section in
            "[\(section.name)]\n" + section.settings.map { "\($0.name)=\($0.value)\n" }.joined()
        }.joined(separator: "\n")
    }

    /// A command line of a service (systemd.service(5)). Nothing in the words is expanded.
    static func command(_ words: [String]) -> String {
        words.map { word($0.replacing("$", with: "$$")) }.joined(separator: " ")
    }

    /// A word of a setting that consists of several, such as a path.
    static func word(_ text: String) -> String {
        let escaped = text.replacing("%", with: "%%").replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            .replacing("\n", with: "\\n").replacing("\t", with: "\\t").replacing("\r", with: "\\r")
        let isPlain = !text.isEmpty && text.utf8.allSatisfy { byte in
            byte > 0x20 && byte < 0x7F && !"\"'\\;".utf8.contains(byte)
        }
        return isPlain ? escaped : "\"\(escaped)\""
    }
}

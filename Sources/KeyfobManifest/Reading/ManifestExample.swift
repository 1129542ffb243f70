/// A manifest to begin with.
package enum ManifestExample {
    /// The text: an example value for the usual members, and their meaning as comments. It is a valid manifest.
    package static func text(keychain: String) -> String {
        """
        # The secrets, keys and certificates of one keychain. A plan shows what an apply would change.
        # Editors can check this file with its schema.

        """ + lines(ManifestForms.manifest, "", replacing: ["keychain": keychain]).map { $0 + "\n" }.joined()
    }

    private static func lines(
        _ form: RecordForm, _ indent: String, replacing given: [String: String] = [:]
    ) -> [String] {
        form.fields.flatMap { field -> [String] in
            guard let example = given[field.name] ?? field.example else { return [] }
            let comment = "\(indent)# \(field.documentation)"
            switch field.form {
            case .list(.record(let element)):
                return [comment, "\(indent)\(field.name):"] + dashed(lines(element, indent + "    "), indent + "  ")
            case .record(let record): return [comment, "\(indent)\(field.name):"] + lines(record, indent + "  ")
            default: return [comment, "\(indent)\(field.name): \(example)"]
            }
        }
    }

    /// The lines of an element of a list: the first member follows the dash, and its comment stands before it.
    private static func dashed(_ lines: [String], _ indent: String) -> [String] {
        guard lines.count > 1 else { return lines }
        let first = lines[1].drop { $0 == " " }
        return [indent + String(lines[0].drop { $0 == " " }), indent + "- " + first] + lines.dropFirst(2)
    }
}

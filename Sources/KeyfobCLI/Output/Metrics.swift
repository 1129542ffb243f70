import Keyfob

/// Gauges in Prometheus' text format, for the textfile collector of its node exporter.
struct Metrics {
    private struct Family {
        let name: String
        let help: String
        var samples: [String]
    }

    private var families: [Family] = []

    /// Adds a sample. The samples of one name are printed together, as the format demands.
    ///
    /// - Parameters:
    ///   - name: The name without the prefix `keyfob_`.
    ///   - help: The description, of the first sample of each name.
    ///   - value: The value; `nil` adds nothing.
    ///   - labels: The labels.
    mutating func add(_ name: String, _ help: String, _ value: Int?, _ labels: KeyValuePairs<String, String>) {
        guard let value else { return }
        let list = labels.map { "\($0.key)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",")
        let sample = "keyfob_\(name){\(list)} \(value)\n"
        if let index = families.firstIndex(where: { $0.name == name }) {
            families[index].samples.append(sample)
        } else {
            families.append(Family(name: name, help: help, samples: [sample]))
        }
    }

    /// All samples; empty if there is none.
    var text: String {
        families.map { family in
            "# HELP keyfob_\(family.name) \(family.help)\n# TYPE keyfob_\(family.name) gauge\n"
                + family.samples.joined()
        }.joined()
    }

    /// The value of a label: the format escapes three characters, and control characters would break the line.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\"": escaped += "\\\""
            case "\n": escaped += "\\n"
            case _ where scalar.isControl: escaped += "?"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

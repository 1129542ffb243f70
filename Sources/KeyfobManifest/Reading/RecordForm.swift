/// A member of a record.
package struct Field: Sendable {
    let name: String
    let form: Form
    let isRequired: Bool
    /// One sentence for people who write manifests.
    let documentation: String
    /// The value in the example manifest; `nil` to leave the member out of it.
    let example: String?

    init(_ name: String, _ form: Form, required: Bool = false, _ documentation: String, example: String? = nil) {
        self.name = name
        self.form = form
        isRequired = required
        self.documentation = documentation
        self.example = example
    }
}

/// The members that a mapping of a manifest may have.
///
/// The reader, the JSON Schema and the example are made from these descriptions, so they cannot disagree.
package struct RecordForm: Sendable {
    /// The noun for messages, such as `secret`.
    let noun: String
    let fields: [Field]
    /// Groups of members of which exactly one must be given.
    let alternatives: [[String]]
    /// Pairs of members that exclude each other.
    let exclusions: [(String, String)]
    /// Whether the record holds a secret, so that members with a literal one get an error of their own.
    let holdsSecret: Bool

    init(
        _ noun: String, holdsSecret: Bool = false, exactlyOneOf alternatives: [[String]] = [],
        excluding exclusions: [(String, String)] = [], _ fields: [Field]
    ) {
        self.noun = noun
        self.fields = fields
        self.alternatives = alternatives
        self.exclusions = exclusions
        self.holdsSecret = holdsSecret
    }

    /// The member of that name, if the record has one.
    func field(_ name: String) -> Field? { fields.first { $0.name == name } }
}

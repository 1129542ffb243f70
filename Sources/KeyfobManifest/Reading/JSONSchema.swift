/// The JSON Schema of a manifest, for editors.
package enum JSONSchema {
    /// A value of JSON whose members keep their order.
    package indirect enum Value: Sendable {
        case text(String)
        case number(Int)
        case flag(Bool)
        case list([Value])
        case object([(String, Value)])
    }

    /// The schema (draft 2020-12). It is made from the descriptions that the reader uses.
    package static var manifest: Value {
        guard case .object(let members) = schema(ManifestForms.manifest) else {
            preconditionFailure("a record is an object")
        }
        return .object(
            [
                ("$schema", .text("https://json-schema.org/draft/2020-12/schema")),
                ("title", .text("Keyfob manifest")),
            ] + members)
    }

    private static func schema(_ form: RecordForm) -> Value {
        var members: [(String, Value)] = [
            ("type", .text("object")), ("additionalProperties", .flag(false)),
            (
                "properties",
                .object(
                    form.fields.map { field in
                        guard case .object(let members) = schema(field.form) else {
                            preconditionFailure("each schema is an object")
                        }
                        return (field.name, .object([("description", .text(field.documentation))] + members))
                    })
            ),
        ]
        let required = form.fields.filter(\.isRequired).map { Value.text($0.name) }
        if !required.isEmpty { members.append(("required", .list(required))) }
        var rules = form.alternatives.map { group in
            Value.object([("oneOf", .list(group.map { .object([("required", .list([.text($0)]))]) }))])
        }
        rules += form.exclusions.map { pair in
            .object([("not", .object([("required", .list([.text(pair.0), .text(pair.1)]))]))])
        }
        if !rules.isEmpty { members.append(("allOf", .list(rules))) }
        return .object(members)
    }

    private static func schema(_ form: Form) -> Value {
        switch form {
        // A scalar of YAML such as 12 is text too.
        case .text, .name, .path: .object([("type", .list([.text("string"), .text("number"), .text("boolean")]))])
        case .integer(let range):
            .object([
                ("type", .text("integer")), ("minimum", .number(range.lowerBound)),
                ("maximum", .number(range.upperBound)),
            ])
        case .flag: .object([("type", .text("boolean"))])
        case .choice(let choices): .object([("enum", .list(choices.map { .text($0) }))])
        case .duration:
            .object([("type", .text("string")), ("pattern", .text("^[0-9]+(\\.[0-9]+)?(ms|s|m|h|d|w|y)$"))])
        case .percentage: .object([("type", .text("string")), ("pattern", .text("^[1-9][0-9]?%$"))])
        case .mode:
            .object([("type", .list([.text("string"), .text("integer")])), ("pattern", .text("^[0-7]{3,4}$"))])
        case .source(let prefixes):
            .object([
                ("type", .text("string")), ("pattern", .text("^(" + prefixes.joined(separator: "|") + ")")),
            ])
        case .list(let form): .object([("type", .text("array")), ("items", schema(form))])
        case .record(let form): schema(form)
        case .map(let form): .object([("type", .text("object")), ("additionalProperties", schema(form))])
        }
    }
}

import Keyfob

/// The settings of keys and identities of a manifest that have none of their own.
struct ManifestDefaults {
    /// The kind of keys, and whether they may leave the token.
    let key: Record?
    let renewalTime: RenewalTime?

    init(_ record: Record?) {
        key = record?.record("key")
        renewalTime = record.flatMap { RenewalTime($0) }
    }

    /// The record that says what kind a key is: its own, unless only the defaults do.
    func kind(_ own: Record?) -> Record? {
        if let own, Self.namesKind(own) { return own }
        return key.flatMap { Self.namesKind($0) ? $0 : nil }
    }

    /// Whether a record says what kind a key is.
    private static func namesKind(_ record: Record) -> Bool {
        ["type", "size", "curve"].contains { record.has($0) }
    }
}

extension RenewalTime {
    /// The time of a record; `nil` if it names none.
    init?(_ record: Record) {
        if let percentage = record.integer("renewAt") {
            self = .after(fraction: Double(percentage) / 100)
        } else if let seconds = record.seconds("renewBefore") {
            self = .beforeEnd(seconds)
        } else {
            return nil
        }
    }
}

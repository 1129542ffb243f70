extension ItemAttributes {
    /// The name of an item in messages.
    package func title(of itemClass: ItemClass) -> String {
        let candidates: [AttributeName] = switch itemClass {
        case .genericPassword: [.service, .label, .account]
        case .internetPassword: [.server, .label, .account]
        default: [.label]
        }
        return candidates.lazy.compactMap { self[$0]?.text }.first { !$0.isEmpty } ?? "(no name)"
    }
}

import Keyfob

extension Keychain {
    /// Returns distinct names of passwords, for suggestions and completions: as many as `time` and `limit` allow.
    func passwordNames(prefix: String = "", limit: Int, within time: Duration) -> [String] {
        let end = ContinuousClock.now + time
        var names: Set<String> = []
        var seen = 0
        func take(_ item: Item) -> Bool {
            let name = item.nameText
            if name.utf8.starts(with: prefix.utf8) { names.insert(name) }
            seen += 1
            return seen < limit && ContinuousClock.now < end
        }
        do {
            try forEachPassword(of: [.genericPassword, .internetPassword], damaged: { _ in }) { take($0) }
        } catch {
            // Offers the names found so far.
            return names.sorted()
        }
        return names.sorted()
    }
}

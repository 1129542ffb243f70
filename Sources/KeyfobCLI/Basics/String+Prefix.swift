extension String {
    /// The part after a prefix, or `nil` if the string does not have it.
    func dropping(prefix: String) -> String? {
        utf8.starts(with: prefix.utf8) ? String(utf8.dropFirst(prefix.utf8.count)) : nil
    }
}

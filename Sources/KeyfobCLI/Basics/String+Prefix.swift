extension String {
    /// The part after a prefix, or `nil` if the string does not have it.
    func dropping(prefix: String) -> String? { hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil }
}

/// Waits until something is so, for as long as a busy machine may need.
///
/// Looks are counted, and not time: where a test's own work stands in the queue for minutes, so does what it waits for.
///
/// - Parameter looks: How often to look, every ten milliseconds at best.
/// - Returns: Whether it is.
/// - Throws: `CancellationError`.
func isSoon(looks: Int = 24_000, _ condition: () -> Bool) async throws -> Bool {
    for _ in 0..<looks {
        if condition() { return true }
        try await Task.sleep(for: .milliseconds(10))
    }
    return condition()
}

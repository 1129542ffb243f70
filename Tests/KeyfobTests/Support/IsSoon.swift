/// Waits until a condition holds, for as long as a busy machine may need.
///
/// Checks are counted instead of time: if a test's own work waits in the queue for minutes, so does the work that it
/// waits for.
///
/// - Parameter looks: How often to check, every ten milliseconds at best.
/// - Returns: Whether the condition holds.
/// - Throws: `CancellationError`.
func isSoon(looks: Int = 24_000, _ condition: () -> Bool) async throws -> Bool {
    for _ in 0..<looks {
        if condition() { return true }
        try await Task.sleep(for: .milliseconds(10))
    }
    return condition()
}

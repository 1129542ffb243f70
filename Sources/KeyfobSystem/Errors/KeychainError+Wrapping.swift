extension KeychainError {
    /// Runs `body` and converts its error into a `KeychainError` with `message`.
    ///
    /// A `KeychainError` is rethrown unchanged, because it is more specific.
    package static func wrapping<Result>(
        _ message: String, code: Code = .failed, _ body: () throws -> Result
    ) throws(KeychainError) -> Result {
        do {
            return try body()
        } catch let error as KeychainError {
            throw error
        } catch {
            throw KeychainError(code, message, cause: error)
        }
    }
}

extension KeychainError {
    /// Runs `body` and turns what it throws into a `KeychainError` with `message`.
    ///
    /// A `KeychainError` passes as it is: it says more already.
    static func wrapping<Result>(
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

import Keyfob

extension KeychainError {
    /// Returns the error with another message or other remedies.
    func replacing(message: String? = nil, remedies: [Remedy]? = nil) -> KeychainError {
        KeychainError(
            code, message ?? self.message, remedies: remedies ?? self.remedies, details: details, cause: cause)
    }
}

import Foundation
import KeyfobOpenSSL

/// Destroying older versions of identities.
extension KeychainIdentities {
    /// Destroys the older versions of an identity, except the ones that were in use last.
    ///
    /// A version that is still needed, because it is trusted or issued a certificate in use, stays. So does one that
    /// cannot be destroyed; the others are destroyed nevertheless.
    ///
    /// - Parameters:
    ///   - installation: The result of the renewal. The version that it replaced counts as the latest, and the others
    ///     follow in the order in which they became valid.
    ///   - count: The number of older versions to keep.
    /// - Returns: The names of the destroyed versions, and the error of the first version that could not be destroyed.
    /// - Throws: `KeychainError`; the errors of `versions(of:)`. Nothing is destroyed then.
    @available(*, noasync, message: "use the asynchronous form")
    public func retireVersions(
        after installation: IdentityInstallation, keeping count: Int
    ) throws -> (retired: [String], failure: (any Error)?) {
        try keychain.withDeadline { [self] in
            // A version that several access groups see is several items.
            var seen: Set<Data> = []
            let older = try versions(of: installation.identity)
                .filter { $0.nameOfVersion != nil && seen.insert($0.der).inserted }
                .map { version in
                    let isLatest = installation.kept.contains { $0 == version.label }
                    return (version, isLatest ? .distantFuture : try version.certificate().notBefore)
                }
                .sorted { $0.1 > $1.1 }
            var retired: [String] = []
            var failure: (any Error)?
            for (version, _) in older.dropFirst(max(0, count)) {
                do {
                    guard try !isNeeded(version) else { continue }
                    try retire(version)
                    if let label = version.label { retired.append(label) }
                } catch {
                    failure = failure ?? error
                }
            }
            return (retired, failure)
        }
    }

    /// Destroys the older versions of an identity, except the ones that were in use last.
    ///
    /// - Returns: The names of the destroyed versions, and the error of the first version that could not be destroyed.
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func retireVersions(
        after installation: IdentityInstallation, keeping count: Int
    ) async throws -> (retired: [String], failure: (any Error)?) {
        try await keychain.run { try self.retireVersions(after: installation, keeping: count) }
    }

    /// The older versions of all identities that are not needed any more.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of reading the token.
    package func unneededVersions() throws -> [Identity] {
        try keychain.find(.identities.ordered(by: .label)).filter { try $0.nameOfVersion != nil && !isNeeded($0) }
    }

    /// Whether an older version must stay, because it is trusted or issued a certificate in use.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of reading the token.
    private func isNeeded(_ version: Identity) throws -> Bool {
        do { try requireUnneeded([version]) } catch let error as KeychainError where error.code == .refused {
            return true
        }
        return false
    }
}

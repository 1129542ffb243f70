package import Keyfob
package import KeyfobPrimitives

/// The values that the sources of a manifest give; each source is read once.
package final class SecretSources: Sendable {
    private let environment: PINEnvironment
    private let values = Lock<[Reading: SecretBytes]>([:])

    /// A source, and whether all lines are read: a passphrase is the first one.
    private struct Reading: Hashable {
        let source: PINSource
        let isPassphrase: Bool
    }

    package init(_ environment: PINEnvironment) { self.environment = environment }

    /// The value of a secret.
    ///
    /// - Throws: `KeychainError` of the source, with the place in the manifest.
    package func value(of entry: SecretEntry, from source: PINSource) throws(KeychainError) -> SecretBytes {
        try read(Reading(source: source, isPassphrase: false), .value(of: entry.name), for: entry.position)
    }

    /// The passphrase of the files of an identity; `nil` if the manifest names no source.
    ///
    /// - Throws: `KeychainError` of the source, with the place in the manifest.
    func passphrase(of entry: ImportEntry) throws(KeychainError) -> SecretBytes? {
        guard let source = entry.passphrase else { return nil }
        return try read(
            Reading(source: source, isPassphrase: true), .file(entry.paths.first ?? ""), for: entry.position)
    }

    private func read(
        _ reading: Reading, _ purpose: PINPurpose, for position: Position
    ) throws(KeychainError) -> SecretBytes {
        if let known = values.withLock({ $0[reading] }) { return known }
        do throws(KeychainError) {
            let value = try reading.source.read(purpose, from: environment)
            values.withLock { $0[reading] = value }
            return value
        } catch {
            throw error.with(message: "\(position): \(error.message)")
        }
    }
}

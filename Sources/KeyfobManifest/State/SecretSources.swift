package import Keyfob
package import KeyfobPrimitives

/// The values that the sources of a manifest give; each source is read once.
package final class SecretSources: Sendable {
    private let environment: PINEnvironment
    private let values = Lock<[PINSource: SecretBytes]>([:])

    package init(_ environment: PINEnvironment) { self.environment = environment }

    /// The value of a secret.
    ///
    /// - Throws: `KeychainError` of the source, with the place in the manifest.
    package func value(of entry: SecretEntry, from source: PINSource) throws(KeychainError) -> SecretBytes {
        try read(source, .value(of: entry.name), for: entry.position)
    }

    /// The passphrase of the files of an identity; `nil` if the manifest names no source.
    ///
    /// - Throws: `KeychainError` of the source, with the place in the manifest.
    func passphrase(of entry: ImportEntry) throws(KeychainError) -> SecretBytes? {
        guard let source = entry.passphrase else { return nil }
        return try read(source, .file(entry.paths.first ?? ""), for: entry.position)
    }

    private func read(
        _ source: PINSource, _ purpose: PINPurpose, for position: Position
    ) throws(KeychainError) -> SecretBytes {
        if let known = values.withLock({ $0[source] }) { return known }
        do throws(KeychainError) {
            let value = try source.read(purpose, from: environment)
            values.withLock { $0[source] = value }
            return value
        } catch {
            throw error.with(message: "\(position): \(error.message)")
        }
    }
}

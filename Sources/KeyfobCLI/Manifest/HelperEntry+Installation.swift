import Keyfob
import KeyfobManifest

/// The installation of the helpers of a manifest, as `keyfob helper install --configure` does it.
extension HelperEntry {
    /// The missing part: the link by which the other program finds the helper, or its entry in the configuration.
    ///
    /// - Throws: `KeychainError`; `refused` if the link belongs to another program, and the errors of reading the
    ///   configuration.
    func missing() throws -> [String] {
        try explaining { report in
            try report.link?.requireOwn()
            let isLinked = try report.link.map { $0.state == .linked(try HelperLink.target) } ?? true
            return (isLinked ? [] : ["link"]) + (report.isConfigured == false ? ["configuration"] : [])
        }
    }

    /// Makes what is missing.
    ///
    /// - Throws: `KeychainError` if a file cannot be written.
    func install() throws {
        let missing = try missing()
        try explaining { report in
            if missing.contains("link") { try report.link?.make(to: HelperLink.target) }
            if missing.contains("configuration") { try report.configuration.add() }
        }
    }

    /// Runs `body` with the state of the helper, and adds the place in the manifest to its errors.
    private func explaining<Result>(_ body: (HelperReport) throws -> Result) throws -> Result {
        // The form of a manifest has only these words.
        guard let program = HelperProgram(rawValue: name) else { preconditionFailure("unknown helper \(name)") }
        do {
            return try body(
                HelperReport(
                    HelperConfiguration(program: program, registries: registries), in: HelperLink.Folder(directory)))
        } catch let error as KeychainError { throw error.with(message: "\(position): \(error.message)") }
    }
}

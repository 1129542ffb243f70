import ArgumentParser
import Foundation
import Keyfob
import KeyfobManifest

/// A manifest, the keychain that it describes, and what has to be done there.
struct ManifestSession {
    let manifest: Manifest
    let plan: Plan
    /// The values of the manifest's sources, each read once.
    let sources: SecretSources
    private let global: GlobalOptions
    /// The keychain; `nil` if it does not exist.
    private let existing: Keychain?

    /// Compares a manifest with its keychain.
    ///
    /// - Parameter unprotects: Whether protected items may be removed.
    /// - Throws: `KeychainError` of the keychain, a source or the manifest.
    init(_ manifest: Manifest, _ global: GlobalOptions, unprotects: Bool) throws {
        self.manifest = manifest
        self.global = global
        sources = SecretSources(global.pinEnvironment(noInput: true))
        let exists = try Keychains().listing().names.contains { $0.isIdentical(to: manifest.keychain) }
        let keychain = exists ? try Self.open(manifest, global) : nil
        existing = keychain
        plan = try ManifestFiles.explaining { [sources] in
            var state =
                try keychain.map { try KeychainState(of: manifest, in: $0, sources) }
                ?? KeychainState(withoutKeychain: manifest, sources)
            for entry in manifest.helpers { state.missingOfHelpers[entry] = try entry.missing() }
            return try Planner.plan(manifest, for: state, unprotects: unprotects)
        }
    }

    private static func open(_ manifest: Manifest, _ global: GlobalOptions) throws -> Keychain {
        var options = try global.keychainOptions()
        options.pinSource = options.pinSource ?? manifest.pinSource
        return try Keychain.open(manifest.keychain, options: options)
    }

    /// The keychain, which is made if it does not exist.
    ///
    /// - Throws: `KeychainError` of making it.
    func keychain(_ output: Output) throws -> Keychain {
        if let existing { return existing }
        var words = manifest.isUnattended ? ["--unattended"] : []
        if let file = manifest.recoveryFile { words += ["--recovery-file", file] }
        var global = global
        global.keychain = nil
        global.token = manifest.token
        global.pinSource = global.pinSource ?? manifest.pinSource?.description
        // The report is that of the plan.
        let silent = Output(format: .table, colour: output.colour, isQuiet: true, verbosity: 0)
        try NewKeychain(
            name: manifest.keychain, options: try CreationOptions.parse(words), global: global, output: silent
        ).make()
        return try Self.open(manifest, self.global)
    }

    /// Carries out the plan. `report` is called after each change, on any thread.
    ///
    /// - Throws: `KeychainError` of the first change that failed, or of a program.
    func apply(to keychain: Keychain, _ output: Output, report: @escaping @Sendable (Change) -> Void) throws {
        let issuance = try IssuerOptions.parse([])
        let tools = ManifestApplication.Tools(
            issuer: { [global] in try $0.resolved(for: keychain, global, issuance) },
            run: { hook in
                let command = "exec " + hook.arguments.map { ShellWord.quoted($0) }.joined(separator: " ")
                let status = try RenewalHook.run(command, limit: .seconds(hook.timeout))
                if status == 0 { try output.say(PlanReport.line(hook) + "  done") }
                return status
            },
            install: { try $0.install() }, report: report, step: { output.tell(step: $0) })
        try ManifestFiles.explaining {
            try ManifestApplication(plan, to: keychain, sources, tools).run()
        }
    }
}

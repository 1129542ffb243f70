package import PKCS11

extension PKCS11Error {
    /// Whether the module itself could not be loaded or initialised, for another reason than a busy or forked process.
    var isFailureOfModule: Bool {
        [.moduleLoad, .modulesLoad, .initialize].contains(function) && returnValue != .cantLock && !isBusy
    }
}

extension KeychainError {
    /// Returns the error for a module that cannot be loaded or initialised.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - name: The path or name by which the user chose the module; `nil` if the user chose none.
    ///   - parameters: The parameters that the user gave for the module.
    ///   - details: Further details.
    /// - Returns: The error, with code `moduleNotLoaded`.
    package static func module(
        _ error: PKCS11Error, named name: String?, parameters: String? = nil, details: [String: String] = [:]
    ) -> KeychainError {
        let subject = name.map { "PKCS#11 module \"\($0)\"" } ?? "a PKCS#11 module"
        var details = details
        if let name { details["module"] = name }
        guard error.function != .initialize else {
            // Libraries with a daemon report a stopped daemon with one of several general errors.
            let detail = error.detail.map { " (\($0))" } ?? ""
            // By its file, because the library has not answered.
            let profile = TokenProfile(of: .init(file: name))
            let wantsParameters = error.returnValue == .argumentsBad || profile.has(.needsParameters)
            let causes: [Remedy] = wantsParameters
                ? parameterRemedies(profile, isGiven: parameters != nil)
                : ["Is the service behind it running, and its device plugged in? Start the service and try again."]
            return KeychainError(
                .moduleNotLoaded, "\(subject) cannot be started: \(error.returnValue.name) from C_Initialize\(detail).",
                remedies: causes + [Remedy("See which tokens are present", .listTokens)],
                details: details, cause: error)
        }
        // The detail starts with the path. If the module was named by its path, the message contains it already.
        let detail = error.detail ?? error.returnValue.name
        let prefix = (name ?? "") + ": "
        let reason = detail.hasPrefix(prefix) ? String(detail.dropFirst(prefix.count)) : detail
        let remedy: Remedy
        if reason.contains("as a registered module") {
            remedy = "p11-kit does not load its proxy. Name one of the modules behind it: p11-kit list-modules"
        } else if name != nil {
            remedy = Remedy("Install the package that has it, or correct the path", .change(.module))
        } else {
            remedy = "Install the package that has it, or correct the path."
        }
        return KeychainError(
            .moduleNotLoaded, "\(subject) cannot be loaded: \(reason).", remedies: [remedy], details: details,
            cause: error)
    }

    /// Returns how to give a module its parameters.
    private static func parameterRemedies(_ profile: TokenProfile, isGiven: Bool) -> [Remedy] {
        [
            Remedy(
                isGiven ? "It does not accept these parameters. They have this form"
                    : "It does not start without parameters",
                .change(.moduleParameters(profile.parameterExample))),
            "Or register it with p11-kit (x-init-reserved in its .module file), and use its name there.",
        ]
    }
}

extension TokenProfile {
    /// A parameter that the library needs, as a word for a shell.
    package var parameterExample: String { requiredParameter.map { "\"\($0)'sql:DIRECTORY'\"" } ?? "TEXT" }
}

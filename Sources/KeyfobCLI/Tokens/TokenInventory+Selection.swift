import Keyfob

extension TokenInventory {
    /// Finds the one token with a label or URI: Keyfob's own, or else one in the module that the user named, or in all
    /// modules.
    ///
    /// - Throws: `KeychainError.tokenAbsent`, `tokenAmbiguous`, `moduleNotLoaded`.
    static func entry(_ name: String, _ global: GlobalOptions, _ location: ModuleOptions?) throws -> Entry {
        let own = try own().matches(name)
        if own.count == 1, location?.module == nil { return own[0] }
        return try TokenInventory(
            includesAll: true, module: location?.module ?? TokenChoice.moduleName(in: name) ?? global.modulePath,
            parameters: location?.moduleParameters
        ).entry(name)
    }
}

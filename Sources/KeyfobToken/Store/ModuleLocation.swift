/// The location of a PKCS#11 module.
public enum ModuleLocation: Codable, Sendable, Hashable {
    /// SoftHSM with Keyfob's own directory of tokens.
    case softHSM
    /// A shared library, and the parameters that it takes when it starts.
    case path(String, parameters: String? = nil)
    /// A module, by its name in p11-kit's configuration.
    case registered(String)
}

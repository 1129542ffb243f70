import ArgumentParser
import PKCS11

/// A name for something that is made or imported.
enum NewName {
    /// Refuses a name by which nothing would be found again: an empty one, and one that begins like a URI.
    ///
    /// - Throws: `ValidationError`.
    static func check(_ name: String) throws {
        guard !name.isEmpty else { throw ValidationError(UsageError.emptyName.message) }
        try requireNoURI(name)
    }

    /// Refuses a name that every other command takes for a URI.
    ///
    /// - Throws: `ValidationError`.
    static func requireNoURI(_ name: String) throws {
        guard !PKCS11URI.hasScheme(name) else {
            throw ValidationError("A name that begins with \"pkcs11:\" is a URI to every other command.")
        }
    }
}

import ArgumentParser
import PKCS11

/// A name for something that is made or imported.
enum NewName {
    /// Refuses a name by which nothing would be found again.
    ///
    /// - Throws: `ValidationError`.
    static func requireNoURI(_ name: String) throws {
        guard !PKCS11URI.hasScheme(name) else {
            throw ValidationError("A name that begins with \"pkcs11:\" is a URI to every other command.")
        }
    }
}

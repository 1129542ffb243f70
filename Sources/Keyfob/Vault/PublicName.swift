import Foundation

/// The name of an object that the token shows without a login, such as a certificate.
///
/// It is stored in clear beside the sealed attributes, so that a locked keychain can list its certificates by name. It
/// is not authenticated: an unlocked keychain takes the name from the sealed attributes.
struct PublicName: Hashable, Sendable {
    /// The fingerprint of the object.
    let object: Data
    /// The name; `nil` for an object that a change is making or destroying, because lists omit those.
    let name: String?
}

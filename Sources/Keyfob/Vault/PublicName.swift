import Foundation

/// The name of an object that the token shows without a login, such as a certificate.
///
/// Kept in clear beside the sealed attributes, so that a locked keychain lists its certificates by their names. Nothing
/// authenticates it: an unlocked keychain takes the name from the sealed attributes.
struct PublicName: Hashable, Sendable {
    /// The fingerprint of the object.
    let object: Data
    /// The name; `nil` for an object that a change is making or destroying, which no list shows.
    let name: String?
}

public import Foundation

/// Creates an access control; SecAccessControl.h.
///
/// The constraints are stored with the item and returned with it. Their effect here:
///
/// - `userPresence`, `biometryAny`, `biometryCurrentSet`, `devicePasscode` and `companion` all require the passphrase
///   or PIN of the keychain: a machine without a sensor has no other proof of presence. Every `SecItemCopyMatching`
///   that returns the **data** of such an item asks for it. So does every **use of a private key** on the token with
///   such an access control: a signature, a decryption, a key agreement, or an export. How long the keychain has been
///   unlocked does not matter. Using the public half requires no confirmation. The keychain's PIN program (pinentry)
///   asks, or the prompter of the keychain that was given to `SecKeychainUse`. Without either, or if `KEYFOB_NO_INPUT`
///   is set or the PIN comes from a file, the call returns `errSecInteractionNotAllowed`. A wrong answer returns
///   `errSecAuthFailed`. Returning attributes and references, and changing and deleting items, requires no
///   confirmation.
/// - `kSecUseAuthenticationUI` with `…Fail` refuses, and with `…Skip` leaves out, every item that requires user
///   presence. The same goes for items with `applicationPassword` if the call has no `kSecUseCredentialReference`.
/// - `privateKeyUsage` is refused on passwords (`errSecAuthFailed`). By itself it requires nothing.
/// - Only the functions of this module enforce an access control. Other ways to use the token, including Keyfob's own
///   calls, do not. A token that requires its PIN for every signature (`CKA_ALWAYS_AUTHENTICATE`) does so in any case.
/// - `applicationPassword` on passwords: data that is added with `kSecUseCredentialReference` is sealed under those
///   bytes, in addition to the encryption of the vault. A call must supply the same bytes to read the data, to replace
///   the data or the access control, and to test with no `kSecReturn…` key whether the item exists; otherwise it
///   returns `errSecAuthFailed`. An item that was added without `kSecUseCredentialReference` has no password and
///   requires none. On keys and certificates the flag is **stored and not enforced**.
///
/// - Parameters:
///   - allocator: Ignored.
///   - protection: One of the `kSecAttrAccessible…` values.
///   - flags: The required authentication. Several constraints without `or` must all be met.
///   - error: Receives the error, owned by the caller: `errSecParam` for an unknown protection, for unknown flags, for
///     `or` with `and`, for both flags of biometry, and for `userPresence` with anything but `applicationPassword` and
///     `privateKeyUsage`.
/// - Returns: The access control; `nil` on error.
@discardableResult
public func SecAccessControlCreateWithFlags(
    _ allocator: CFAllocator?, _ protection: CFTypeRef, _ flags: SecAccessControlCreateFlags,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecAccessControl? {
    unsafe reporting(error) {
        guard let text = protection as? NSString, SecAccessControl.protections.contains(String(text)) else {
            throw StatusError.parameter("the protection is not known")
        }
        try SecAccessControl.check(flags)
        return SecAccessControl(protection: String(text), flags: flags)
    }
}

extension SecAccessControl {
    /// Checks that flags are known and can be combined.
    ///
    /// - Throws: `StatusError` (`errSecParam`) if not.
    fileprivate static func check(_ flags: SecAccessControlCreateFlags) throws(StatusError) {
        let known: SecAccessControlCreateFlags = [
            .userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode, .companion, .or, .and, .privateKeyUsage,
            .applicationPassword,
        ]
        guard known.isSuperset(of: flags) else { throw .parameter("a flag is not known") }
        guard !flags.isSuperset(of: [.or, .and]) else { throw .parameter("or and and exclude each other") }
        guard !flags.isSuperset(of: [.biometryAny, .biometryCurrentSet]) else {
            throw .parameter("the two flags of biometry exclude each other")
        }
        let companions: SecAccessControlCreateFlags = [.userPresence, .applicationPassword, .privateKeyUsage]
        guard !flags.contains(.userPresence) || companions.isSuperset(of: flags) else {
            throw .parameter("userPresence goes with no other constraint")
        }
    }
}

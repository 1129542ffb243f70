public import Foundation

/// An access control; SecAccessControl.h.
///
/// Constraints are kept with the item and given back. What they do here:
///
/// - `userPresence`, `biometryAny`, `biometryCurrentSet`, `devicePasscode` and `companion` all stand for the passphrase
///   or the PIN of the keychain: a machine without a sensor has no other proof that somebody is there. It is asked for
///   anew by every `SecItemCopyMatching` that gives out the **data** of such an item, and by every **use of a private
///   key** on the token that has such an access control (a signature, a decryption, a key agreement, an export of one
///   that may leave), however long the keychain has been unlocked. What the public half does asks nobody.
///   The keychain's PIN program (pinentry) asks, or the prompter of a keychain that was given to `SecKeychainUse`.
///   Where there is neither, or `KEYFOB_NO_INPUT` is set, or the PIN comes from a file, the call gives
///   `errSecInteractionNotAllowed`; a wrong answer gives `errSecAuthFailed`. Attributes and references are given out,
///   and items changed and deleted, without asking.
/// - `kSecUseAuthenticationUI` with `…Fail` or `…Skip` refuses or leaves out every item that asks for somebody to be
///   there, and those with `applicationPassword` where the call has no `kSecUseCredentialReference`.
/// - `privateKeyUsage` is refused on passwords (`errSecAuthFailed`). By itself it asks for nothing.
/// - The functions of this module keep to an access control; who uses the token by another way, Keyfob's own calls
///   included, is not asked. A token that asks for its PIN at every signature (`CKA_ALWAYS_AUTHENTICATE`) does so
///   whatever stands here.
/// - `applicationPassword` on passwords: data that is added with `kSecUseCredentialReference` is sealed under the bytes
///   in there, besides what the vault does. Whoever reads it, gives it other data or another access control, or asks
///   with no `kSecReturn…` key whether it is there must bring the same bytes: `errSecAuthFailed` otherwise. Without
///   `kSecUseCredentialReference` there is no password, and nothing is asked. On keys and certificates it is **kept and
///   not enforced**.
///
/// - Parameters:
///   - allocator: Without effect.
///   - protection: One of the `kSecAttrAccessible…` values.
///   - flags: What must be shown. Several constraints without `or` must all be met.
///   - error: Takes `errSecParam` for an unknown protection, for unknown flags, for `or` with `and`, for both flags of
///     biometry, and for `userPresence` with anything but `applicationPassword` and `privateKeyUsage`. The caller owns
///     it.
/// - Returns: The access control; `nil` where there is an error.
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
    /// Whether flags go together. - Throws: `StatusError` (`errSecParam`) where they do not.
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

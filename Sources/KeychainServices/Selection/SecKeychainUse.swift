public import Keyfob

// Apple's functions take no keychain. These are the only functions of the module that Apple does not have.

/// Chooses the keychain that the functions of this module work on, for the whole process.
///
/// Until then it is the keychain that `KEYFOB_KEYCHAIN` names, else the user's default one, else `login`. Calls that
/// run at this moment may end on the keychain that they began with.
///
/// ```swift
/// SecKeychainUse(try Keychain.open("payments"))
/// ```
///
/// - Parameter keychain: The keychain; `nil` goes back to environment and configuration.
public func SecKeychainUse(_ keychain: Keychain?) {
    KeychainSelection.choose { $0.keychain = keychain }
}

/// Chooses the access groups that the functions of this module may use, for the whole process.
///
/// The first is the group of what is added without one. Calls that name a group outside of the list fail with
/// `errSecMissingEntitlement`; what is in such a group is not found. `*` stands for every group, and the group without
/// a name, the empty string, is the one of items that the command and the Swift API stored. An empty list allows
/// nothing.
///
/// Until then the list is that of `KEYFOB_ACCESS_GROUPS`, names with commas between them, else `accessGroups` of the
/// keychain's configuration, else the group without a name alone.
///
/// - Parameter groups: The groups; `nil` goes back to environment and configuration.
public func SecAccessGroupsUse(_ groups: [String]?) {
    KeychainSelection.choose { $0.accessGroups = groups.map { AccessGroups($0) } }
}

/// Runs `body` with a keychain and access groups of its own, which nobody outside of it sees.
///
/// Tests that run beside each other need it. Tasks that `body` starts inherit the choice; threads do not, nor do blocks
/// that it gives to a queue. `SecTrustEvaluateAsyncWithError` and its older form take it along.
///
/// - Parameters:
///   - keychain: The keychain; `nil` leaves what is chosen outside.
///   - accessGroups: The groups, as for `SecAccessGroupsUse`; `nil` leaves what is chosen outside.
///   - body: What runs with them.
/// - Throws: What `body` throws.
public func SecKeychainUse<Result>(
    _ keychain: Keychain?, accessGroups: [String]? = nil, during body: () throws -> Result
) rethrows -> Result {
    try KeychainSelection.$ofBlock.withValue(choice(keychain, accessGroups), operation: body)
}

/// Runs `body` with a keychain and access groups of its own, which nobody outside of it sees.
///
/// - Parameters:
///   - keychain: The keychain; `nil` leaves what is chosen outside.
///   - accessGroups: The groups, as for `SecAccessGroupsUse`; `nil` leaves what is chosen outside.
///   - isolation: The caller's actor.
///   - body: What runs with them.
/// - Throws: What `body` throws.
public func SecKeychainUse<Result>(
    _ keychain: Keychain?, accessGroups: [String]? = nil, isolation: isolated (any Actor)? = #isolation,
    during body: () async throws -> Result
) async rethrows -> Result {
    try await KeychainSelection.$ofBlock.withValue(choice(keychain, accessGroups), operation: body)
}

/// The choice of a block within that of the block around it.
private func choice(_ keychain: Keychain?, _ accessGroups: [String]?) -> KeychainSelection.Choice {
    let outer = KeychainSelection.ofBlock
    return KeychainSelection.Choice(
        keychain: keychain ?? outer?.keychain,
        accessGroups: accessGroups.map { AccessGroups($0) } ?? outer?.accessGroups)
}

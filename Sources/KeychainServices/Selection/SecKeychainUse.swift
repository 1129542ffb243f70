public import Keyfob

// Apple's functions take no keychain. These are the only public functions of the module that Apple does not have.

/// Chooses the keychain for the functions of this module, for the whole process.
///
/// The default is the keychain in `KEYFOB_KEYCHAIN`, else the user's default one, else `login`. Calls that are already
/// running may finish on the previous keychain.
///
/// ```swift
/// SecKeychainUse(try Keychain.open("payments"))
/// ```
///
/// - Parameter keychain: The keychain; `nil` restores the environment and the configuration.
public func SecKeychainUse(_ keychain: Keychain?) {
    KeychainSelection.choose { $0.keychain = keychain }
}

/// Chooses the access groups for the functions of this module, for the whole process.
///
/// Items that are added without a group get the first one. Calls that name a group outside the list fail with
/// `errSecMissingEntitlement`, and items in such a group are not found. `*` stands for every group. The empty string is
/// the group of items that the command and the Swift API stored. An empty list allows nothing.
///
/// The default is the comma-separated list in `KEYFOB_ACCESS_GROUPS`, else `accessGroups` of the keychain's
/// configuration, else the group without a name alone.
///
/// - Parameter groups: The groups; `nil` restores the environment and the configuration.
public func SecAccessGroupsUse(_ groups: [String]?) {
    KeychainSelection.choose { $0.accessGroups = groups.map { AccessGroups($0) } }
}

/// Runs `body` with its own keychain and access groups, without an effect on other code.
///
/// Tests that run in parallel need it. Tasks that `body` starts inherit the choice; threads and blocks on a queue do
/// not. `SecTrustEvaluateAsyncWithError` and `SecTrustEvaluateAsync` pass it on.
///
/// - Parameters:
///   - keychain: The keychain; `nil` keeps the outer choice.
///   - accessGroups: The groups, in the form that `SecAccessGroupsUse` takes; `nil` keeps the outer choice.
///   - body: The code to run.
/// - Throws: The errors of `body`.
public func SecKeychainUse<Result>(
    _ keychain: Keychain?, accessGroups: [String]? = nil, during body: () throws -> Result
) rethrows -> Result {
    try KeychainSelection.$ofBlock.withValue(choice(keychain, accessGroups), operation: body)
}

/// Runs `body` with its own keychain and access groups, without an effect on other code.
///
/// - Parameters:
///   - keychain: The keychain; `nil` keeps the outer choice.
///   - accessGroups: The groups, in the form that `SecAccessGroupsUse` takes; `nil` keeps the outer choice.
///   - isolation: The caller's actor.
///   - body: The code to run.
/// - Throws: The errors of `body`.
public func SecKeychainUse<Result>(
    _ keychain: Keychain?, accessGroups: [String]? = nil, isolation: isolated (any Actor)? = #isolation,
    during body: () async throws -> Result
) async rethrows -> Result {
    try await KeychainSelection.$ofBlock.withValue(choice(keychain, accessGroups), operation: body)
}

/// Returns the choice of a block, completed by that of the enclosing block.
private func choice(_ keychain: Keychain?, _ accessGroups: [String]?) -> KeychainSelection.Choice {
    let outer = KeychainSelection.ofBlock
    return KeychainSelection.Choice(
        keychain: keychain ?? outer?.keychain,
        accessGroups: accessGroups.map { AccessGroups($0) } ?? outer?.accessGroups)
}

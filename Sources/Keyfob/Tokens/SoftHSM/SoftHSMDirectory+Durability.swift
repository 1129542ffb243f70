import Foundation

/// Having a token on the disk.
///
/// SoftHSM writes its files and never syncs one: for half a minute after it has made an object a power cut may leave an
/// empty file of it, or none.
extension SoftHSMDirectory {
    /// Waits until objects of a token are on the disk, and which objects there are.
    ///
    /// - Parameter identities: What tells the objects in a snapshot.
    /// - Throws: As `makeDurable(_:)`.
    func makeDurable(_ identities: Set<UInt64>, of token: SoftHSMToken) throws(KeychainError) {
        try synchronize(ObjectListing.names(of: identities, in: token), of: token)
    }

    /// Waits until a whole token is on the disk: its objects, what its PINs open, and that there is such a token.
    ///
    /// - Throws: `fileUnavailable` where the disk fails; `diskFull`; `tokenAbsent` where the token's directory is gone.
    func makeDurable(_ token: SoftHSMToken) throws(KeychainError) {
        try synchronize(["token.object"] + ObjectListing(of: token).files.keys, of: token)
        try PrivateFile.synchronizeDirectory(tokensDirectory)
    }

    private func synchronize(_ names: [String], of token: SoftHSMToken) throws(KeychainError) {
        let directory = token.directory.filePath
        try SoftHSMFile.synchronize(names.map { directory + "/" + $0 })
        // Nobody locks a directory: it can be opened and closed here.
        try PrivateFile.synchronizeDirectory(token.directory)
    }
}

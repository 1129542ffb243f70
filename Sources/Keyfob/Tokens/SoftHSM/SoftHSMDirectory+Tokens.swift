import Foundation
package import KeyfobPrimitives
import KeyfobOpenSSL
package import PKCS11

extension SoftHSMDirectory {
    /// A token that was just made, with the only copies of its PINs.
    package struct CreatedToken: Sendable {
        /// The token as SoftHSM describes it.
        package let token: SoftHSMToken

        /// Names the token by label, serial number, manufacturer and model.
        package let uri: PKCS11URI

        /// The user PIN: 28 random characters.
        package let pin: SecretBytes

        /// The security officer's PIN, which can set a new user PIN. Sealed by the caller, or dropped.
        package let securityOfficerPIN: SecretBytes
    }

    /// The bytes that PKCS#11 has for a token's label.
    static let longestLabel = 32

    /// Makes a token with random PINs. Blocks, for about 0.2 s.
    ///
    /// Calls `activate()`. Processes that make tokens at once wait for each other, until `deadline`.
    /// A kill leaves at most a token without a user PIN, which the next call with its label removes.
    ///
    /// - Throws: `duplicateKeychain` when there is a token with the label; `timedOut` at `deadline`;
    ///   `invalidArgument` for a label that is empty, longer than 32 bytes or ends in a blank; `refused` as
    ///   `activate()`; `tokenAmbiguous` as `heal()`; `moduleNotLoaded`; `failed` with SoftHSM's error as the cause.
    package func createToken(label: String, deadline: Deadline) throws(KeychainError) -> CreatedToken {
        // Labels are padded with blanks to 32 bytes: these are the ones that come back as they were.
        guard (1...Self.longestLabel).contains(label.utf8.count), label.last != " ", !label.utf8.contains(0) else {
            throw KeychainError(
                .invalidArgument,
                "a token's label has 1 to \(Self.longestLabel) bytes and does not end in a blank.")
        }
        try activate()
        return try holdingLock(until: deadline) { () throws(KeychainError) in
            _ = try healLocked()
            removeDebris()
            try requireDistinctTokens()
            try makeWay(for: label)
            return try create(label, deadline)
        }
    }

    /// Removes exactly this token with all its keys, and the copy of its `token.object`.
    ///
    /// The directory leaves SoftHSM's in one step, so that a kill leaves the token whole or gone. A
    /// module that is loaded may show it until it is initialised again. One that a kill has interrupted after that step
    /// is finished by the next call.
    ///
    /// > Important: The keys cannot be brought back.
    ///
    /// - Parameters:
    ///   - keepsCopies: Whether the copy stays where the token is not there: one whose file system is not mounted needs
    ///     it when it comes back.
    ///   - didLeave: Called when the token is gone for good, while there is still something to tell it by: who keeps
    ///     more than the token notes here that it was not just out of sight.
    /// - Throws: `tokenAbsent` unless there is a token with this serial number and this label;
    ///   `tokenAmbiguous`; `timedOut` when another process holds the lock until `deadline`, or rewrites a token
    ///   without end so that nobody can tell which one it is; what `didLeave` throws.
    package func destroyToken(
        serial: String, label: String, deadline: Deadline, keepingCopies keepsCopies: Bool = false,
        didLeave: () throws(KeychainError) -> Void = {}
    ) throws(KeychainError) {
        try holdingLock(until: deadline) { () throws(KeychainError) -> Void in
            let broken = try healLocked().unusable
            // A login of another process empties the token's file for a moment: one look is not enough.
            switch try awaitToken(serial: serial, label: label) {
            case .whole(let token):
                try remove(token, didLeave: didLeave)
                return
            case .unclear where broken.isEmpty: throw rewriting(serial: serial, label: label)
            case .absent, .unclear: break
            }
            if try isInGrave(serial: serial, label: label) {
                try didLeave()
                try removeCopies(serial: serial, label: label)
                removeDebris()
                return
            }
            // An earlier removal may have got no further than the token itself.
            if !keepsCopies { try removeCopies(serial: serial, label: label) }
            throw KeychainError(
                .tokenAbsent, "there is no token \"\(label)\" (serial \(serial)) in \(tokensDirectory.filePath).",
                hint: "No token was removed.", details: ["token": label, "serial": serial])
        }
    }

    /// The error of a token that cannot be told apart because somebody never lets its file, or another's, be.
    func rewriting(serial: String, label: String) -> KeychainError {
        KeychainError(
            .timedOut, "another process rewrites a token in \(tokensDirectory.filePath) all the time.",
            hint: "Try again when it has ended.", details: ["token": label, "serial": serial])
    }

    /// Removes the token that `uri` names; it must name a label and a serial number. - Throws: As above.
    package func destroyToken(
        _ uri: PKCS11URI, deadline: Deadline, keepingCopies keepsCopies: Bool = false,
        didLeave: () throws(KeychainError) -> Void = {}
    ) throws(KeychainError) {
        guard let serial = uri.serial, let label = uri.token else {
            throw KeychainError(
                .invalidArgument, "to remove a token its URI must name both its label and its serial number.")
        }
        try destroyToken(
            serial: serial, label: label, deadline: deadline, keepingCopies: keepsCopies, didLeave: didLeave)
    }

    /// Makes a token, and again where SoftHSM failed on the way.
    ///
    /// It does so where another thread of the process looks at all tokens while this one's file is being rewritten,
    /// or initialises SoftHSM anew.
    private func create(_ label: String, _ deadline: Deadline) throws(KeychainError) -> CreatedToken {
        let module = try module()
        let before = Set(try tokens())
        var cause: PKCS11Error?
        // Eight seconds at the most: on a busy machine the bad moments are long, and every look may meet one.
        for attempt in 0..<16 {
            if attempt > 0 { usleep(.random(in: 5_000...20_000) << UInt32(min(attempt, 5))) }
            do {
                let (info, pin, officer) = try Self.create(label, in: module)
                return try finish(info, before, pin: pin, officer: officer)
            } catch let error as PKCS11Error {
                cause = error
                try removeNewTokens(label, notIn: before)
                guard error.recovery != .final || Self.isTransient(error.returnValue) else { break }
            } catch let error as KeychainError {
                // The first error is the one to report.
                try? removeNewTokens(label, notIn: before)
                throw error
            } catch {
                throw KeychainError(.failed, "cannot make random PINs.", cause: error)
            }
        }
        let failure = KeychainError(
            .failed, "SoftHSM could not make the token \"\(label)\".", details: ["token": label], cause: cause)
        throw DiskSpace.shortage(in: root, details: failure.details, cause: cause ?? failure) ?? failure
    }

    /// Removes half-made tokens. They are ours: they were not there before, and nobody knows their PINs.
    private func removeNewTokens(_ label: String, notIn before: Set<SoftHSMToken>) throws(KeychainError) {
        for token in try tokens() where !before.contains(token) && token.label == label { try remove(token) }
    }

    private static func create(
        _ label: String, in module: Module
    ) throws -> (TokenInfo, pin: SecretBytes, officer: SecretBytes) {
        let pin = try randomPIN()
        let officer = try randomPIN()
        let slot = try initializeFreeSlot(of: module, label, officer)
        let session = try slot.openSession(readWrite: true)
        try session.login(.securityOfficer, pin: officer)
        try session.initializePIN(pin)
        try session.logout()
        try session.close()
        return (try slot.tokenInfo(), pin, officer)
    }

    /// Refusals that are final elsewhere, and here come of a token whose file was read while it was empty.
    private static func isTransient(_ value: ReturnValue) -> Bool {
        [.tokenNotRecognized, .userPINNotInitialized, .pinIncorrect, .sessionExists].contains(value)
    }

    private func finish(
        _ info: TokenInfo, _ before: Set<SoftHSMToken>, pin: SecretBytes, officer: SecretBytes
    ) throws(KeychainError) -> CreatedToken {
        guard let token = try token(serial: info.serialNumber, label: info.label), !before.contains(token) else {
            // SoftHSM made the token somewhere else, so it runs on another configuration than ours.
            throw KeychainError(
                .refused, "SoftHSM does not keep its tokens in \(tokensDirectory.filePath) in this process.",
                hint: "Something has loaded it before with another SOFTHSM2_CONF. Use a second process.",
                details: ["token": info.label, "serial": info.serialNumber])
        }
        try refreshCopyLocked(token.directory.lastPathComponent)
        return CreatedToken(token: token, uri: info.uri, pin: pin, securityOfficerPIN: officer)
    }

    /// The slot that SoftHSM always shows for a token yet to be.
    private static func freeSlot(of module: Module) throws(PKCS11Error) -> Slot {
        for slot in try module.slots().newestFirst {
            do throws(PKCS11Error) {
                if try !slot.tokenInfo().flags.contains(.tokenInitialized) { return slot }
            } catch {
                // The slot of a token that was destroyed since the module was initialised; it stays until then.
                guard error.returnValue == .generalError || error.returnValue == .tokenNotRecognized else {
                    throw error
                }
            }
        }
        throw PKCS11Error(
            function: .getSlotList, returnValue: .slotIDInvalid, detail: "SoftHSM shows no free slot")
    }

    private static func initializeFreeSlot(
        of module: Module, _ label: String, _ officer: SecretBytes
    ) throws(PKCS11Error) -> Slot {
        var attempts = 0
        while true {
            let slot = try freeSlot(of: module)
            do throws(PKCS11Error) {
                try slot.initializeToken(label: label, securityOfficerPIN: officer)
                return slot
            } catch {
                // Other code in this process, which knows nothing of our lock, took the slot just now:
                // its token is there, and refuses our PIN. SoftHSM has another free slot then.
                attempts += 1
                guard [.pinIncorrect, .sessionExists].contains(error.returnValue), attempts < 10 else { throw error }
            }
        }
    }

    /// 168 random bits in 28 characters that every tool takes as a PIN.
    ///
    /// Longer would not do: libp11's OpenSSL engine reads at most 31 characters of a PIN file and sends those.
    private static func randomPIN() throws(KeychainError) -> SecretBytes {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        let random = try KeychainError.wrapping("cannot make random bytes.") { try RandomBytes.secret(count: 28) }
        return unsafe random.withUnsafeBytes { random in
            unsafe SecretBytes(count: 28) { output in
                for index in 0..<28 { unsafe output[index] = alphabet[Int(random[index]) & 63] }
            }
        }
    }

    /// Refuses a label that is taken, and removes what a kill in `createToken` left under it.
    private func makeWay(for label: String) throws(KeychainError) {
        for token in try tokens() where token.label == label {
            // Without a user PIN nothing private was ever on it; the lock says that nobody is at it now.
            guard !token.hasUserPIN, try ObjectListing(of: token).files.isEmpty else {
                throw KeychainError(
                    .duplicateKeychain, "a token \"\(label)\" exists already (serial \(token.serial)).",
                    hint: "Choose another name.", details: ["token": label, "serial": token.serial])
            }
            try remove(token)
        }
    }

    /// Removes the directory of a token that nobody can open and that has no objects; nothing where that is not so.
    ///
    /// - Throws: `timedOut` when another process holds the lock until `deadline`; `fileUnavailable`.
    func removeUnusableToken(_ identifier: String, deadline: Deadline) throws(KeychainError) {
        try holdingLock(until: deadline) { () throws(KeychainError) in
            guard try healLocked().unusable.contains(identifier) else { return }
            let names = try OpenDirectory.names(
                in: tokensDirectory.appendingPathComponent(identifier, isDirectory: true))
            guard !names.contains(where: { $0.hasSuffix(".object") && $0 != "token.object" }) else { return }
            try remove(identifier)
        }
    }

    private func remove(
        _ token: SoftHSMToken, didLeave: () throws(KeychainError) -> Void = {}
    ) throws(KeychainError) {
        try remove(token.directory.lastPathComponent, didLeave: didLeave)
    }

    private func remove(
        _ identifier: String, didLeave: () throws(KeychainError) -> Void = {}
    ) throws(KeychainError) {
        let directory = tokensDirectory.appendingPathComponent(identifier, isDirectory: true)
        let grave = root.appendingPathComponent(Self.gravePrefix + identifier, isDirectory: true)
        if unsafe rename(directory.filePath, grave.filePath) != 0 {
            guard errno == EXDEV else { throw .file("remove", directory.filePath, errno) }
            // The tokens lie on a file system of their own.
            try PrivateFile.createDirectory(innerGraves)
            let inner = innerGraves.appendingPathComponent(identifier, isDirectory: true)
            guard unsafe rename(directory.filePath, inner.filePath) == 0 else {
                throw .file("remove", directory.filePath, errno)
            }
        }
        try PrivateFile.synchronizeDirectory(tokensDirectory)
        try didLeave()
        try removeCopy(identifier)
        removeDebris()
    }

    /// Removes what a removal has left that a kill interrupted after the token itself was gone; nothing where a token is
    /// there.
    ///
    /// - Throws: As `destroyToken(_:deadline:)`, but for `tokenAbsent`.
    func removeRest(of uri: PKCS11URI, deadline: Deadline) throws(KeychainError) {
        guard let serial = uri.serial, let label = uri.token, FileManager.default.fileExists(atPath: root.filePath) else {
            return
        }
        try holdingLock(until: deadline) { () throws(KeychainError) in
            try removeCopies(serial: serial, label: label)
            removeDebris()
        }
    }

    /// Whether `remove(_:didLeave:)` has taken a token out of SoftHSM's sight, and a kill came before it was deleted.
    private func isInGrave(serial: String, label: String) throws(KeychainError) -> Bool {
        var graves: [URL] = []
        for name in try OpenDirectory.names(in: root) where name.hasPrefix(Self.gravePrefix) {
            graves.append(root.appendingPathComponent(name, isDirectory: true))
        }
        for name in try OpenDirectory.names(in: innerGraves) where UUID(uuidString: name) != nil {
            graves.append(innerGraves.appendingPathComponent(name, isDirectory: true))
        }
        for grave in graves {
            let path = grave.appendingPathComponent("token.object", isDirectory: false).filePath
            guard let file = try SoftHSMFile(path, limit: TokenFile.maximumLength + 1),
                let content = TokenFile(file.bytes.copyBytes()), content.serial == serial, content.label == label
            else { continue }
            return true
        }
        return false
    }

    private func removeCopy(_ identifier: String) throws(KeychainError) {
        try PrivateFile.remove(checksumFile(identifier))
        try PrivateFile.remove(copyFile(identifier))
        unsafe rmdir(copyFile(identifier).deletingLastPathComponent().path)
    }

    /// Removes the copies of a token whose directory is not there.
    private func removeCopies(serial: String, label: String) throws(KeychainError) {
        for identifier in try OpenDirectory.names(in: copiesDirectory) where UUID(uuidString: identifier) != nil {
            let directory = tokensDirectory.appendingPathComponent(identifier, isDirectory: true)
            guard !FileManager.default.fileExists(atPath: directory.filePath) else { continue }
            // One that others can read counts all the same; one that is damaged is not known to be this token's.
            guard let file = try SoftHSMFile(
                    copyFile(identifier).filePath, isCopy: true, limit: TokenFile.maximumLength + 1),
                let content = TokenFile(file.bytes.copyBytes()), content.serial == serial, content.label == label
            else { continue }
            try removeCopy(identifier)
        }
    }

    private static var gravePrefix: String { "destroyed-" }

    /// Where a token goes that cannot leave the file system of `tokens/`. SoftHSM opens every directory there, and
    /// passes over one without a `token.object`; it does not look into directories within.
    private var innerGraves: URL { tokensDirectory.appendingPathComponent(".destroyed", isDirectory: true) }

    /// Deletes what `remove(_:)` has taken out of SoftHSM's sight, also where a kill has interrupted it.
    private func removeDebris() {
        do {
            for name in try FileManager.default.contentsOfDirectory(atPath: root.filePath)
            where name.hasPrefix(Self.gravePrefix) {
                try FileManager.default.removeItem(at: root.appendingPathComponent(name, isDirectory: true))
            }
            if FileManager.default.fileExists(atPath: innerGraves.filePath) {
                try FileManager.default.removeItem(at: innerGraves)
            }
        } catch {
            // Nobody reads it any more; the next removal tries again.
            return
        }
    }
}

import Foundation
package import KeyfobPrimitives
import KeyfobOpenSSL
package import PKCS11

extension SoftHSMDirectory {
    /// A token that was just created, with the only copies of its PINs.
    package struct CreatedToken: Sendable {
        /// The token, as read from its `token.object`.
        package let token: SoftHSMToken

        /// Identifies the token by label, serial number, manufacturer and model.
        package let uri: PKCS11URI

        /// The user PIN: 28 random characters.
        package let pin: SecretBytes

        /// The security officer's PIN, which can set a new user PIN. The caller seals or drops it.
        package let securityOfficerPIN: SecretBytes
    }

    /// The maximum length of a token's label in PKCS#11, in bytes.
    package static let longestLabel = 32

    /// Creates a token with random PINs. Blocks for about 0.2 s.
    ///
    /// Calls `activate()`. Processes that create tokens at the same time wait for each other, until `deadline`. A
    /// killed call leaves at most a token without a user PIN, which the next call with the same label removes.
    ///
    /// - Parameters:
    ///   - label: The token's label.
    ///   - deadline: The limit for waiting for the directory's lock.
    /// - Returns: The token with its PINs.
    /// - Throws: `KeychainError` with code `duplicateKeychain` if there is a token with the label; `timedOut` at
    ///   `deadline`; `invalidArgument` for a label that is empty, longer than 32 bytes or ends in a blank; `refused` if
    ///   this process uses another SoftHSM directory; `tokenAmbiguous` if two tokens have the same serial number;
    ///   `moduleNotLoaded`; `failed` with SoftHSM's error as the cause.
    package func createToken(label: String, deadline: Deadline) throws(KeychainError) -> CreatedToken {
        // Labels are padded with blanks to 32 bytes. Accept only those that are the same after removing the padding.
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
    /// The token's directory is renamed out of SoftHSM's directory in one step, so a kill leaves the token either
    /// intact or removed. A loaded module may still show it until it is initialized again. The next call finishes a
    /// removal that was killed after that step.
    ///
    /// > Important: The keys cannot be recovered.
    ///
    /// - Parameters:
    ///   - serial: The token's serial number.
    ///   - label: The token's label.
    ///   - deadline: The limit for waiting for the directory's lock.
    /// - Throws: `KeychainError` with code `tokenAbsent` unless there is a token with this serial number and label;
    ///   `tokenAmbiguous`; `timedOut` if another process holds the lock until `deadline`, or keeps rewriting a token so
    ///   that it cannot be identified.
    package func destroyToken(serial: String, label: String, deadline: Deadline) throws(KeychainError) {
        try holdingLock(until: deadline) { () throws(KeychainError) -> Void in
            let broken = try healLocked().unusable
            // A login of another process truncates the token's file for a moment, so wait for it.
            switch try awaitToken(serial: serial, label: label) {
            case .whole(let token):
                try remove(token)
                return
            case .unclear where broken.isEmpty: throw rewriting(serial: serial, label: label)
            case .absent, .unclear: break
            }
            let wasMoved = try isMovedAway(serial: serial, label: label)
            // A killed removal may have removed only the token itself.
            try removeCopies(serial: serial, label: label)
            guard !wasMoved else { return removeDebris() }
            throw KeychainError(
                .tokenAbsent, "there is no token \"\(label)\" (serial \(serial)) in \(tokensDirectory.filePath).",
                hint: "No token was removed.", details: ["token": label, "serial": serial])
        }
    }

    /// The error for a token that cannot be identified because another process keeps rewriting token files.
    package func rewriting(serial: String, label: String) -> KeychainError {
        KeychainError(
            .timedOut, "another process rewrites a token in \(tokensDirectory.filePath) all the time.",
            hint: "Try again when it has ended.", details: ["token": label, "serial": serial])
    }

    /// Removes the token that `uri` names; see `destroyToken(serial:label:deadline:)`.
    ///
    /// - Throws: `KeychainError` with code `invalidArgument` unless `uri` names a label and a serial number; the errors
    ///   of that method.
    package func destroyToken(_ uri: PKCS11URI, deadline: Deadline) throws(KeychainError) {
        guard let serial = uri.serial, let label = uri.token else {
            throw KeychainError(
                .invalidArgument, "to remove a token its URI must name both its label and its serial number.")
        }
        try destroyToken(serial: serial, label: label, deadline: deadline)
    }

    /// Creates a token, and retries if SoftHSM fails.
    ///
    /// It fails if another thread of the process lists all tokens while this one's file is being rewritten, or
    /// initializes SoftHSM again.
    private func create(_ label: String, _ deadline: Deadline) throws(KeychainError) -> CreatedToken {
        let module = try module()
        let before = Set(try tokens())
        var cause: PKCS11Error?
        // Eight seconds at most. On a busy machine a file may stay empty for long, and every attempt may meet one.
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

    /// Removes incomplete tokens. They are this call's: they did not exist before, and their PINs are lost.
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

    /// Errors that are final elsewhere, but here can result from reading a token file while it was empty.
    private static func isTransient(_ value: ReturnValue) -> Bool {
        [.tokenNotRecognized, .userPINNotInitialized, .pinIncorrect, .sessionExists].contains(value)
    }

    private func finish(
        _ info: TokenInfo, _ before: Set<SoftHSMToken>, pin: SecretBytes, officer: SecretBytes
    ) throws(KeychainError) -> CreatedToken {
        guard let token = try token(serial: info.serialNumber, label: info.label), !before.contains(token) else {
            // SoftHSM created the token elsewhere, so it uses another configuration than Keyfob's.
            throw KeychainError(
                .refused, "SoftHSM does not keep its tokens in \(tokensDirectory.filePath) in this process.",
                hint: "Something has loaded it before with another SOFTHSM2_CONF. Use a second process.",
                details: ["token": info.label, "serial": info.serialNumber])
        }
        try refreshCopyLocked(token.directory.lastPathComponent)
        return CreatedToken(token: token, uri: info.uri, pin: pin, securityOfficerPIN: officer)
    }

    /// The uninitialized slot that SoftHSM always shows.
    private static func freeSlot(of module: Module) throws(PKCS11Error) -> Slot {
        for slot in try module.slots().newestFirst {
            do throws(PKCS11Error) {
                if try !slot.tokenInfo().flags.contains(.tokenInitialized) { return slot }
            } catch {
                // The slot of a token that was destroyed. It stays until the module is initialized again.
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
                // Other code in this process, which does not know the lock, has just initialized a token in the slot,
                // so the PIN is refused. SoftHSM then has another free slot.
                attempts += 1
                guard [.pinIncorrect, .sessionExists].contains(error.returnValue), attempts < 10 else { throw error }
            }
        }
    }

    /// A PIN of 168 random bits in 28 characters that every tool accepts.
    ///
    /// It must not be longer: libp11's OpenSSL engine reads only the first 31 characters of a PIN file and sends those.
    private static func randomPIN() throws(KeychainError) -> SecretBytes {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        let random = try KeychainError.wrapping("cannot make random bytes.") { try RandomBytes.secret(count: 28) }
        return unsafe random.withUnsafeBytes { random in
            unsafe SecretBytes(count: 28) { output in
                for index in 0..<28 { unsafe output[index] = alphabet[Int(random[index]) & 63] }
            }
        }
    }

    /// Refuses a label that is in use, and removes what a killed `createToken` left under it.
    private func makeWay(for label: String) throws(KeychainError) {
        for token in try tokens() where token.label == label {
            // Without a user PIN the token never held private objects. The lock excludes that it is being created right
            // now.
            guard !token.hasUserPIN, try ObjectListing(of: token).files.isEmpty else {
                throw KeychainError(
                    .duplicateKeychain, "a token \"\(label)\" exists already (serial \(token.serial)).",
                    hint: "Choose another name.", details: ["token": label, "serial": token.serial])
            }
            try remove(token)
        }
    }

    private func remove(_ token: SoftHSMToken) throws(KeychainError) {
        let identifier = token.directory.lastPathComponent
        let directory = tokensDirectory.appendingPathComponent(identifier, isDirectory: true)
        let target = movedTokensDirectory.appendingPathComponent(identifier, isDirectory: true)
        try PrivateFile.createDirectory(movedTokensDirectory)
        guard unsafe rename(directory.filePath, target.filePath) == 0 else {
            throw .file("remove", directory.filePath, errno)
        }
        try PrivateFile.synchronizeDirectory(tokensDirectory)
        try removeCopy(identifier)
        removeDebris()
    }

    /// Whether `remove(_:)` has moved a token out of SoftHSM's directory, but was killed before deleting it.
    private func isMovedAway(serial: String, label: String) throws(KeychainError) -> Bool {
        for name in try OpenDirectory.names(in: movedTokensDirectory) where UUID(uuidString: name) != nil {
            let path = movedTokensDirectory.filePath + "/\(name)/token.object"
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

    /// Removes the copies of a token whose directory is missing.
    private func removeCopies(serial: String, label: String) throws(KeychainError) {
        for identifier in try OpenDirectory.names(in: copiesDirectory) where UUID(uuidString: identifier) != nil {
            let directory = tokensDirectory.appendingPathComponent(identifier, isDirectory: true)
            guard !FileManager.default.fileExists(atPath: directory.filePath) else { continue }
            // A copy that others can read counts too. A damaged copy cannot be attributed to this token and stays.
            guard let file = try SoftHSMFile(
                    copyFile(identifier).filePath, isCopy: true, limit: TokenFile.maximumLength + 1),
                let content = TokenFile(file.bytes.copyBytes()), content.serial == serial, content.label == label
            else { continue }
            try removeCopy(identifier)
        }
    }

    /// The destination of a removed token, in `tokens/` because that may be a file system of its own.
    ///
    /// SoftHSM opens every directory in `tokens/` and skips one without a `token.object`. It does not look into
    /// subdirectories.
    private var movedTokensDirectory: URL { tokensDirectory.appendingPathComponent(".destroyed", isDirectory: true) }

    /// Deletes what `remove(_:)` has moved out of SoftHSM's directory, including remains of killed removals.
    private func removeDebris() {
        // No process reads it any more; if this fails, the next removal tries again.
        try? FileManager.default.removeItem(at: movedTokensDirectory)
    }
}

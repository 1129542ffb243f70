import Foundation
import KeyfobPrimitives
import Logging
import OpenSSL
import PKCS11

/// A token that Keyfob did not make, which several keychains may be on.
///
/// Whoever undoes or finishes a change that was cut short knows of the objects what the plan says. It may be old, and
/// another keychain may have taken one of them for an item of its own since: a key that is destroyed then is lost, and
/// nobody asked for it. So what cannot be told to be this keychain's alone stays on the token, and is told of.
///
/// Of other users' keychains, and of those in other directories, nothing is known.
struct SharedToken: Sendable {
    private let uri: PKCS11URI
    private let label: String
    private let keychain: KeychainConfiguration
    private let directories: Directories
    private let logger: Logger
    private let timeout: Duration
    private let use: SQLiteStore.Use

    /// The token of a keychain.
    init(of keychain: Keychain) {
        uri = keychain.token.uri
        label = keychain.token.label
        self.keychain = keychain.configuration
        directories = keychain.directories
        logger = keychain.options.logger
        timeout = keychain.options.timeout
        use = keychain.options.isOneShot ? .oneShot : .look
    }

    /// Runs `body`, which changes the token, while no other keychain of this user's does. To be called with the lock of
    /// the keychain's own vault held, and never the other way round.
    ///
    /// Where there is no place for the file it is run all the same, as it is beside other users.
    ///
    /// - Throws: `KeychainError` with code `vaultBusy` where others are not done by `deadline`; what `body` throws.
    func withLock<Result>(until deadline: Deadline, _ body: () throws -> Result) throws -> Result {
        let serial = uri.serial ?? ""
        let name = Digest.sha256(Data(Data(serial.utf8) + [0] + Data(label.utf8))).prefix(8).hexadecimal
        do throws(KeychainError) { try PrivateFile.createDirectory(directories.state) } catch { return try body() }
        let lock = VaultLock(
            path: directories.state.appendingPathComponent("token-\(name).lock", isDirectory: false).filePath,
            name: "token \"\(label)\"")
        return try lock.withLockWherePossible(until: deadline, body)
    }

    /// Whether objects that a plan would destroy have to stay: all of them, for what is left of a key without its
    /// public half, or of an identity without its key, is of no use to whoever has taken it over.
    ///
    /// - Throws: `PKCS11Error` of what the pool can heal.
    func spares(
        _ doomed: [(planned: TokenPlan.Object, object: TokenObject)], in session: borrowing Session
    ) throws -> Bool {
        guard !doomed.isEmpty, let reason = try reason(to: doomed, in: session) else { return false }
        logger.warning(
            "objects of an interrupted change stay on the token",
            metadata: ["keychain": "\(keychain.name)", "token": "\(label)", "reason": "\(reason)"])
        return true
    }

    /// Why the objects have to stay; `nil` where they are this keychain's alone.
    private func reason(
        to doomed: [(planned: TokenPlan.Object, object: TokenObject)], in session: borrowing Session
    ) throws -> String? {
        for (planned, object) in doomed {
            // What a plan to make one says of its label the token may have made another of.
            guard let old = planned.oldLabel, let now = object.label?.bytes, now != old else { continue }
            return "somebody has given one of them another label"
        }
        let others: [KeychainConfiguration]
        do { others = try neighbours() } catch { return "the other keychains cannot be read" }
        let objects = doomed.map { $0.object }
        // For all of them together.
        let deadline = Deadline.after(timeout)
        for other in others {
            do {
                if try has(other, objects, in: session, until: deadline) {
                    return "keychain \"\(other.name)\" has one of them"
                }
            } catch let error as PKCS11Error where error.recovery != .final {
                throw error
            } catch {
                return "keychain \"\(other.name)\" cannot be asked whether it has one of them"
            }
        }
        return nil
    }

    /// The other keychains on the token, by whatever module they reach it.
    private func neighbours() throws -> [KeychainConfiguration] {
        try Keychains(directories).all().filter { other in
            // One that names no token is on none.
            guard other.uuid != keychain.uuid, other.module != .softHSM, let theirs = try? PKCS11URI(other.token) else {
                return false
            }
            return theirs.serial == uri.serial && theirs.token == uri.token
        }
    }

    /// Whether a keychain has a row of one of the objects, or a plan that names one.
    ///
    /// Its vault is opened by the key that it has on the same token, for which somebody has logged in already.
    private func has(
        _ other: KeychainConfiguration, _ objects: [TokenObject], in session: borrowing Session,
        until deadline: Deadline
    ) throws -> Bool {
        let store = try SQLiteStore(
            path: other.vault, keychain: other.name, use: use, busyTimeout: deadline.remainingSeconds)
        let (isEmpty, wrappingKeys) = try store.read { reader in
            (try reader.rowCount() == 0 && reader.intents().isEmpty, try reader.wrappingKeys())
        }
        guard !isEmpty else { return false }
        guard let row = wrappingKeys.last(where: \.isActive) ?? wrappingKeys.last,
            let handle = try session.findObjects(
                [.objectClass(.secretKey), .id([UInt8](row.objectID)), .token(true)], limit: 1
            ).first
        else {
            throw KeychainError(
                .wrappingKeyMissing, "the key of keychain \"\(other.name)\" is not on token \"\(label)\".")
        }
        let suite = try WrapSuites.named(row.suite)
        let metadataKey = try suite.unwrap(row.encryptedMetadataKey, with: handle, in: session)
        let keys = try VaultKeys(metadataKey: metadataKey, vault: store.identity)
        return try store.read { reader -> Bool in
            let planned = try reader.intents().flatMap { try keys.openPlan($0, vault: store.identity).objects }
            for object in objects {
                if planned.contains(where: { $0.matches(object) }) { return true }
                guard let itemClass = object.itemClass else { continue }
                let term = try keys.term(itemClass, .objectFingerprint, .data(object.fingerprint))
                var isRecorded = false
                try reader.forEachRow(
                    classDigest: keys.digest(of: itemClass), terms: [term], withSecrets: false
                ) { _ in
                    isRecorded = true
                    return false
                }
                if isRecorded { return true }
            }
            return false
        }
    }
}

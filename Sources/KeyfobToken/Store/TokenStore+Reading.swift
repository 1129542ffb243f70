package import Foundation
import KeyfobOpenSSL
package import PKCS11

/// Reading the objects on the token.
extension TokenStore {
    /// Reads every certificate and key on the token with one search; the private ones only if the user is logged in.
    ///
    /// Objects without a class, certificates without a value and the like are left out and counted in `debris`. Files
    /// that SoftHSM shows no object for are counted in `hidden`.
    ///
    /// - Returns: The objects.
    /// - Throws: `KeychainError`; `tokenAbsent` if the directory of one of Keyfob's tokens is missing.
    package func readObjects() throws -> Listing {
        let generation = generation
        var listing = try readListedObjects()
        guard changeDetector != nil else { return listing }
        guard listing.files != nil else {
            // SoftHSM shows an empty token if the token's directory is missing.
            try requirePresence()
            return listing
        }
        try compareWithFiles(&listing)
        // Files without an object may be private objects before a login. Otherwise SoftHSM treats the token as broken,
        // or could not read a file at its initialization, and does not try again by itself.
        guard listing.isWhole ? listing.unexplained > 0 : listing.hidden > 0,
            try reinitializeIfBroken() || reinitializeIfObjectsDropped(since: generation)
        else { return listing }
        listing = try readListedObjects()
        try compareWithFiles(&listing)
        return listing
    }

    /// The result of reading the objects on the token.
    package struct Listing {
        package var objects: [TokenObject]
        /// The number of objects that could not be interpreted.
        package var debris: Int
        /// The number of objects that the token listed, including those that are not items.
        package var listed: Int
        /// The number of object files; `nil` if it is unknown.
        package var files: Int?
        /// Whether the user was logged in throughout, so that private objects are included.
        package var isWhole: Bool
        /// The number of files that nothing was ever written to.
        package var emptyFiles = 0
        /// The number of unread objects that are expected to stay unread: empty files, and files that SoftHSM could not
        /// read when it was initialized again.
        package var explained = 0

        /// The number of files without a listed object.
        package var hidden: Int { max(0, (files ?? listed) - listed) }
        /// The number of existing objects that could not be read.
        package var unread: Int { isWhole ? hidden + debris : debris }
        /// The number of unread objects that another attempt may show.
        package var unexplained: Int { max(0, unread - explained) }
        /// Whether everything readable was read, so that the result may be stored.
        package var isComplete: Bool { unread <= emptyFiles }
    }

    private func readListedObjects() throws -> Listing {
        // Log in before taking the lock: a login may wait for a person, and other processes would wait for the lock.
        try withSession(.read) { _ in }
        return try readingObjects {
            var listing: Listing
            do { listing = try withSession(.read) { try list(in: $0) } } catch let error as KeychainError
                where (error.cause as? PKCS11Error)?.function == .getAttributeValue
            {
                // A new session fails too. An object that cannot be read must not hide the others.
                listing = try withSession(.read) { try list(in: $0, passingOverUnreadable: true) }
            }
            listing.files = changeDetector?.snapshot()?.entries.count
            return listing
        }
    }

    /// Counts the empty files, which explain objects that could not be read. Does nothing if all objects could be read.
    private func compareWithFiles(_ listing: inout Listing) throws {
        guard listing.isWhole, listing.unread > 0 else { return }
        listing.emptyFiles = try emptyFiles().count
        listing.explained = max(listing.emptyFiles, visibility.unreadableFiles)
        visibility.recordUnreadableIfUnknown(min(listing.hidden, listing.emptyFiles))
    }

    /// The empty object files of one of Keyfob's tokens, recognized by their size; none for other tokens.
    ///
    /// SoftHSM creates an object's file empty, and a killed process may leave it so.
    package func emptyFiles() throws -> [String] {
        guard let softHSM, let serial = uri.serial,
            case .whole(let token) = try softHSM.awaitToken(serial: serial, label: label)
        else { return [] }
        return try ObjectListing(of: token).files.filter { $0.value.isEmpty }
            .map { token.directory.filePath + "/" + $0.key }
    }

    /// Lists the objects with one session.
    ///
    /// - Parameters:
    ///   - session: A session of the token.
    ///   - passesOverUnreadable: Whether an object counts as debris if the token fails to read it for any reason. If
    ///     the session itself is invalid, this method throws nevertheless.
    /// - Returns: The objects.
    /// - Throws: `PKCS11Error`, and errors of loading the module.
    package func list(
        in session: borrowing Session, passingOverUnreadable passesOverUnreadable: Bool = false
    ) throws -> Listing {
        try searching(with: session) {
            try listOnce(in: session, passingOverUnreadable: passesOverUnreadable)
        }
    }

    /// Runs `body`, which searches for objects, and again if this process has logged in or out in the meantime.
    ///
    /// - Parameters:
    ///   - session: The session that `body` uses.
    ///   - body: Calls `requireLogin` if objects may be missing.
    /// - Throws: `PKCS11Error` with `cantLock` if logins take longer than the deadline; the errors of `body`.
    package func searching<Result>(with session: borrowing Session, _ body: () throws -> Result) throws -> Result {
        try pool().searching(with: session, body)
    }

    /// Checks that a session is logged in if the pool is. A session that has lost its login finds no private objects.
    ///
    /// A card that was pulled, or whose daemon was restarted, loses the login of sessions that stay open.
    ///
    /// - Throws: `PKCS11Error` with `userNotLoggedIn`, after which the pool logs in again.
    package func requireLogin(_ session: borrowing Session) throws {
        guard try pool().isUserExpected, try !session.info().isUserLoggedIn else { return }
        throw PKCS11Error(function: .findObjects, returnValue: .userNotLoggedIn, detail: "the token lost the login")
    }

    private func listOnce(
        in session: borrowing Session, passingOverUnreadable passesOverUnreadable: Bool
    ) throws -> Listing {
        var objects: [TokenObject] = []
        var debris = 0
        let handles = try session.findObjects()
        var listed = handles.count
        for handle in handles {
            let found: (isOnToken: Bool, object: TokenObject?, lacksParts: Bool)
            do throws(PKCS11Error) { found = try look(at: handle, in: session) } catch {
                // The object was removed since the search, or by another process without SoftHSM noticing.
                if error.recovery == .lookUpAgain { continue }
                guard passesOverUnreadable || Self.isDebris(error) else { throw error }
                debris += 1
                continue
            }
            if !found.isOnToken { listed -= 1 }
            guard let object = found.object else { continue }
            // SoftHSM shows a truncated file as a complete object with fewer attributes.
            let isCut = try softHSM != nil && (found.lacksParts || lacksSubject(handle, object, in: session))
            if isCut { debris += 1 } else { objects.append(object) }
        }
        try requireLogin(session)
        return Listing(
            objects: Self.completing(objects), debris: debris, listed: listed,
            isWhole: try session.info().isUserLoggedIn)
    }

    /// Whether a certificate object lacks a subject, which every program writes.
    private func lacksSubject(
        _ handle: ObjectHandle, _ object: TokenObject, in session: borrowing Session
    ) throws -> Bool {
        guard object.objectClass == .certificate else { return false }
        return try session.attributes([.subject], of: handle)[.subject]?.isEmpty ?? true
    }

    /// Whether the token has a wrapping key with this id. Asks the token itself.
    ///
    /// - Throws: `KeychainError`.
    package func hasWrappingKey(_ id: Data, _ keyClass: ObjectClass) throws -> Bool {
        // Another program may have removed the key since this process found it.
        forgetHandles()
        func look() throws -> Bool { try withSession(.read) { try handle(ofWrappingKey: id, keyClass, in: $0) } != nil }
        let generation = generation
        return try look() || reinitializeIfObjectsDropped(since: generation) && look()
    }

    /// Reads one object; `nil` for an object that is not a certificate or key (data, domain parameters, …), or that is
    /// not on the token but belongs to a session of this process.
    package func read(_ handle: ObjectHandle, in session: borrowing Session) throws(PKCS11Error) -> TokenObject? {
        try look(at: handle, in: session).object
    }

    private func look(
        at handle: ObjectHandle, in session: borrowing Session
    ) throws(PKCS11Error) -> (isOnToken: Bool, object: TokenObject?, lacksParts: Bool) {
        let first = try session.attributes([.objectClass, .token], of: handle)
        guard first.bool(.token) != false else { return (false, nil, false) }
        guard let objectClass = first.objectClass else {
            throw PKCS11Error(function: .getAttributeValue, returnValue: .attributeValueInvalid, detail: "no class")
        }
        guard [.certificate, .privateKey, .publicKey, .secretKey].contains(objectClass) else {
            return (true, nil, false)
        }
        let values = try session.attributes(TokenObject.attributeTypes(of: objectClass), of: handle)
        guard let object = TokenObject(reading: values, parsesCertificate: true) else {
            throw PKCS11Error(function: .getAttributeValue, returnValue: .attributeValueInvalid, detail: "no value")
        }
        return (true, object, object.lacksParts(among: values))
    }

    private static func isDebris(_ error: PKCS11Error) -> Bool {
        error.returnValue == .attributeValueInvalid || error.returnValue == .attributeTypeInvalid
    }

    /// Gives private keys that do not reveal their public key the one of the public key object with the same id.
    ///
    /// An id that is the hash of the public key identifies the key by itself. Any other id, such as 01, may be reused
    /// for the next key. In that case the public key becomes part of the fingerprint, so that a key is not mistaken for
    /// its successor. If several different public keys have the id, or several private keys that do not reveal theirs,
    /// none is used. Neither is a public key of another kind or size.
    package static func completing(_ objects: [TokenObject]) -> [TokenObject] {
        guard objects.first(at: { $0[$1].objectClass == .privateKey && $0[$1].publicKeyInfo == nil }) != nil else {
            return objects
        }
        let publicKeys = Dictionary(
            grouping: objects.filter { $0.objectClass == .publicKey && !$0.id.isEmpty }, by: \.id)
        let silent = Dictionary(
            grouping: objects.filter { $0.objectClass == .privateKey && $0.publicKeyInfo == nil }, by: \.id)
        return objects.map { object in
            guard object.objectClass == .privateKey, object.publicKeyInfo == nil, let halves = publicKeys[object.id],
                let half = halves.first, let info = half.publicKeyInfo,
                halves.allSatisfy({ $0.publicKeyInfo == info }),
                half.publicKeyHash == object.id || silent[object.id]?.count == 1, object.isLike(half)
            else { return object }
            var object = object
            object.publicKeyInfo = info
            object.publicKeyHash = half.publicKeyHash
            object.sizeInBits = object.sizeInBits ?? half.sizeInBits
            if half.publicKeyHash != object.id {
                object.fingerprint = Digest.sha256(NewObject.classBytes(.privateKey) + info)
            }
            return object
        }
    }
}

extension TokenObject {
    /// Whether a key lacks attributes that every key of its kind has on SoftHSM.
    ///
    /// A key on a curve that Keyfob does not know is complete; only its size and public half are unknown.
    fileprivate func lacksParts(among values: AttributeValues) -> Bool {
        guard objectClass == .privateKey || objectClass == .publicKey else { return false }
        func isMissing(_ attribute: AttributeType) -> Bool { values[attribute]?.isEmpty ?? true }
        let isPublic = objectClass == .publicKey
        return switch keyType {
        case .rsa?: sizeInBits == nil || isPublic && publicKeyInfo == nil
        case .ec?: isMissing(.ecParameters) || isPublic && isMissing(.ecPoint)
        case nil: true
        default: false
        }
    }

    /// Whether a private and a public key agree on kind and size, as far as both report them.
    fileprivate func isLike(_ half: TokenObject) -> Bool {
        func agree<Value: Equatable>(_ one: Value?, _ other: Value?) -> Bool {
            one == nil || other == nil || one == other
        }
        return agree(keyType, half.keyType) && agree(sizeInBits, half.sizeInBits)
    }
}

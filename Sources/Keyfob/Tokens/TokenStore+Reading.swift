import Foundation
import KeyfobOpenSSL
import PKCS11

/// What is on the token.
extension TokenStore {
    /// Every certificate and key on the token, by one search; the private ones where somebody is logged in.
    ///
    /// Objects without a class, certificates without a value and the like are left out, and counted in `debris`; files
    /// of which SoftHSM shows no object, in `hidden`.
    ///
    /// - Throws: `KeychainError`; `tokenAbsent` where the directory of a token of ours is not there.
    func readObjects() throws -> Listing {
        let generation = generation
        var listing = try readListedObjects()
        guard changeDetector != nil else { return listing }
        guard listing.files != nil else {
            // SoftHSM shows an empty token where there is none any more.
            try requirePresence()
            return listing
        }
        try compareWithFiles(&listing)
        // Private objects before a login; or SoftHSM has stopped looking, or could not read a file when it looked. It
        // does not look again by itself.
        guard listing.isWhole ? listing.unexplained > 0 : listing.hidden > 0,
            try regainSight() || regainObjects(since: generation)
        else { return listing }
        listing = try readListedObjects()
        try compareWithFiles(&listing)
        return listing
    }

    /// What is on the token.
    struct Listing {
        var objects: [TokenObject]
        /// How many objects could not be understood.
        var debris: Int
        /// How many there were, with those that are no items.
        var listed: Int
        /// How many files of objects there are; `nil` where that cannot be told.
        var files: Int?
        /// Whether the user was logged in all the while, so that private objects are among them.
        var isWhole: Bool
        /// How many files there are in which nothing was ever written.
        var emptyFiles = 0
        /// How many unread objects are known to stay unread: empty files, and files that SoftHSM could not read when
        /// it was initialised anew.
        var explained = 0

        /// Files of which no object is shown.
        var hidden: Int { max(0, (files ?? listed) - listed) }
        /// How many objects are there that could not be read.
        var unread: Int { isWhole ? hidden + debris : debris }
        /// How many of these the next look may show.
        var unexplained: Int { max(0, unread - explained) }
        /// Whether all that can be read was read, so that the result may be kept.
        var isComplete: Bool { unread <= emptyFiles }
    }

    private func readListedObjects() throws -> Listing {
        // Before the lock: a login may have to wait for a person, and others would wait for that, too.
        try withSession(.read) { _ in }
        return try readingObjects {
            var listing: Listing
            do { listing = try withSession(.read) { try list(in: $0) } } catch let error as KeychainError
                where (error.cause as? PKCS11Error)?.function == .getAttributeValue
            {
                // A new session fails too. An object that cannot be read hides none of the others.
                listing = try withSession(.read) { try list(in: $0, passingOverUnreadable: true) }
            }
            listing.files = changeDetector?.snapshot()?.entries.count
            return listing
        }
    }

    /// Counts the empty files, which explain objects that could not be read. Looks at no file if all could be read.
    private func compareWithFiles(_ listing: inout Listing) throws {
        guard listing.isWhole, listing.unread > 0 else { return }
        listing.emptyFiles = try emptyFiles().count
        listing.explained = max(listing.emptyFiles, sight.unreadableFiles)
        sight.noteRests(min(listing.hidden, listing.emptyFiles))
    }

    /// The object files of a token of ours that are empty, by their size; of any other token none is known.
    ///
    /// SoftHSM creates an object's file empty, and a kill may leave it so.
    func emptyFiles() throws -> [String] {
        guard let softHSM, let serial = uri.serial,
            case .whole(let token) = try softHSM.awaitToken(serial: serial, label: label)
        else { return [] }
        return try ObjectListing(of: token).files.filter { $0.value.isEmpty }
            .map { token.directory.filePath + "/" + $0.key }
    }

    /// - Parameter passesOverUnreadable: Whether an object for which the token fails in any way counts as debris. Where
    ///   the session itself has died, this fails all the same.
    func list(
        in session: borrowing Session, passingOverUnreadable passesOverUnreadable: Bool = false
    ) throws -> Listing {
        let epoch = try pool().loginEpoch
        var objects: [TokenObject] = []
        var debris = 0
        let handles = try session.findObjects()
        var listed = handles.count
        for handle in handles {
            let found: (isOnToken: Bool, object: TokenObject?)
            do throws(PKCS11Error) { found = try look(at: handle, in: session) } catch {
                // Gone since the search, or gone without SoftHSM's other processes being told of it.
                if error.recovery == .lookUpAgain { continue }
                guard passesOverUnreadable || Self.isDebris(error) else { throw error }
                debris += 1
                continue
            }
            if !found.isOnToken { listed -= 1 }
            guard let object = found.object else { continue }
            // SoftHSM shows the beginning of a file that was cut as a whole object.
            let isCut = try softHSM != nil && (object.lacksParts || lacksSubject(handle, object, in: session))
            if isCut { debris += 1 } else { objects.append(object) }
        }
        let isWhole = try session.info().isUserLoggedIn && pool().loginEpoch == epoch
        return Listing(
            objects: Self.completing(objects), debris: debris, listed: listed, isWhole: isWhole)
    }

    /// Whether a certificate has no subject, which every program writes.
    private func lacksSubject(
        _ handle: ObjectHandle, _ object: TokenObject, in session: borrowing Session
    ) throws -> Bool {
        guard object.objectClass == .certificate else { return false }
        return try session.attributes([.subject], of: handle)[.subject]?.isEmpty ?? true
    }

    /// Whether the token has a secret key of this id; asks the token itself.
    ///
    /// - Throws: `KeychainError`.
    func hasSecretKey(_ id: Data) throws -> Bool {
        // Another program has removed it, perhaps since this one found it.
        forgetHandles()
        func look() throws -> Bool { try withSession(.read) { try handle(ofSecretKey: id, in: $0) } != nil }
        let generation = generation
        return try look() || regainObjects(since: generation) && look()
    }

    /// One object, or `nil` for an object that is no item of ours (data, domain parameters, …), or not on the token:
    /// what lives only as long as some session of this process.
    func read(_ handle: ObjectHandle, in session: borrowing Session) throws(PKCS11Error) -> TokenObject? {
        try look(at: handle, in: session).object
    }

    private func look(
        at handle: ObjectHandle, in session: borrowing Session
    ) throws(PKCS11Error) -> (isOnToken: Bool, object: TokenObject?) {
        let first = try session.attributes([.objectClass, .token], of: handle)
        guard first.bool(.token) != false else { return (false, nil) }
        guard let objectClass = first.objectClass else {
            throw PKCS11Error(function: .getAttributeValue, returnValue: .attributeValueInvalid, detail: "no class")
        }
        guard [.certificate, .privateKey, .publicKey, .secretKey].contains(objectClass) else {
            return (true, nil)
        }
        let values = try session.attributes(TokenObject.attributeTypes(of: objectClass), of: handle)
        guard let object = TokenObject(reading: values, parsesCertificate: true) else {
            throw PKCS11Error(function: .getAttributeValue, returnValue: .attributeValueInvalid, detail: "no value")
        }
        return (true, object)
    }

    private static func isDebris(_ error: PKCS11Error) -> Bool {
        error.returnValue == .attributeValueInvalid || error.returnValue == .attributeTypeInvalid
    }

    /// Private keys that do not tell their public key take it from the public key object of the same id.
    ///
    /// An id that is the public key's hash names the key by itself. Any other id, such as 01, is given again
    /// to the next key: the public key then is part of the fingerprint, so that a key is never taken for its
    /// successor. Where several public keys have the id, or several private keys that do not tell theirs, none is
    /// believed, and neither is one of another kind or size.
    static func completing(_ objects: [TokenObject]) -> [TokenObject] {
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
    fileprivate var lacksParts: Bool {
        guard objectClass == .privateKey || objectClass == .publicKey else { return false }
        guard keyType == .rsa || keyType == .ec else { return keyType == nil }
        return sizeInBits == nil || objectClass == .publicKey && publicKeyInfo == nil
    }

    /// Whether nothing that two halves say of their kind and size speaks against their being a pair.
    fileprivate func isLike(_ half: TokenObject) -> Bool {
        func agree<Value: Equatable>(_ one: Value?, _ other: Value?) -> Bool {
            one == nil || other == nil || one == other
        }
        return agree(keyType, half.keyType) && agree(sizeInBits, half.sizeInBits)
    }
}

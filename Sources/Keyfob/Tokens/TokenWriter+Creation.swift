import KeyfobOpenSSL
import PKCS11

/// Creating objects on the token.
extension TokenWriter {
    /// Carries out a change that creates the missing ones of some objects.
    ///
    /// - Parameters:
    ///   - key: A key that awaits its certificate and that this change treats as listed.
    ///   - prepare: Gets the listed objects on the token, refuses the change if necessary, and returns the objects that
    ///     the items need. An object that is on the token is not created again.
    ///   - commit: Writes the items. It gets the created objects.
    /// - Returns: The result of `commit`.
    /// - Throws: `KeychainError`; `tokenContractViolation`, `tokenFull`; errors of the closures.
    func create<Result>(
        listing key: TokenObject? = nil, prepare: ([TokenObject]) throws -> [NewObject],
        commit: (any StoreWriter, [TokenObject]) throws -> Result
    ) throws -> Result {
        var missing: [NewObject] = []
        return try perform(.create, listing: key) { objects in
            missing = []
            for new in try prepare(objects) where !objects.contains(where: { new.isSame(as: $0) }) {
                // Several items may share one object.
                if !missing.contains(where: { $0.isSame(as: new) }) { missing.append(new) }
            }
            return missing.map { UnfinishedObject(making: $0) }
        } change: { session, leftovers, _ in
            Outcome(added: try missing.map { try createObject($0, in: session, leftovers) })
        } commit: { writer, outcome in
            try commit(writer, outcome.added)
        }
    }

    /// Creates an object and reads it back. If the token ignored a requested attribute, that is an error and the object
    /// is destroyed. A private key signs once.
    ///
    /// - Parameter leftovers: Objects that killed changes left behind. A certificate or public key among them is
    ///   reused. A private key is destroyed and created again, because the kill may have left it without its private
    ///   value.
    func createObject(
        _ new: NewObject, in session: borrowing Session, _ leftovers: [TokenObject] = []
    ) throws -> TokenObject {
        for left in leftovers where new.isSame(as: left) {
            for handle in try token.handles(ofAll: left, in: session) {
                guard new.objectClass == .privateKey else { return try confirm(handle, new.template, in: session) }
                try session.destroy(handle)
                token.forgetHandles()
            }
        }
        guard let key = new.key else {
            let handle: ObjectHandle
            do { handle = try session.create(new.template) } catch let refusal {
                // tpm2-pkcs11 refuses the public half of an EC key already.
                guard new.objectClass == .publicKey, refusal.isRefusalOfTemplate else { throw refusal }
                throw KeychainError.takesNoKey(refusal, nil, token: token.label)
            }
            return try confirm(handle, new.template, in: session)
        }
        let handle = try PrivateKeyPlacement(key: key, template: new.template, token: token.label)(in: session)
        let object = try confirm(handle, new.template, in: session)
        try token.requireSignature(by: object, handle, of: key.publicKey, in: session)
        return object
    }

    /// Reads the object back, after checking that it has the requested attributes.
    private func confirm(
        _ handle: ObjectHandle, _ template: AttributeTemplate, in session: borrowing Session
    ) throws -> TokenObject {
        try AttributeReadBack.check(handle, template, in: session, token: token.label)
        guard let object = try token.read(handle, in: session) else {
            throw KeychainError(
                .tokenContractViolation, "token \"\(token.label)\" made an object of another class.")
        }
        return object
    }
}

extension PKCS11Error {
    /// Whether the token refuses an object because of what it is.
    fileprivate var isRefusalOfTemplate: Bool {
        [.templateInconsistent, .templateIncomplete, .attributeValueInvalid, .attributeTypeInvalid]
            .contains(returnValue)
    }
}

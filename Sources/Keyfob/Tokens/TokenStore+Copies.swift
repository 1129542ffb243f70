import PKCS11

/// Objects that are on the token more than once: other tools write one object twice.
extension TokenStore {
    /// The handles of an object that is about to be changed or destroyed: of each object on the token that is the same
    /// and has its label.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` also where no such object has the label, `ambiguous` for keys that are
    ///   not told apart.
    func handles(ofAll object: TokenObject, in session: borrowing Session) throws -> [ObjectHandle] {
        var handles: [ObjectHandle] = []
        for handle in try searchAll(object, in: session) {
            let label = try session.attributes([.label], of: handle)[.label] ?? []
            if TokenObject.label(reading: label) == object.label { handles.append(handle) }
        }
        guard !handles.isEmpty else { throw gone() }
        return handles
    }
}

import PKCS11

/// Duplicate objects: some tools write the same object twice.
extension TokenStore {
    /// The handles of an object that is about to be changed or destroyed, including duplicates with the same label.
    ///
    /// - Parameters:
    ///   - object: The object.
    ///   - session: A session of the token.
    /// - Returns: At least one handle.
    /// - Throws: `KeychainError`; `itemNotFound` if there is no such object with this label, `ambiguous` for keys that
    ///   cannot be distinguished.
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

import PKCS11

/// Reads an object back after it was made: some tokens accept a template and make something else of it.
enum AttributeReadBack {
    /// The attributes that protect a key.
    private static let protecting: [AttributeType] = [.token, .isPrivate, .sensitive, .extractable, .id]

    /// Compares the protecting attributes with the template they were asked for in.
    ///
    /// - Throws: `KeychainError` with code `tokenContractViolation`, and what the token refuses; after destroying the object,
    ///   or with the refusal to do so as the cause.
    static func check(
        _ handle: ObjectHandle, _ template: AttributeTemplate, in session: borrowing Session, token: String
    ) throws {
        let asked = protecting.filter { template[$0] != nil }
        let values: AttributeValues
        do { values = try session.attributes(asked, of: handle) } catch {
            // Nobody would know of an object that was never looked at. The first failure is the one to report.
            try? session.destroy(handle)
            throw error
        }
        guard let wrong = asked.first(where: { template[$0]?.value != values[$0] }) else { return }
        // That it does not let go of it either is no reason to say less: an object without protection lies there, at
        // least until the change is undone.
        var refusal: PKCS11Error?
        do { try session.destroy(handle) } catch { refusal = error }
        throw KeychainError(
            .tokenContractViolation,
            "token \"\(token)\" did not obey: \(wrong.name) of the new object is not what was asked for.",
            remedies: (refusal == nil
                ? ["The object was removed again."]
                : [
                    "The object could not be removed at once. If it is still there, remove it with the vendor's tool.",
                    Remedy("See whether it is there", .listObjects(token: token)),
                ]) + ["This token cannot protect keys as Keyfob promises."],
            details: ["token": token, "attribute": wrong.name], cause: refusal)
    }
}

package import PKCS11

/// Reads an object back after its creation, because some tokens accept a template and create something else.
package enum AttributeReadBack {
    /// The attributes that protect a key.
    private static let protecting: [AttributeType] = [.token, .isPrivate, .sensitive, .extractable, .id]

    /// Compares the protecting attributes with those that the template requested.
    ///
    /// On a mismatch or an error the object is destroyed.
    ///
    /// - Parameters:
    ///   - handle: The new object.
    ///   - template: The template that the object was created from.
    ///   - session: A session of the token.
    ///   - token: The token's name in messages.
    /// - Throws: `PKCS11Error` if the object cannot be read; `KeychainError` with code `tokenContractViolation` on a
    ///   mismatch, whose cause is the error of destroying the object, if any.
    package static func check(
        _ handle: ObjectHandle, _ template: AttributeTemplate, in session: borrowing Session, token: String
    ) throws {
        let asked = protecting.filter { template[$0] != nil }
        let values: AttributeValues
        do { values = try session.attributes(asked, of: handle) } catch {
            // Do not leave an unverified object behind. The first failure is the one to report.
            try? session.destroy(handle)
            throw error
        }
        guard let wrong = asked.first(where: { template[$0]?.value != values[$0] }) else { return }
        // Report the violation also if the object cannot be destroyed: an unprotected object remains, at least until
        // the change is undone.
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

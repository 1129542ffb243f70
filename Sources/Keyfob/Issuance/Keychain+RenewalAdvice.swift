package import Foundation
import KeyfobPrimitives
import OpenSSL

extension Identity {
    /// What hints say of the next certificate: the command that renews the identity, or where nobody has said who does,
    /// what works then.
    ///
    /// - Parameters:
    ///   - beginning: What stands before the command, such as `Renew`.
    ///   - options: Of that command, each with a space before it.
    package func renewalHint(_ beginning: String, options: String = "") -> String {
        func command(_ options: String) -> String {
            let word = label.map { ShellWord.operand($0, with: options) }
                ?? "sha256:\(Digest.sha256(der).hexadecimal.prefix(16))\(options)"
            return "keyfob identity renew " + word
        }
        guard renewalPolicy == nil else { return "\(beginning): \(command(options))" }
        // What is no certificate has no issuer either.
        let isSelfSigned = (try? certificate().isSelfSigned) ?? false
        let name = label.map { ShellWord.option("--name", $0) } ?? "--name NAME"
        // A key that was made here is in no file.
        let install = label.map { ShellWord.operand($0, with: " --cert FILE") } ?? "NAME --cert FILE"
        return "Get a new certificate: keyfob identity install \(install)     "
            + "With a new key: keyfob identity import FILE \(name) --replace     Or renew it: "
            + command(options + (isSelfSigned ? " --self-signed" : " --issuer ISSUER"))
    }
}

extension Keychain {
    /// What to do about an identity that has expired, or will.
    ///
    /// - Parameter beginning: As `Identity.renewalHint` has it.
    /// - Throws: `KeychainError`; the errors of `unlock()`, and where the token cannot be read.
    package func renewalAdvice(
        for identity: Identity, _ beginning: String = "Renew it", options: String = ""
    ) throws -> String {
        // An older version is kept for a while and then retired, never renewed.
        guard let name = identity.nameOfVersion else { return identity.renewalHint(beginning, options: options) }
        // A certificate of somebody else's that cannot be read says nothing against this one.
        let own = (try? versions(of: identity)) ?? []
        let words = try retirementWords(for: [identity], of: name, besides: own)
        return "Its place has been taken: keyfob identity retire \(words.joined())"
    }

    /// The same for a certificate that was not accepted; `nil` where nobody can tell without asking for a PIN, and for
    /// one that was accepted.
    package func renewalAdvice(in verification: CertificateVerification) -> String? {
        guard let failure = verification.result.failure else { return nil }
        // It is about a hint: what cannot be read is no second failure.
        guard (try? keysIfUnlocked()) != nil, let identities = try? find(.identities) else { return nil }
        let own = identities.filter { $0.der == verification.certificate.der }
        // What is here without its key is renewed elsewhere.
        guard let identity = own.first(where: { $0.nameOfVersion == nil }) ?? own.first else {
            return "Get a new one from the authority above it: keyfob cert import FILE"
        }
        // Its time has not come, and a new key of the same kind would be as weak.
        let options: String
        switch failure.code {
        case .weakSignature: options = " --force"
        case .weakKey, .weakAuthorityKey: options = " --force --key rsa"
        default: options = ""
        }
        // As above.
        return try? renewalAdvice(for: identity, "Renew", options: options)
    }

    /// The error for an identity whose certificate is not valid at a moment; `nil` for one that is.
    ///
    /// - Throws: `KeychainError`; as `renewalAdvice(for:_:options:)`. `KeyFileError` for what is no certificate.
    package func validityError(of identity: Identity, on date: Date) throws -> KeychainError? {
        let certificate = try identity.certificate()
        guard !certificate.isValid(on: date) else { return nil }
        let advice = try renewalAdvice(for: identity, "Renew")
        return KeychainError.validity(of: certificate, name: identity.label ?? "NAME", on: date, renewal: advice)
    }
}

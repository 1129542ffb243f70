package import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL

extension Identity {
    /// The hint for getting the next certificate: the command that renews the identity, or the alternatives if it has
    /// no renewal policy.
    ///
    /// - Parameters:
    ///   - beginning: The text before the command, such as `Renew`.
    ///   - options: Options of that command, each preceded by a space.
    package func renewalHint(_ beginning: String, options: String = "") -> String {
        func command(_ options: String) -> String {
            let word = label.map { ShellWord.operand($0, with: options) }
                ?? "sha256:\(Digest.sha256(der).hexadecimal.prefix(16))\(options)"
            return "keyfob identity renew " + word
        }
        guard renewalPolicy == nil else { return "\(beginning): \(command(options))" }
        // Data that is not a certificate has no issuer.
        let isSelfSigned = (try? certificate().isSelfSigned) ?? false
        let name = label.map { ShellWord.option("--name", $0) } ?? "--name NAME"
        // A key that was made on the token is in no file.
        let install = label.map { ShellWord.operand($0, with: " --cert FILE") } ?? "NAME --cert FILE"
        return "Get a new certificate: keyfob identity install \(install)     "
            + "With a new key: keyfob identity import FILE \(name) --replace     Or renew it: "
            + command(options + (isSelfSigned ? " --self-signed" : " --issuer ISSUER"))
    }
}

extension Keychain {
    /// The advice for an identity that has expired or will expire.
    ///
    /// - Parameter beginning: The text before the command, such as `Renew`.
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of reading the token.
    package func renewalAdvice(
        for identity: Identity, _ beginning: String = "Renew it", options: String = ""
    ) throws -> String {
        // An older version is kept for a while and then retired, never renewed.
        guard let name = identity.nameOfVersion else { return identity.renewalHint(beginning, options: options) }
        // Another certificate that cannot be read does not matter here.
        let own = (try? versions(of: identity)) ?? []
        let words = try retirementWords(for: [identity], of: name, besides: own)
        return "Its place has been taken: keyfob identity retire \(words.joined())"
    }

    /// The advice for a certificate that failed verification; `nil` for one that passed.
    ///
    /// Also `nil` if the answer would need a PIN.
    package func renewalAdvice(in verification: CertificateVerification) -> String? {
        guard let failure = verification.result.failure else { return nil }
        // This only improves a hint, so a read error is ignored.
        guard (try? keysIfUnlocked()) != nil, let identities = try? find(.identities) else { return nil }
        let own = identities.filter { $0.der == verification.certificate.der }
        // A certificate whose key is not here is renewed elsewhere.
        guard let identity = own.first(where: { $0.nameOfVersion == nil }) ?? own.first else {
            return "Get a new one from the authority above it: keyfob cert import FILE"
        }
        // The renewal is not due yet, and a new key of the same kind would be as weak.
        let options: String
        switch failure.code {
        case .weakSignature: options = " --force"
        case .weakKey, .weakAuthorityKey: options = " --force --key rsa"
        default: options = ""
        }
        // A read error is ignored here too.
        return try? renewalAdvice(for: identity, "Renew", options: options)
    }

    /// The error for an identity whose certificate is not valid on a date; `nil` if it is valid.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of reading the token. `KeyFileError` for data that is
    ///   not a certificate.
    package func validityError(of identity: Identity, on date: Date) throws -> KeychainError? {
        let certificate = try identity.certificate()
        guard !certificate.isValid(on: date) else { return nil }
        let advice = try renewalAdvice(for: identity, "Renew")
        return KeychainError.validity(of: certificate, name: identity.label ?? "NAME", on: date, renewal: advice)
    }
}

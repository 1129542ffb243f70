public import Foundation
public import KeyfobPrimitives
package import KeyfobOpenSSL
import PKCS11

/// One result of an identity check.
public struct IdentityFinding: Sendable, Hashable {
    /// The state of a finding.
    public enum State: String, Sendable, Hashable {
        /// As it should be.
        case good = "ok"
        /// Works, but needs attention.
        case warning = "warn"
        /// Does not work.
        case bad = "FAIL"
    }

    /// The state.
    public let state: State
    /// A stable name: `key`, `match`, `chain`, `trust`, `signature`, `tls13`, `validity`.
    public let name: String
    /// A description for people.
    public let text: String
    /// What to do, if anything.
    public let remedies: [Remedy]
    /// For programs: `origin` of trust, `system` or `keychain`; `reason`, the error code of the failure.
    public var details: [String: String] = [:]

    /// What to do, if anything, without the operations that `remedies` name.
    public var hint: String? { remedies.hint }
}

extension KeychainIdentities {
    /// Checks an identity: key on the token, certificate, chain, trust, dates, and a test signature.
    ///
    /// Trust is that of the system and the keychain, for the usage of the certificate. An identity that neither trusts
    /// is a warning, because it still works with peers that trust its root. A chain that no peer can accept is a
    /// failure.
    ///
    /// - Throws: `KeychainError` if the keychain cannot be unlocked. A defect of the identity is a finding, not an
    ///   error.
    @available(*, noasync, message: "use the asynchronous form")
    public func check(_ identity: Identity, on date: Date = Date()) throws -> [IdentityFinding] {
        try keychain.withDeadline { [self] in
            var findings: [IdentityFinding] = []
            func add(_ state: IdentityFinding.State, _ name: String, _ text: String, _ remedies: [Remedy] = []) {
                findings.append(IdentityFinding(state: state, name: name, text: text, remedies: remedies))
            }
            _ = try keychain.vaultKeys()
            let certificate = try identity.certificate()
            let key = try keychain.keys.tokenKey(for: identity)
            guard let object = identity.item.object else { return [] }
            do {
                _ = try keychain.token.withSession(.read) { try keychain.token.verifiedHandle(of: object, in: $0) }
                add(.good, "key", "key on token")
            } catch let error as KeychainError where error.code == .itemNotFound {
                add(.bad, "key", "the key is not on the token", [Remedy("See what is there", .listObjects())])
                return findings
            }
            let isMatching = object.publicKeyHash.map { $0 == certificate.publicKey.identifier } ?? true
            add(
                isMatching ? .good : .bad, "match",
                isMatching ? "matches certificate" : "key and certificate do not belong together")
            findings += try checkChain(certificate, named: identity.label ?? "NAME", on: date)
            try checkSignature(key, add)
            let renewal = try renewalAdvice(for: identity)
            if date < certificate.notBefore {
                add(.bad, "validity", "not valid yet", ["Check the clock, or wait."])
            } else if date > certificate.notAfter {
                add(.bad, "validity", "expired", renewal)
            } else if try date > renewalDate(of: identity) {
                let days = Int(certificate.notAfter.timeIntervalSince(date) / 86400)
                add(.warning, "validity", "expires in \(days) days", renewal)
            } else {
                add(.good, "validity", "valid")
            }
            return findings
        }
    }

    private func checkChain(
        _ certificate: Certificate, named name: String, on date: Date
    ) throws -> [IdentityFinding] {
        let chain = try keychain.certificates.chain(of: certificate)
        guard chain.isComplete || certificate.isSelfSigned || chain.certificates.count > 1 else {
            return [
                IdentityFinding(
                    state: .warning, name: "chain",
                    text: "no issuer certificate (issuer \(certificate.issuer.commonName ?? "unknown"))",
                    remedies: certificate.issuerAdvice(fetchingFor: .name(certificate.word(for: name))))
            ]
        }
        let complete = IdentityFinding(state: .good, name: "chain", text: "chain", remedies: [])
        let extended = certificate.extendedKeyUsage
        let usage = [.server, .client, .email].first { (usage: CertificateUsage) in
            usage.extendedKeyUsage.map { extended.contains($0) } ?? false
        }
        // The dates of the leaf are a separate finding.
        let moment = min(max(date, certificate.notBefore), certificate.notAfter)
        let result: CertificateVerification
        do { result = try keychain.certificates.verify(certificate, on: moment, usage: usage ?? .any) } catch let error
            as KeychainError
            where error.code == .fileUnavailable
        {
            return [
                complete,
                IdentityFinding(
                    state: .warning, name: "trust", text: "trust unknown: \(error.message)",
                    remedies: error.remedies),
            ]
        }
        let failure = try result.error(
            name: name, successor: keychain.trust.successor(in: result), renewal: renewalAdvice(in: result))
        guard let error = failure else {
            let origin = result.origin ?? .keychain
            return [
                complete,
                IdentityFinding(
                    state: .good, name: "trust", text: "trusted by the \(origin.rawValue)", remedies: [],
                    details: ["origin": origin.rawValue]),
            ]
        }
        let isUnknown = error.code == .certificateUntrusted || error.code == .chainIncomplete
        let last = chain.certificates.last ?? certificate
        // The missing issuer may be the root, which clients have.
        let isOpen = isUnknown && !last.isSelfSigned
        let end = IdentityFinding(
            state: .warning, name: "chain",
            text: "chain ends at \(last.subjectSummary ?? "unknown"), whose issuer "
                + "\(last.issuer.commonName ?? "unknown") is not here: "
                + "the root, or an intermediate that servers must send",
            remedies: last.issuerAdvice(fetchingFor: .name(certificate.word(for: name))))
        let text: String
        if !isUnknown {
            text = error.message.hasSuffix(".") ? String(error.message.dropLast()) : error.message
        } else if certificate.isSelfSigned {
            text = "self-signed, and not trusted here"
        } else if isOpen {
            text = "its root is not known here"
        } else {
            text = "its root \(last.subject.commonName ?? "unknown") is trusted by neither system nor keychain"
        }
        return [
            isOpen ? end : complete,
            IdentityFinding(
                state: isUnknown ? .warning : .bad, name: "trust", text: text,
                remedies: isUnknown
                    ? [
                        "Clients that trust it themselves accept it.",
                        Remedy("To trust it here", .trust(try rootWord(of: last))),
                    ] : error.remedies,
                details: ["reason": error.code.rawValue]),
        ]
    }

    /// The name of a root in commands; `nil` if the keychain does not have it, and for a certificate that is not a
    /// root.
    package func rootWord(of root: Certificate) throws -> String? {
        guard root.isSelfSigned else { return nil }
        return try keychain.certificates.publicCertificates().first { $0.der == root.der }.map {
            try keychain.trust.word(for: root, called: $0.label)
        }
    }

    private func checkSignature(
        _ key: TokenKey, _ add: (IdentityFinding.State, String, String, [Remedy]) -> Void
    ) throws {
        let scheme: SignatureScheme = switch key.publicKey.algorithm {
        case .ec: .ecdsa(.sha256)
        case .ed25519: .ed25519
        default: .rsaPKCS1(.sha256)
        }
        let challenge = try RandomBytes.bytes(count: 32)
        do {
            let clock = ContinuousClock()
            var signature: [UInt8] = []
            let elapsed = try clock.measure { signature = try key.sign(challenge, using: scheme) }
            guard try key.publicKey.verify(Data(signature), of: Data(challenge), using: scheme) else {
                return add(.bad, "signature", "its signature does not verify", ["Is the certificate for another key?"])
            }
            let milliseconds = max(1, Int(elapsed / .milliseconds(1)))
            add(.good, "signature", "signed a test challenge in \(milliseconds) ms", [])
            // TLS 1.3 allows RSA only with PSS (RFC 8446 4.2.3).
            if scheme == .rsaPKCS1(.sha256), try key.proven([.rsaPSS(.sha256)]).isEmpty {
                add(
                    .warning, "tls13",
                    "cannot sign for TLS 1.3: the token has neither RSA-PSS nor raw RSA for this key",
                    ["Servers and clients must allow TLS 1.2; or use an EC key."])
            }
        } catch let error as KeychainError {
            let reason = error.message.hasSuffix(".") ? String(error.message.dropLast()) : error.message
            add(.bad, "signature", "cannot sign: \(reason)", error.remedies)
        }
    }

    /// An identity as a PKCS#12 file; only if its key is extractable.
    ///
    /// The token wraps the key with a session key made for this call, so the key never leaves the token in the clear.
    ///
    /// - Throws: `KeychainError`; `keyNotExtractable`, `mechanismUnsupported`, `invalidArgument` for a passphrase that
    ///   contains NUL, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func export(_ identity: Identity, passphrase: SecretBytes) throws -> Data {
        try keychain.withDeadline { [self] in
            let label = identity.attributes.title(of: .identity)
            let remedies = [Remedy("Use it in place", .showURI(label)), Remedy("Public parts", .exportChain(label))]
            guard let object = identity.item.object, object.flags.contains(.extractable) else {
                throw KeychainError(
                    .keyNotExtractable,
                    "key \"\(label)\" cannot leave token \"\(keychain.token.label)\": it is marked not extractable.",
                    remedies: remedies)
            }
            _ = try keychain.vaultKeys()
            let certificate = try identity.certificate()
            let key: PrivateKey
            do { key = try keychain.keys.export(object) } catch let error as KeychainError
                where error.code == .keyNotExtractable
            {
                // The token's error names neither the key nor the token.
                throw KeychainError(
                    .keyNotExtractable,
                    "key \"\(label)\" (\(certificate.publicKey.algorithm)) cannot leave token "
                        + "\"\(keychain.token.label)\", although it is marked extractable: the token does not give it "
                        + "out.",
                    remedies: remedies, details: error.details, cause: error)
            }
            let above = Array(try keychain.certificates.chain(of: certificate).withoutRoot.dropFirst())
            do throws(PKCS12Error) {
                return try PKCS12.write(
                    key: key, certificate: certificate, chain: above,
                    friendlyName: label, passphrase: passphrase)
            } catch {
                throw KeychainError(
                    error.code == .invalidInput ? .invalidArgument : .failed,
                    "identity \"\(label)\" cannot be written to a file: \(error.detail).", cause: error)
            }
        }
    }
}

import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// Private keys that do not reveal their public key, and have no public key object or share its identifier with others.
extension TokenItems {
    /// Adds the public keys of such private keys, if a certificate or public key object on the token provably matches.
    ///
    /// The key makes one signature to prove its public key. Keys that require the PIN for each signature are skipped.
    /// Answers are cached for a few seconds. A key that cannot sign stays unchanged, and does not affect the others.
    func recognizing(_ objects: [TokenObject]) throws -> [TokenObject] {
        let silent = objects.filter { $0.objectClass == .privateKey && $0.publicKeyInfo == nil }
        guard !silent.isEmpty else { return objects }
        let claimed = Set(objects.lazy.filter { $0.objectClass == .privateKey }.compactMap(\.publicKeyHash))
        let found = try Dictionary(grouping: silent, by: \.fingerprint).compactMapValues { keys in
            try publicKey(of: keys, among: objects, besides: claimed)
        }
        return objects.map { object in
            guard object.objectClass == .privateKey, let publicKey = found[object.fingerprint] else { return object }
            var object = object
            object.parsed.publicKey = publicKey
            return object
        }
    }

    /// The public key of private keys with one identifier; `nil` if they do not all have the same public key.
    ///
    /// - Parameter claimed: The identifiers of public keys that belong to other private keys.
    private func publicKey(
        of keys: [TokenObject], among objects: [TokenObject], besides claimed: Set<Data>
    ) throws -> PublicKey? {
        let id = keys[0].id
        var candidates: [Data: PublicKey] = [:]
        for object in objects {
            // Skip an object of the certificate class that does not hold a certificate.
            let publicKey: PublicKey? = switch object.objectClass {
            case .certificate: try? object.certificate.publicKey
            case .publicKey where object.id == id && !id.isEmpty:
                try object.publicKeyInfo.map { try PublicKey(subjectPublicKeyInfo: $0) }
            default: nil
            }
            guard let publicKey, !claimed.contains(publicKey.identifier), keys.allSatisfy({ $0.fits(publicKey) }) else {
                continue
            }
            candidates[publicKey.identifier] = publicKey
        }
        if let named = candidates[id] { return named }
        guard !candidates.isEmpty,
            keys.allSatisfy({ $0.flags.contains(.sign) && !$0.flags.contains(.alwaysAuthenticate) })
        else { return nil }
        let question = KeyProof(fingerprint: keys[0].fingerprint, count: keys.count, candidates: Set(candidates.keys))
        if let known = keychain.token.proofs.withLock({ $0[question] }), !known.end.hasPassed { return known.publicKey }
        let publicKey = try proven(Array(candidates.values), by: keys)
        keychain.token.proofs.withLock { $0[question] = (publicKey, .after(.seconds(5))) }
        return publicKey
    }

    /// The candidate that verifies a signature of each private key; `nil` if there is none, or if the token does not
    /// sign with the keys.
    private func proven(_ candidates: [PublicKey], by keys: [TokenObject]) throws -> PublicKey? {
        let challenge = try RandomBytes.bytes(count: 32)
        do {
            return try keychain.token.withSession(.sign) { session in
                var candidates = candidates
                let handles = try keychain.token.handles(like: keys[0], in: session)
                // Another program has added or removed a key in between.
                guard handles.count == keys.count else { return nil }
                for (handle, object) in handles where !candidates.isEmpty {
                    guard let (scheme, mechanism, input) = object.proof(of: challenge) else { return nil }
                    let raw = try session.sign(input, with: handle, using: mechanism)
                    let signature = scheme == .ecdsa(.sha256) ? try ECDSASignature(raw: raw).der : raw
                    candidates = try candidates.filter { candidate in
                        try object.fits(candidate) && scheme.fits(candidate.algorithm)
                            && candidate.verify(signature, ofDigest: challenge, using: scheme)
                    }
                }
                return candidates.first
            }
        } catch let error as KeychainError
            where [.mechanismUnsupported, .itemNotFound, .tokenContractViolation, .failed].contains(error.code)
        {
            return nil
        } catch is CryptoError {
            // The token returned something that is not a signature.
            return nil
        }
    }
}

extension TokenStore {
    /// The private keys on the token with the identifier and the fingerprint of `key`, with their handles.
    fileprivate func handles(
        like key: TokenObject, in session: borrowing Session
    ) throws -> [(handle: ObjectHandle, object: TokenObject)] {
        var template: AttributeTemplate = [.objectClass(.privateKey), .token(true)]
        if !key.id.isEmpty { template.append(.id([UInt8](key.id))) }
        return try searching(with: session) {
            var found: [(handle: ObjectHandle, object: TokenObject)] = []
            for handle in try session.findObjects(template) {
                guard let object = try read(handle, in: session), object.isSame(as: key) else { continue }
                found.append((handle, object))
            }
            if found.isEmpty { try requireLogin(session) }
            return found
        }
    }
}

import Foundation
import Keyfob

/// Preferred identities and certificates, which are a name and what a key is to do (SecIdentity.h, SecCertificate.h).
extension ItemOperations {
    /// The identity that is preferred for a name, among those that are valid today; `nil` where none is.
    ///
    /// - Parameter issuers: Names in DER of authorities, of which one must be above the certificate; empty for any.
    func preferredIdentity(_ name: String, _ usages: Set<AttributeName>, issuers: [Data]) throws -> SecIdentity? {
        guard let item = try preferred(.identity, name, usages, issuers: issuers) else { return nil }
        return try results.reference(to: item) as? SecIdentity
    }

    /// The certificate that is preferred for a name, among those that are valid today; `nil` where none is.
    func preferredCertificate(_ name: String, _ usages: Set<AttributeName>) throws -> SecCertificate? {
        guard let item = try preferred(.certificate, name, usages, issuers: []) else { return nil }
        return try results.reference(to: item) as? SecCertificate
    }

    private var results: ItemResults { ItemResults(keychain: keychain, request: ItemRequest(itemClass: .certificate)) }

    private func preferred(
        _ itemClass: ItemClass, _ name: String, _ usages: Set<AttributeName>, issuers: [Data]
    ) throws -> Item? {
        var criteria = try visible(itemClass)
        criteria.validOn = Date()
        criteria.issuers = issuers
        return try keychain.preferred(Preference(itemClass, name, usages: usages), among: criteria)
    }

    /// Prefers a certificate, or the identity that it is part of, for a name; `nil` takes the preference back.
    ///
    /// - Throws: `StatusError` (`errSecInvalidItemRef`) where the certificate is no item that this process may see,
    ///   `KeychainError`.
    func setPreferred(
        _ itemClass: ItemClass, _ certificate: SecCertificate?, _ name: String, _ usages: Set<AttributeName>
    ) throws {
        guard !name.isEmpty else { throw StatusError.parameter("a preference has a name") }
        try checkNotEmpty()
        let criteria = try visible(.certificate)
        var chosen: Item?
        if let certificate {
            let items = try keychain.findItems(criteria).filter { $0.isNamed(by: certificate) }
            let own = certificate.item.flatMap { $0.certificateReference ?? $0.reference }
            chosen = items.first { $0.reference == own } ?? items.first
            guard chosen != nil else { throw StatusError(errSecInvalidItemRef, "the certificate is in no keychain") }
        }
        try keychain.setPreferred(
            chosen?.reference, Preference(itemClass, name, usages: usages), among: criteria)
    }

    /// The items of a class in the access groups of the process.
    private func visible(_ itemClass: ItemClass) throws -> Criteria {
        var request = ItemRequest(itemClass: itemClass)
        request.matchesAnySynchronizable = true
        try checkGroup(request.attributes, isWriting: false)
        return try criteria(request)
    }

    /// What a key is to do, of an array of `kSecAttrCan…`; empty for any use. What is no such key is passed over, as by
    /// Apple.
    static func keyUsages(_ keyUsage: CFArray?) -> Set<AttributeName> {
        let names = (keyUsage ?? []).compactMap { ($0 as? String).map { AttributeName(rawValue: $0) } }
        return Set(names).intersection([
            .canEncrypt, .canDecrypt, .canDerive, .canSign, .canVerify, .canSignRecover, .canVerifyRecover, .canWrap,
            .canUnwrap,
        ])
    }
}

import Foundation
import Keyfob

/// Preferred identities and certificates, found by a name and key usages (SecIdentity.h, SecCertificate.h).
extension ItemOperations {
    /// Returns the preferred identity for a name, among those that are valid today; `nil` without one.
    ///
    /// - Parameter issuers: Names of authorities in DER, one of which must be above the certificate; empty for any.
    func preferredIdentity(_ name: String, _ usages: Set<AttributeName>, issuers: [Data]) throws -> SecIdentity? {
        guard let item = try preferred(.identity, name, usages, issuers: issuers) else { return nil }
        return try results.reference(to: item) as? SecIdentity
    }

    /// Returns the preferred certificate for a name, among those that are valid today; `nil` without one.
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
        return try keychain.identities.preferred(Preference(itemClass, name, usages: usages), among: criteria)
    }

    /// Makes a certificate, or the identity it belongs to, the preferred one for a name; `nil` removes the preference.
    ///
    /// - Throws: `StatusError`; `errSecInvalidItemRef` if the certificate is not a visible item, `errSecParam` for an
    ///   empty name. `KeychainError`.
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
        try keychain.identities.setPreferred(
            chosen?.reference, Preference(itemClass, name, usages: usages), among: criteria)
    }

    /// Returns the search for the items of a class in the access groups of the process.
    private func visible(_ itemClass: ItemClass) throws -> Criteria {
        var request = ItemRequest(itemClass: itemClass)
        request.matchesAnySynchronizable = true
        try checkGroup(request.attributes, isWriting: false)
        return try criteria(request)
    }

    /// Returns the key usages in an array of `kSecAttrCan…`; empty for any use.
    ///
    /// Other members are ignored, as Apple does.
    static func keyUsages(_ keyUsage: CFArray?) -> Set<AttributeName> {
        let names = (keyUsage ?? []).compactMap { ($0 as? String).map { AttributeName(rawValue: $0) } }
        return Set(names).intersection([
            .canEncrypt, .canDecrypt, .canDerive, .canSign, .canVerify, .canSignRecover, .canVerifyRecover, .canWrap,
            .canUnwrap,
        ])
    }
}

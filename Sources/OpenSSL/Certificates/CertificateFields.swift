import COpenSSL
import Foundation

/// The fields of a certificate, parsed once and shared by all copies.
final class CertificateFields: Sendable {
    let der: Data
    let version: Int
    let serialNumber: Data
    let serialNumberDER: Data
    let signatureAlgorithm: OID
    let issuer: DistinguishedName
    let subject: DistinguishedName
    let notBefore: Date
    let notAfter: Date
    let publicKey: PublicKey
    /// The content of each extension's OCTET STRING, and whether it is critical.
    let extensions: [OID: (isCritical: Bool, value: [UInt8])]

    /// - Throws: `DERError`; `KeyFileError` for the public key.
    init(der: Data, handle: OwnedPointer) throws {
        self.der = der
        var outer = DERReader(try DERReader.single([UInt8](der)[...], tag: DERTag.sequence).content)
        var body = DERReader(try outer.next(DERTag.sequence).content)
        if let explicit = try body.nextIf(0xA0) {
            var reader = DERReader(explicit.content)
            version = try reader.next(DERTag.integer).smallInteger() + 1
        } else {
            version = 1
        }
        let serial = try body.next(DERTag.integer)
        serialNumber = Data(serial.content)
        serialNumberDER = Data(serial.whole)
        guard let algorithm = try body.next(DERTag.sequence).children().first else { throw DERError() }
        signatureAlgorithm = try algorithm.objectIdentifier()
        issuer = try DistinguishedName(element: body.next(DERTag.sequence))
        let validity = try body.next(DERTag.sequence).children()
        guard validity.count == 2 else { throw DERError() }
        notBefore = try validity[0].date()
        notAfter = try validity[1].date()
        subject = try DistinguishedName(element: body.next(DERTag.sequence))
        let information = Data(try body.next(DERTag.sequence).whole)
        let key = unsafe handle.withPointer { certificate -> OwnedPointer? in
            guard let key = unsafe X509_get_pubkey(certificate) else { return nil }
            return unsafe OwnedPointer(adopting: key) { unsafe EVP_PKEY_free($0) }
        }
        let failure = key == nil ? OpenSSLError(draining: "X509_get_pubkey") : nil
        publicKey = try PublicKey(subjectPublicKeyInfo: information, handle: key, failure: failure)
        var extensions: [OID: (isCritical: Bool, value: [UInt8])] = [:]
        while !body.isAtEnd {
            // 0x81 and 0x82 are the unique identifiers of version 2.
            let field = try body.next()
            guard field.tag == 0xA3 else { continue }
            for entry in try DERReader.single(field.content, tag: DERTag.sequence).children() {
                var reader = DERReader(entry.content)
                let oid = try reader.next(DERTag.objectIdentifier).objectIdentifier()
                let critical = try reader.nextIf(DERTag.boolean)
                let value = try reader.next(DERTag.octetString)
                // RFC 5280 4.2: no extension twice. The first counts, so that nothing can be shadowed from behind.
                if extensions[oid] == nil { extensions[oid] = (critical?.content.first == 0xFF, Array(value.content)) }
            }
        }
        self.extensions = extensions
    }

    /// What `parse` makes of an extension's value; `nil` when it is absent or malformed.
    func value<Result>(_ oid: String, tag: UInt8, _ parse: (DERElement) throws -> Result?) -> Result? {
        guard let entry = extensions[OID(rawValue: oid)] else { return nil }
        do {
            return try parse(DERReader.single(entry.value[...], tag: tag))
        } catch {
            return nil
        }
    }
}

import COpenSSL
import Foundation

/// The fields of a certificate, parsed once and shared by all copies. Only `handle` uses libcrypto.
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
    let extensions: [CertificateExtension]
    /// The X509.
    let handle: LazyPointer

    /// - Throws: `DERError`; `KeyFileError` for the public key, and for an end of the validity that is not a date.
    init(der: Data) throws {
        // A slice would keep its indices and the whole file alive.
        let der = Data(der)
        self.der = der
        handle = LazyPointer { () throws(OpenSSLError) in
            let owner = unsafe der.withUnsafeBytes { bytes in
                unsafe decoded(bytes, release: { unsafe X509_free($0) }) { unsafe d2i_X509(nil, $0, $1) }
            }
            guard let owner else { throw OpenSSLError(draining: "d2i_X509") }
            return owner
        }
        var outer = DERReader(try DERReader.single([UInt8](der)[...], tag: DERTag.sequence).content)
        var body = DERReader(try outer.next(DERTag.sequence).content)
        if let explicit = try body.nextIf(0xA0) {
            var reader = DERReader(explicit.content)
            version = try reader.next(DERTag.integer).smallInteger() + 1
        } else {
            version = 1
        }
        let serial = try body.next(DERTag.integer)
        guard !serial.content.isEmpty else { throw DERError() }
        serialNumber = Data(serial.content)
        serialNumberDER = Data(serial.whole)
        guard let algorithm = try body.next(DERTag.sequence).children().first else { throw DERError() }
        signatureAlgorithm = try algorithm.objectIdentifier()
        issuer = try DistinguishedName(element: body.next(DERTag.sequence))
        let validity = try body.next(DERTag.sequence).children()
        guard validity.count == 2 else { throw DERError() }
        subject = try DistinguishedName(element: body.next(DERTag.sequence))
        notBefore = try Self.date(validity[0], "begins", subject)
        notAfter = try Self.date(validity[1], "ends", subject)
        publicKey = try PublicKey(subjectPublicKeyInfo: Data(try body.next(DERTag.sequence).whole))
        var extensions: [CertificateExtension] = []
        while !body.isAtEnd {
            // 0x81 and 0x82 are the unique identifiers of version 2.
            let field = try body.next()
            guard field.tag == 0xA3 else { continue }
            var entries = DERReader(try DERReader.single(field.content, tag: DERTag.sequence).content)
            while !entries.isAtEnd {
                extensions.append(try CertificateExtension(element: entries.next(DERTag.sequence)))
            }
        }
        self.extensions = extensions
        _ = try outer.next(DERTag.sequence)
        _ = try outer.next(DERTag.bitString).bitStringOctets()
        guard outer.isAtEnd else { throw DERError() }
    }

    /// One end of the validity.
    ///
    /// - Throws: `KeyFileError` with code `unsupported`, which names the certificate and the text: the rest of it is
    ///   sound.
    private static func date(
        _ element: DERElement, _ verb: String, _ subject: DistinguishedName
    ) throws(KeyFileError) -> Date {
        do { return try element.date() } catch {
            let text = element.content.prefix(40).map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }
            throw KeyFileError(
                .unsupported,
                "the validity of the certificate \"\(subject)\" \(verb) at "
                    + "\"\(String(decoding: text, as: UTF8.self))\", which is not a date; "
                    + "its issuer has to make it again")
        }
    }

    /// Whether there is an extension, whatever is in it.
    func has(_ type: CertificateExtension.Number) -> Bool {
        extensions.contains { $0.oid.elementsEqual([0x55, 0x1D, type.rawValue]) }
    }

    /// Parses an extension's value; `nil` if it is absent or malformed.
    ///
    /// An extension must not occur twice (RFC 5280 section 4.2). If it does, the first counts, so that a later one
    /// cannot replace it.
    func value<Result>(
        _ type: CertificateExtension.Number, tag: UInt8, _ parse: (DERElement) throws -> Result?
    ) -> Result? {
        guard let entry = extensions.first(where: { $0.oid.elementsEqual([0x55, 0x1D, type.rawValue]) }) else {
            return nil
        }
        do {
            return try parse(DERReader.single(entry.value, tag: tag))
        } catch {
            return nil
        }
    }
}

/// One extension of a certificate (RFC 5280 section 4.1), as slices of its DER.
struct CertificateExtension: Sendable {
    /// The last arc of an extension below id-ce, 2.5.29.
    enum Number: UInt8 {
        case subjectKeyIdentifier = 14, keyUsage = 15, subjectAlternativeName = 17, basicConstraints = 19
        case authorityKeyIdentifier = 35, extendedKeyUsage = 37
    }

    /// The content octets of the object identifier.
    let oid: ArraySlice<UInt8>
    let isCritical: Bool
    /// The content of the OCTET STRING.
    let value: ArraySlice<UInt8>

    init(element: DERElement) throws(DERError) {
        var reader = DERReader(element.content)
        oid = try reader.next(DERTag.objectIdentifier).content
        guard OID.isValid(content: oid) else { throw DERError() }
        isCritical = try reader.nextIf(DERTag.boolean)?.content.first == 0xFF
        value = try reader.next(DERTag.octetString).content
        guard reader.isAtEnd else { throw DERError() }
    }
}

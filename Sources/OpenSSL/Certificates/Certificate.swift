import COpenSSL
public import Foundation
import KeyfobPrimitives

/// An X.509 certificate (RFC 5280). Equal when the DER is equal.
///
/// Immutable and safe to use from any thread. Copies share one parsed value. Reading the fields takes no libcrypto;
/// its object is made once, when a signature, a host name or a chain is first checked. A certificate that libcrypto
/// then refuses matches no host and has no issuer, and `verify` of a chain throws; `validate()` finds out beforehand.
public struct Certificate: Sendable {
    /// The largest certificate that is read, in bytes of DER.
    public static let maximumSize = 1 << 20
    /// The largest file that is read, in bytes.
    public static let maximumFileSize = 1 << 26

    let fields: CertificateFields
    /// The X509, made when first needed.
    var handle: LazyPointer { fields.handle }

    /// A certificate from its DER, which must be strict.
    ///
    /// Takes some microseconds, for lists of certificates from a token or a database: it checks the structure and the
    /// form of the public key, but does not ask libcrypto. `load(_:)`, `all(inPEM:)`, `init(pem:)` and `PKCS12` do.
    ///
    /// - Throws: `KeyFileError`: `damaged` when it is cut off, has something after it, or is no certificate;
    ///   `tooLarge`.
    public init(der: Data) throws {
        guard der.count <= Self.maximumSize else { throw KeyFileError(.tooLarge, "a certificate is below 1 MiB") }
        try KeyFileError.checkLength(of: der.prefix(8), count: der.count)
        do {
            fields = try CertificateFields(der: der)
        } catch is DERError {
            throw KeyFileError(.damaged, "it is not a certificate in DER")
        }
    }

    /// Checks now that libcrypto can read the certificate and, for RSA, EC and Ed25519, use its public key.
    ///
    /// Takes a fraction of a millisecond the first time.
    ///
    /// - Throws: `KeyFileError` (`damaged`) when it cannot.
    public func validate() throws(KeyFileError) {
        do {
            _ = try handle.owner()
        } catch {
            throw KeyFileError(.damaged, "it is not a certificate", cause: error)
        }
        try publicKey.validate()
    }

    private init(validating der: Data) throws {
        try self.init(der: der)
        try validate()
    }

    /// The first certificate in a PEM file.
    ///
    /// - Throws: `KeyFileError`: `notFound`, or as `all(inPEM:)`.
    public init(pem: Data) throws {
        guard let first = try Self.all(inPEM: pem).first else { throw KeyFileError(.notFound, "no CERTIFICATE block") }
        self = first
    }

    /// The first certificate in PEM text.
    ///
    /// - Throws: As `init(pem:)`.
    public init(pem: String) throws { try self.init(pem: Data(pem.utf8)) }

    /// All certificates of a PEM file, in its order. Other blocks, text around them and CR LF are passed over.
    ///
    /// Each is validated with libcrypto, which takes about 0.2 ms.
    ///
    /// - Throws: `KeyFileError`: `damaged` when one of the blocks is broken; `unsupported` for OpenSSL's `TRUSTED
    ///   CERTIFICATE`; `tooLarge` above 64 MiB.
    public static func all(inPEM data: Data) throws -> [Certificate] {
        guard data.count <= maximumFileSize else { throw KeyFileError(.tooLarge, "a certificate file is below 64 MiB") }
        let labels = ["CERTIFICATE", "X509 CERTIFICATE"]
        let blocks = PEM.blocks(in: data)
        // It may say that nobody is to trust the certificate, and to pass over the block would be to lose it.
        guard !blocks.contains(where: { $0.label == "TRUSTED CERTIFICATE" }) else {
            throw KeyFileError(
                .unsupported,
                "it says whom OpenSSL trusts (TRUSTED CERTIFICATE); take the certificate out of it: "
                    + "openssl x509 -in FILE -out CERTIFICATE")
        }
        return try blocks.filter { labels.contains($0.label) }.map { block in
            guard let content = block.content else {
                throw KeyFileError(.damaged, "a PEM block is broken or not closed")
            }
            return try Certificate(validating: content.copyData())
        }
    }

    /// The certificates of a file in PEM (one or many) or DER (one).
    ///
    /// Each is validated with libcrypto, which takes about 0.2 ms.
    ///
    /// - Throws: `KeyFileError`: `notFound` when PEM holds none or the file is empty, or as `init(der:)` and
    ///   `validate()`.
    public static func load(_ data: Data) throws -> [Certificate] {
        guard data.count <= maximumFileSize else { throw KeyFileError(.tooLarge, "a certificate file is below 64 MiB") }
        guard !data.isEmpty else { throw KeyFileError(.notFound, "the file is empty") }
        if data.first == DERTag.sequence, PEM.blocks(in: data.prefix(1 << 16)).isEmpty {
            return [try single(data)]
        }
        let found = try all(inPEM: data)
        guard found.isEmpty else { return found }
        let others = PEM.blocks(in: data).map(\.label)
        guard others.isEmpty else { throw KeyFileError(.notFound, explanation(of: others)) }
        guard data.first == DERTag.sequence else { throw KeyFileError.foreign }
        return [try single(data)]
    }

    /// What a PEM file is, none of whose blocks is a certificate.
    private static func explanation(of labels: [String]) -> String {
        if labels.contains(where: { ["PKCS7", "CMS", "PKCS #7 SIGNED DATA"].contains($0) }) {
            return "it is a PKCS#7 bundle; take the certificates out of it: openssl pkcs7 -print_certs -in FILE"
        }
        return KeyFileError.explanation(ofRequestAmong: labels) ?? "the file has no certificate"
    }

    /// The certificate that a whole file is, in DER.
    private static func single(_ data: Data) throws -> Certificate {
        do { return try Certificate(validating: data) } catch let error as KeyFileError where error.code == .damaged {
            // A version comes first in a private key and in PKCS#12: whole as they are, they are only something else.
            guard let header = DERHeader(data.prefix(8)), header.total == data.count else { throw error }
            switch data.dropFirst(header.count).first {
            case DERTag.integer?: throw KeyFileError(.unsupported, "it is PKCS#12 or a private key, not a certificate")
            // A content type comes first in PKCS#7.
            case DERTag.objectIdentifier?:
                throw KeyFileError(
                    .unsupported,
                    "it is a PKCS#7 bundle; take the certificates out of it: "
                        + "openssl pkcs7 -inform DER -print_certs -in FILE")
            default: throw error
            }
        }
    }

    /// The whole certificate in DER.
    public var der: Data { fields.der }
    /// PEM with lines of 64 columns.
    public var pem: String { PublicText.pem(der, label: "CERTIFICATE") }
    /// Whom the certificate is for.
    public var subject: DistinguishedName { fields.subject }
    /// Who signed it.
    public var issuer: DistinguishedName { fields.issuer }
    /// 1, 2 or 3.
    public var version: Int { fields.version }
    /// The content octets of the serial number's INTEGER, a leading zero included.
    public var serialNumber: Data { fields.serialNumber }
    /// The serial number as a whole INTEGER, as `CKA_SERIAL_NUMBER` holds it.
    public var serialNumberDER: Data { fields.serialNumberDER }
    /// The first moment at which it is valid.
    public var notBefore: Date { fields.notBefore }
    /// The last moment at which it is valid.
    public var notAfter: Date { fields.notAfter }
    /// The key it is about.
    public var publicKey: PublicKey { fields.publicKey }

    /// Whether `date` is within the validity; says nothing about trust.
    public func isValid(on date: Date) -> Bool {
        // Compared as numbers: for dates one that is not a number is neither before nor after any other.
        let seconds = date.timeIntervalSinceReferenceDate
        return notBefore.timeIntervalSinceReferenceDate <= seconds && seconds <= notAfter.timeIntervalSinceReferenceDate
    }

    /// OpenSSL's name of the signature algorithm, such as "ecdsa-with-SHA256"; the object identifier where none.
    public var signatureAlgorithm: String {
        let number = unsafe OBJ_txt2nid(fields.signatureAlgorithm.rawValue)
        guard number != NID_undef, let name = unsafe OBJ_nid2ln(number) else {
            return fields.signatureAlgorithm.rawValue
        }
        return unsafe String(cString: name)
    }

    /// SHA-1 of the DER.
    public var sha1Fingerprint: Data { Digest.sha1(der) }
    /// SHA-256 of the DER.
    public var sha256Fingerprint: Data { Digest.sha256(der) }
}

extension Certificate: Hashable {
    /// Equal DER.
    public static func == (left: Certificate, right: Certificate) -> Bool { left.der == right.der }
    /// Hashes the DER.
    public func hash(into hasher: inout Hasher) { hasher.combine(der) }
}

extension Certificate: CustomStringConvertible {
    /// Subject and issuer.
    public var description: String { "Certificate(\(subject), issued by \(issuer))" }
}

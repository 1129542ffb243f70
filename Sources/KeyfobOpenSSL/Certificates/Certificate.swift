import COpenSSL
public import Foundation
import KeyfobPrimitives

/// An X.509 certificate (RFC 5280).
///
/// Two are equal if their DER is. Immutable and safe to use from any thread. Copies share one parsed value.
///
/// Reading the fields does not involve libcrypto. Its object is created on first use, when a signature, a host name or
/// a chain is checked. A certificate that libcrypto then rejects matches no host and has no issuer, and verifying a
/// chain with it throws. `validate()` checks that in advance.
public struct Certificate: Sendable {
    /// The size limit for a certificate, in bytes of DER.
    public static let maximumSize = 1 << 20
    /// The size limit for a file, in bytes.
    public static let maximumFileSize = 1 << 26

    let fields: CertificateFields
    /// The X509, created on first use.
    var handle: LazyPointer { fields.handle }

    /// Decodes a certificate from strict DER.
    ///
    /// It takes some microseconds, for lists of certificates from a token or a database. It checks the structure and
    /// the form of the public key without libcrypto. `load(_:)`, `all(inPEM:)`, `init(pem:)` and `PKCS12` also use
    /// libcrypto.
    ///
    /// - Throws: `KeyFileError`: `damaged` if it is truncated, followed by other bytes, or not a certificate;
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

    /// Checks that libcrypto can read the certificate and, for RSA, EC and Ed25519, use its public key.
    ///
    /// The first call takes a fraction of a millisecond.
    ///
    /// - Throws: `KeyFileError` (`damaged`) if it cannot.
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

    /// Reads the first certificate of a PEM file.
    ///
    /// - Throws: `KeyFileError`: `notFound` if there is none, `damaged`, `unsupported`, `tooLarge`.
    public init(pem: Data) throws {
        guard let first = try Self.all(inPEM: pem).first else { throw KeyFileError(.notFound, "no CERTIFICATE block") }
        self = first
    }

    /// Reads the first certificate in PEM text.
    ///
    /// - Throws: `KeyFileError`: `notFound` if there is none, `damaged`, `unsupported`, `tooLarge`.
    public init(pem: String) throws { try self.init(pem: Data(pem.utf8)) }

    /// Reads all certificates of a PEM file, in order. Other blocks, text around them and CR LF are ignored.
    ///
    /// Each certificate is validated with libcrypto, which takes about 0.2 ms.
    ///
    /// - Throws: `KeyFileError`: `damaged` if a block is malformed; `unsupported` for OpenSSL's `TRUSTED CERTIFICATE`;
    ///   `tooLarge` above 64 MiB.
    public static func all(inPEM data: Data) throws -> [Certificate] {
        guard data.count <= maximumFileSize else { throw KeyFileError(.tooLarge, "a certificate file is below 64 MiB") }
        let labels = ["CERTIFICATE", "X509 CERTIFICATE"]
        let blocks = PEM.blocks(in: data)
        // The block may contain distrust settings, and skipping it would lose the certificate silently.
        guard !blocks.contains(where: { $0.label == "TRUSTED CERTIFICATE" }) else {
            throw KeyFileError(
                .unsupported,
                "it also states what OpenSSL trusts it for (TRUSTED CERTIFICATE); take the certificate out of it: "
                    + "openssl x509 -in FILE -out CERTIFICATE")
        }
        return try blocks.filter { labels.contains($0.label) }.map { block in
            guard let content = block.content else {
                throw KeyFileError(.damaged, "a PEM block is broken or not closed")
            }
            return try Certificate(validating: content.copyData())
        }
    }

    /// Reads the certificates of a file in PEM (one or many) or DER (one).
    ///
    /// Each certificate is validated with libcrypto, which takes about 0.2 ms.
    ///
    /// - Throws: `KeyFileError`: `notFound` if PEM has none or the file is empty, `damaged`, `unsupported`, `tooLarge`.
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

    /// Describes a PEM file without a certificate block.
    private static func explanation(of labels: [String]) -> String {
        if labels.contains(where: { ["PKCS7", "CMS", "PKCS #7 SIGNED DATA"].contains($0) }) {
            return "it is a PKCS#7 bundle; take the certificates out of it: openssl pkcs7 -print_certs -in FILE"
        }
        return KeyFileError.explanation(ofRequestAmong: labels) ?? "the file has no certificate"
    }

    /// Decodes a file that is one certificate in DER.
    private static func single(_ data: Data) throws -> Certificate {
        do { return try Certificate(validating: data) } catch let error as KeyFileError where error.code == .damaged {
            // A private key and PKCS#12 start with a version number. They are valid files of another kind, not damaged
            // ones.
            guard let header = DERHeader(data.prefix(8)), header.total == data.count else { throw error }
            switch data.dropFirst(header.count).first {
            case DERTag.integer?: throw KeyFileError(.unsupported, "it is PKCS#12 or a private key, not a certificate")
            // PKCS#7 starts with a content type.
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
    /// The name of the certificate's holder.
    public var subject: DistinguishedName { fields.subject }
    /// The name of the issuer.
    public var issuer: DistinguishedName { fields.issuer }
    /// The version: 1, 2 or 3.
    public var version: Int { fields.version }
    /// The content octets of the serial number's INTEGER, including a leading zero.
    public var serialNumber: Data { fields.serialNumber }
    /// The serial number as a complete INTEGER, the form of `CKA_SERIAL_NUMBER`.
    public var serialNumberDER: Data { fields.serialNumberDER }
    /// The first moment at which the certificate is valid.
    public var notBefore: Date { fields.notBefore }
    /// The last moment at which the certificate is valid.
    public var notAfter: Date { fields.notAfter }
    /// The certified key.
    public var publicKey: PublicKey { fields.publicKey }

    /// Whether `date` is within the validity period; trust is not checked.
    public func isValid(on date: Date) -> Bool {
        // Compared as numbers, because comparisons of a `Date` that is NaN are always false.
        let seconds = date.timeIntervalSinceReferenceDate
        return notBefore.timeIntervalSinceReferenceDate <= seconds && seconds <= notAfter.timeIntervalSinceReferenceDate
    }

    /// OpenSSL's name of the signature algorithm, such as "ecdsa-with-SHA256", or the object identifier.
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
    /// Whether the DER is equal.
    public static func == (left: Certificate, right: Certificate) -> Bool { left.der == right.der }
    /// Hashes the DER.
    public func hash(into hasher: inout Hasher) { hasher.combine(der) }
}

extension Certificate: CustomStringConvertible {
    /// Subject and issuer.
    public var description: String { "Certificate(\(subject), issued by \(issuer))" }
}

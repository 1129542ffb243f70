import COpenSSL
public import Foundation
import KeyfobPrimitives

/// A certification request, PKCS#10 (RFC 2986).
///
/// Two are equal if their DER is. Immutable and safe to use from any thread. ``UnsignedRequest`` creates one.
public struct CertificationRequest: Hashable, Sendable {
    /// The whole request in DER.
    public let der: Data
    /// The subject of the requested certificate.
    public let subject: DistinguishedName
    /// The key to be certified.
    public let publicKey: PublicKey
    /// The requested extensions (extensionRequest, RFC 2985 section 5.4.2).
    public let extensions: CertificateExtensions
    /// The signed part: the CertificationRequestInfo in DER, which does not depend on the signature.
    package let toBeSigned: Data

    /// Decodes a request from DER.
    ///
    /// - Throws: `KeyFileError`: `damaged` if it is truncated, followed by other bytes or not a request; `tooLarge`.
    public init(der: Data) throws {
        guard der.count <= Certificate.maximumSize else { throw KeyFileError(.tooLarge, "a request is below 1 MiB") }
        try KeyFileError.checkLength(of: der.prefix(8), count: der.count)
        do {
            var outer = DERReader(try DERReader.single([UInt8](der)[...], tag: DERTag.sequence).content)
            let signed = try outer.next(DERTag.sequence)
            toBeSigned = Data(signed.whole)
            var body = DERReader(signed.content)
            _ = try outer.next(DERTag.sequence)
            _ = try outer.next(DERTag.bitString).bitStringOctets()
            guard outer.isAtEnd, try body.next(DERTag.integer).smallInteger() == 0 else { throw DERError() }
            subject = try DistinguishedName(element: body.next(DERTag.sequence))
            publicKey = try PublicKey(subjectPublicKeyInfo: Data(try body.next(DERTag.sequence).whole))
            extensions = try Self.extensions(body.nextIf(0xA0))
            guard body.isAtEnd else { throw DERError() }
        } catch is DERError {
            throw KeyFileError(.damaged, "it is not a certification request")
        }
        self.der = Data(der)
    }

    private static func extensions(_ attributes: DERElement?) throws -> CertificateExtensions {
        for attribute in try attributes?.children() ?? [] {
            let parts = try attribute.children()
            guard parts.count == 2, parts[1].tag == DERTag.set else { throw DERError() }
            guard try parts[0].objectIdentifier().rawValue == UnsignedRequest.extensionRequest else { continue }
            let list = try DERReader.single(parts[1].content, tag: DERTag.sequence)
            return try CertificateExtensions(list.children().map(CertificateExtension.init(element:)))
        }
        return CertificateExtensions()
    }

    /// Reads a request from a file in PEM or DER.
    ///
    /// - Throws: `KeyFileError`: `notFound` if PEM has no request, `damaged`, `tooLarge`.
    public static func load(_ data: Data) throws -> CertificationRequest {
        guard data.count <= Certificate.maximumSize else { throw KeyFileError(.tooLarge, "a request is below 1 MiB") }
        let blocks = PEM.blocks(in: data)
        guard !blocks.isEmpty else { return try CertificationRequest(der: data) }
        let labels = ["CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"]
        guard let block = blocks.first(where: { labels.contains($0.label) }) else {
            throw KeyFileError(.notFound, "no CERTIFICATE REQUEST block")
        }
        guard let content = block.content else { throw KeyFileError(.damaged, "the PEM block is broken") }
        return try CertificationRequest(der: content.copyData())
    }

    /// PEM with lines of 64 columns.
    public var pem: String { PublicText.pem(der, label: "CERTIFICATE REQUEST") }

    /// Whether the signature was made with the key in the request (X509_REQ_verify(3)).
    public var hasValidSignature: Bool {
        let owner = unsafe der.withUnsafeBytes { bytes in
            unsafe decoded(bytes, release: { unsafe X509_REQ_free($0) }) { unsafe d2i_X509_REQ(nil, $0, $1) }
        }
        defer { ERR_clear_error() }
        guard let owner, let key = publicKey.usableHandle else { return false }
        return unsafe owner.withPointer { request in
            unsafe key.withPointer { unsafe X509_REQ_verify(request, $0) == 1 }
        }
    }

    /// Whether the DER is equal.
    public static func == (left: CertificationRequest, right: CertificationRequest) -> Bool { left.der == right.der }
    /// Hashes the DER.
    public func hash(into hasher: inout Hasher) { hasher.combine(der) }
}

/// A request before it is signed, for keys that are outside this process.
///
/// ```swift
/// let request = try UnsignedRequest(subject: name, publicKey: key.publicKey, extensions: wishes)
///     .signed { try key.sign($0, using: $1) }
/// ```
public struct UnsignedRequest: Sendable {
    static let extensionRequest = "1.2.840.113549.1.9.14"

    private let body: ToBeSigned

    /// Creates a request for a key.
    ///
    /// - Parameter scheme: The signature scheme; the default is `SignatureScheme.preferred(for:)`.
    /// - Throws: `CryptoError`: `invalidInput` for names and extensions that cannot be encoded, `unsupportedKey` if the
    ///   scheme does not fit the key.
    public init(
        subject: DistinguishedName, publicKey: PublicKey, extensions: CertificateExtensions,
        scheme: SignatureScheme? = nil
    ) throws {
        body = try ToBeSigned(signer: publicKey, scheme: scheme) { _ in
            let elements = try extensions.encodedElements(isSubjectEmpty: subject.isEmpty)
            var attributes: [UInt8] = []
            if !elements.isEmpty {
                attributes = DERWriter.sequence(
                    OID(rawValue: Self.extensionRequest).der ?? [],
                    DERWriter.element(DERTag.set, DERWriter.sequence(of: elements)))
            }
            return DERWriter.sequence(
                DERWriter.unsignedInteger([0]), [UInt8](subject.der), [UInt8](publicKey.subjectPublicKeyInfo),
                DERWriter.element(0xA0, attributes))
        }
    }

    /// The DER to be signed: a CertificationRequestInfo.
    public var toBeSigned: [UInt8] { body.bytes }
    /// The signature scheme.
    public var scheme: SignatureScheme { body.scheme }

    /// Returns the signed request.
    ///
    /// - Parameter sign: Signs bytes with a scheme, in the form that X.509 uses; called once, on the caller's thread.
    /// - Throws: The errors of `sign`; `CryptoError` (`authenticationFailed`) if the signature is not valid for the
    ///   key.
    public func signed(by sign: ([UInt8], SignatureScheme) throws -> [UInt8]) throws -> CertificationRequest {
        try CertificationRequest(der: body.completed(sign(body.bytes, body.scheme)))
    }

    /// Returns the signed request, with an asynchronous signer.
    ///
    /// - Parameter sign: Signs bytes with a scheme, in the form that X.509 uses; called once.
    /// - Throws: The errors of `sign`; `CryptoError` (`authenticationFailed`) if the signature is not valid for the
    ///   key.
    public func signed(
        by sign: ([UInt8], SignatureScheme) async throws -> [UInt8]
    ) async throws -> CertificationRequest {
        try await CertificationRequest(der: body.completed(sign(body.bytes, body.scheme)))
    }
}

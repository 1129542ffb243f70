public import Foundation

/// A certificate before it is signed, by its own key or by an authority's, wherever that key is.
///
/// ```swift
/// let certificate = try UnsignedCertificate(
///     subject: request.subject, publicKey: request.publicKey, extensions: request.extensions, issuer: authority,
///     notBefore: now, notAfter: now + 90 * 86400
/// ).signed { try authorityKey.sign($0, using: $1) }
/// ```
public struct UnsignedCertificate: Sendable {
    private let body: ToBeSigned

    /// Creates a certificate of version 3.
    ///
    /// The subject and authority key identifiers are SHA-1 of the keys' bits (RFC 5280 section 4.2.1.2), unless
    /// `extensions` or the authority's certificate contain others.
    ///
    /// - Parameters:
    ///   - issuer: The authority; `nil` for a certificate that its own key signs.
    ///   - serialNumber: Big-endian and below 2^159, which is 20 octets in DER (RFC 5280 section 4.1.2.2); the default
    ///     is a random number of 127 bits.
    ///   - scheme: The signature scheme; the default is the preferred one of the signing key.
    /// - Throws: `CryptoError`: `invalidInput` for an issuer that is not an authority or may not have one below it, for
    ///   dates in the wrong order, and for names and extensions that cannot be encoded; `unsupportedKey` if the scheme
    ///   does not fit the signing key.
    public init(
        subject: DistinguishedName, publicKey: PublicKey, extensions: CertificateExtensions, issuer: Certificate?,
        notBefore: Date, notAfter: Date, serialNumber: Data? = nil, scheme: SignatureScheme? = nil
    ) throws {
        if let issuer { try Self.check(issuer, isForAuthority: extensions.basicConstraints?.isAuthority ?? false) }
        guard notBefore < notAfter else { throw CryptoError(.invalidInput, "it would end before it begins") }
        guard !subject.isEmpty || !extensions.subjectAlternativeNames.isEmpty else {
            throw CryptoError(.invalidInput, "a certificate has a subject or an alternative name")
        }
        let serial = try serialNumber.map { [UInt8]($0) } ?? Self.randomSerial()
        let octets = serial.drop { $0 == 0 }
        // DER adds a zero octet if the first bit is set, and that octet counts.
        guard let first = octets.first, octets.count + (first < 0x80 ? 0 : 1) <= 20 else {
            throw CryptoError(.invalidInput, "a serial number is not zero and below 2^159")
        }
        body = try ToBeSigned(signer: issuer?.publicKey ?? publicKey, scheme: scheme) { algorithm in
            var elements = try extensions.encodedElements(isSubjectEmpty: subject.isEmpty)
            if !extensions.others.contains(where: { $0.type == .subjectKeyIdentifier }) {
                elements.append(Self.identifier(14, DERWriter.element(DERTag.octetString, publicKey.identifier)))
            }
            if let issuer {
                let key = issuer.subjectKeyIdentifier ?? issuer.publicKey.identifier
                elements.append(Self.identifier(35, DERWriter.sequence(DERWriter.element(0x80, key))))
            }
            return DERWriter.sequence(
                DERWriter.element(0xA0, DERWriter.unsignedInteger([2])), DERWriter.unsignedInteger(serial), algorithm,
                [UInt8](issuer?.subject.der ?? subject.der),
                DERWriter.sequence(DERWriter.time(notBefore), DERWriter.time(notAfter)), [UInt8](subject.der),
                [UInt8](publicKey.subjectPublicKeyInfo),
                DERWriter.element(0xA3, DERWriter.sequence(of: elements)))
        }
    }

    /// The DER to be signed: a TBSCertificate.
    public var toBeSigned: [UInt8] { body.bytes }
    /// The signature scheme.
    public var scheme: SignatureScheme { body.scheme }
    /// The key that signs it.
    public var signer: PublicKey { body.signer }

    /// Returns the signed certificate, which libcrypto has parsed again.
    ///
    /// - Parameter sign: Signs bytes with a scheme, in the form that X.509 uses; called once, on the caller's thread.
    /// - Throws: The errors of `sign`; `CryptoError` (`authenticationFailed`) if the signature is not valid for the
    ///   key.
    public func signed(by sign: ([UInt8], SignatureScheme) throws -> [UInt8]) throws -> Certificate {
        try Self.certificate(body.completed(sign(body.bytes, body.scheme)))
    }

    /// Returns the signed certificate, with an asynchronous signer.
    ///
    /// - Parameter sign: Signs bytes with a scheme, in the form that X.509 uses; called once.
    /// - Throws: The errors of `sign`; `CryptoError` (`authenticationFailed`) if the signature is not valid for the
    ///   key.
    public func signed(by sign: ([UInt8], SignatureScheme) async throws -> [UInt8]) async throws -> Certificate {
        try await Self.certificate(body.completed(sign(body.bytes, body.scheme)))
    }

    private static func certificate(_ der: Data) throws -> Certificate {
        let certificate = try Certificate(der: der)
        try certificate.validate()
        return certificate
    }

    private static func check(_ issuer: Certificate, isForAuthority: Bool) throws(CryptoError) {
        guard issuer.isCA, issuer.keyUsage?.contains(.keyCertSign) ?? true else {
            throw CryptoError(.invalidInput, "the issuer's certificate is not an authority's")
        }
        guard !isForAuthority || issuer.pathLength != 0 else {
            throw CryptoError(.invalidInput, "the issuer may have no authority below it")
        }
    }

    private static func identifier(_ number: Int, _ value: [UInt8]) -> [UInt8] {
        DERWriter.sequence(OID(rawValue: "2.5.29.\(number)").der ?? [], DERWriter.element(DERTag.octetString, value))
    }

    private static func randomSerial() throws -> [UInt8] {
        var octets = try RandomBytes.bytes(count: 16)
        // A set second bit makes the number nonzero; a clear first bit makes it positive without a leading zero octet.
        octets[0] = octets[0] & 0x7F | 0x40
        return octets
    }
}

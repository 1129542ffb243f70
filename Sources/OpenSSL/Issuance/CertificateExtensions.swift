public import Foundation

/// Whether a certificate is an authority's, and how many authorities may stand below it (RFC 5280 4.2.1.9).
public struct BasicConstraints: Hashable, Sendable {
    /// Whether it may sign certificates.
    public var isAuthority: Bool
    /// How many authorities may stand below; `nil` without a limit.
    public var pathLength: Int?

    /// Constraints of an authority, or of what is none.
    public init(isAuthority: Bool, pathLength: Int? = nil) {
        self.isAuthority = isAuthority
        self.pathLength = pathLength
    }
}

/// The extensions that somebody who asks for a certificate has a say in.
///
/// Key identifiers are not among them: the issuer computes them, but for a subject key identifier among ``others``.
public struct CertificateExtensions: Hashable, Sendable {
    /// Whom the certificate is for. Critical where the subject is empty.
    public var subjectAlternativeNames: [GeneralName] = []
    /// What the key may be used for; `nil` leaves the extension out. Critical.
    public var keyUsage: KeyUsage?
    /// The extended purposes; empty leaves the extension out. Critical where it is time-stamping alone.
    public var extendedKeyUsage: [ExtendedKeyUsage] = []
    /// Whether it is an authority; `nil` leaves the extension out. Critical.
    public var basicConstraints: BasicConstraints?
    /// Any others, written as they are.
    public var others: [Other] = []

    /// An extension by its identifier.
    public struct Other: Hashable, Sendable {
        /// The object identifier.
        public var type: OID
        /// Whether who does not know it must refuse the certificate.
        public var isCritical: Bool
        /// The DER inside the OCTET STRING.
        public var value: Data

        /// An extension by its identifier.
        public init(type: OID, isCritical: Bool, value: Data) {
            self.type = type
            self.isCritical = isCritical
            self.value = value
        }
    }

    /// No extension at all.
    public init() {}

    /// Those of a certificate that is no authority's: names, purposes, and the usages that its kind of key needs in
    /// TLS.
    public static func endEntity(
        _ names: [GeneralName], _ purposes: [ExtendedKeyUsage], key: KeyAlgorithm
    ) -> CertificateExtensions {
        var extensions = CertificateExtensions()
        extensions.subjectAlternativeNames = names
        extensions.extendedKeyUsage = purposes
        extensions.basicConstraints = BasicConstraints(isAuthority: false)
        extensions.keyUsage = .digitalSignature
        // The key exchanges of TLS 1.2 that have RSA encrypt. Who stamps times may do nothing but sign.
        if case .rsa = key, purposes != [.timeStamping] { extensions.keyUsage = [.digitalSignature, .keyEncipherment] }
        return extensions
    }

    /// Those of an authority.
    public static func authority(pathLength: Int? = nil) -> CertificateExtensions {
        var extensions = CertificateExtensions()
        extensions.basicConstraints = BasicConstraints(isAuthority: true, pathLength: pathLength)
        extensions.keyUsage = [.keyCertSign, .crlSign]
        return extensions
    }
}

extension CertificateExtensions {
    private static func identifier(_ number: CertificateExtension.Number) -> OID {
        OID(rawValue: "2.5.29.\(number.rawValue)")
    }

    /// The Extension elements, in the order of the properties.
    ///
    /// - Throws: `CryptoError` (`invalidInput`) for a name, identifier or path length that cannot be written.
    func encodedElements(isSubjectEmpty: Bool) throws -> [[UInt8]] {
        var elements: [[UInt8]] = []
        func add(_ type: OID, isCritical: Bool, _ value: [UInt8]) throws {
            guard let identifier = type.der else { throw CryptoError(.invalidInput, "an extension has no identifier") }
            let critical = isCritical ? DERWriter.trueValue : []
            elements.append(DERWriter.sequence(identifier, critical, DERWriter.element(DERTag.octetString, value)))
        }
        if let basicConstraints {
            var content: [UInt8] = basicConstraints.isAuthority ? DERWriter.trueValue : []
            if let length = basicConstraints.pathLength {
                guard basicConstraints.isAuthority, (0...255).contains(length) else {
                    throw CryptoError(.invalidInput, "a path length from 0 to 255 is for authorities")
                }
                content += DERWriter.unsignedInteger([UInt8(length)])
            }
            try add(
                Self.identifier(.basicConstraints), isCritical: true, DERWriter.element(DERTag.sequence, content))
        }
        if let keyUsage, !keyUsage.isEmpty {
            try add(Self.identifier(.keyUsage), isCritical: true, keyUsage.encoded)
        }
        if !extendedKeyUsage.isEmpty {
            let purposes = try extendedKeyUsage.map { purpose -> [UInt8] in
                guard let der = OID(rawValue: purpose.rawValue).der else {
                    throw CryptoError(.invalidInput, "a purpose is no identifier")
                }
                return der
            }
            // RFC 3161 2.3: a key that stamps times does nothing else, and who does not know that must refuse it.
            let isCritical = extendedKeyUsage == [.timeStamping]
            try add(Self.identifier(.extendedKeyUsage), isCritical: isCritical, DERWriter.sequence(of: purposes))
        }
        if !subjectAlternativeNames.isEmpty {
            let names = DERWriter.sequence(of: try subjectAlternativeNames.map { try $0.encoded() })
            try add(Self.identifier(.subjectAlternativeName), isCritical: isSubjectEmpty, names)
        }
        for other in others { try add(other.type, isCritical: other.isCritical, [UInt8](other.value)) }
        return elements
    }

    /// What a request asks for.
    ///
    /// - Throws: `DERError` for an extension that has not the form of its kind.
    init(_ entries: [CertificateExtension]) throws {
        for entry in entries {
            let kind = entry.oid.elementsEqual([0x55, 0x1D, entry.oid.last ?? 0])
                ? CertificateExtension.Number(rawValue: entry.oid.last ?? 0) : nil
            switch kind {
            case .subjectAlternativeName:
                subjectAlternativeNames = try DERReader.single(entry.value, tag: DERTag.sequence).children()
                    .map(GeneralName.init(element:))
            case .keyUsage: keyUsage = try KeyUsage(element: DERReader.single(entry.value, tag: DERTag.bitString))
            case .extendedKeyUsage:
                extendedKeyUsage = try DERReader.single(entry.value, tag: DERTag.sequence).children()
                    .map { ExtendedKeyUsage(rawValue: try $0.objectIdentifier().rawValue) }
            case .basicConstraints:
                let parts = try DERReader.single(entry.value, tag: DERTag.sequence).children()
                basicConstraints = BasicConstraints(
                    isAuthority: parts.contains { $0.tag == DERTag.boolean && $0.content.first == 0xFF },
                    pathLength: try parts.first { $0.tag == DERTag.integer }?.smallInteger())
            default:
                guard let type = OID(content: entry.oid) else { throw DERError() }
                others.append(Other(type: type, isCritical: entry.isCritical, value: Data(entry.value)))
            }
        }
    }
}

extension Certificate {
    /// The extensions of this certificate that its next version should ask for: names, usages and constraints.
    ///
    /// What only an issuer decides, such as policies and places of revocation lists, is left out. An authority keeps
    /// its name constraints, and its key identifier, by which the certificates that it has issued find it.
    public var renewableExtensions: CertificateExtensions {
        var extensions = CertificateExtensions()
        extensions.subjectAlternativeNames = subjectAlternativeNames
        extensions.keyUsage = keyUsage
        extensions.extendedKeyUsage = extendedKeyUsage
        // One that is no authority may state a length all the same, which nobody may write (RFC 5280 4.2.1.9).
        extensions.basicConstraints = BasicConstraints(isAuthority: isCA, pathLength: isCA ? pathLength : nil)
        guard isCA else { return extensions }
        extensions.others = fields.extensions.compactMap { entry in
            guard let type = OID(content: entry.oid), [.nameConstraints, .subjectKeyIdentifier].contains(type) else {
                return nil
            }
            return .init(type: type, isCritical: entry.isCritical, value: Data(entry.value))
        }
        return extensions
    }
}

extension OID {
    /// The subject key identifier (RFC 5280 4.2.1.2).
    public static let subjectKeyIdentifier = OID(rawValue: "2.5.29.14")
    /// What an authority may issue for (RFC 5280 4.2.1.10).
    public static let nameConstraints = OID(rawValue: "2.5.29.30")
}

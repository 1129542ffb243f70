public import Foundation

/// Whether a certificate is an authority's, and how many authorities may follow below it (RFC 5280 section 4.2.1.9).
public struct BasicConstraints: Hashable, Sendable {
    /// Whether it may sign certificates.
    public var isAuthority: Bool
    /// How many authorities may follow below; `nil` for no limit.
    public var pathLength: Int?

    /// Creates the constraints of an authority or of an end entity.
    public init(isAuthority: Bool, pathLength: Int? = nil) {
        self.isAuthority = isAuthority
        self.pathLength = pathLength
    }
}

/// The extensions that a certificate request may contain.
///
/// The issuer computes the key identifiers, except for a subject key identifier in ``others``.
public struct CertificateExtensions: Hashable, Sendable {
    /// The names that the certificate is for. Critical if the subject is empty.
    public var subjectAlternativeNames: [GeneralName] = []
    /// The usages of the key; `nil` omits the extension. Critical.
    public var keyUsage: KeyUsage?
    /// The extended purposes; empty omits the extension. Critical if time-stamping is the only one.
    public var extendedKeyUsage: [ExtendedKeyUsage] = []
    /// Whether it is an authority; `nil` omits the extension. Critical.
    public var basicConstraints: BasicConstraints?
    /// Other extensions, written unchanged.
    public var others: [Other] = []

    /// An extension with its identifier.
    public struct Other: Hashable, Sendable {
        /// The object identifier.
        public var type: OID
        /// Whether a verifier that does not know it must reject the certificate.
        public var isCritical: Bool
        /// The DER inside the OCTET STRING.
        public var value: Data

        /// Creates an extension.
        public init(type: OID, isCritical: Bool, value: Data) {
            self.type = type
            self.isCritical = isCritical
            self.value = value
        }
    }

    /// Creates an empty set of extensions.
    public init() {}

    /// Returns the extensions of an end entity: names, purposes, and the key usages that TLS needs for its type of key.
    public static func endEntity(
        _ names: [GeneralName], _ purposes: [ExtendedKeyUsage], key: KeyAlgorithm
    ) -> CertificateExtensions {
        var extensions = CertificateExtensions()
        extensions.subjectAlternativeNames = names
        extensions.extendedKeyUsage = purposes
        extensions.basicConstraints = BasicConstraints(isAuthority: false)
        extensions.keyUsage = .digitalSignature
        // TLS 1.2 key exchanges with RSA encrypt. A time-stamping key may only sign.
        if case .rsa = key, purposes != [.timeStamping] { extensions.keyUsage = [.digitalSignature, .keyEncipherment] }
        return extensions
    }

    /// Returns the extensions of an authority.
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

    /// Returns the Extension elements in the order of the properties.
    ///
    /// - Throws: `CryptoError` (`invalidInput`) for a name, identifier or path length that cannot be encoded.
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
                    throw CryptoError(.invalidInput, "a purpose is not an object identifier")
                }
                return der
            }
            // RFC 3161 section 2.3: a time-stamping key has no other purpose, and the extension must be critical.
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

    /// Reads the extensions of a request.
    ///
    /// - Throws: `DERError` for a malformed extension.
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
    /// The extensions that a renewal of this certificate should request: names, usages and constraints.
    ///
    /// Extensions that only an issuer decides, such as policies and the locations of revocation lists, are left out. An
    /// authority keeps its name constraints and its key identifier, by which the certificates it has issued refer to
    /// it.
    public var renewableExtensions: CertificateExtensions {
        var extensions = CertificateExtensions()
        extensions.subjectAlternativeNames = subjectAlternativeNames
        extensions.keyUsage = keyUsage
        extensions.extendedKeyUsage = extendedKeyUsage
        // An end entity may have a path length that must not be written again (RFC 5280 section 4.2.1.9).
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
    /// The subject key identifier (RFC 5280 section 4.2.1.2).
    public static let subjectKeyIdentifier = OID(rawValue: "2.5.29.14")
    /// The name constraints of an authority (RFC 5280 section 4.2.1.10).
    public static let nameConstraints = OID(rawValue: "2.5.29.30")
}

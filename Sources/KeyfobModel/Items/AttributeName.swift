/// The four-character name of an attribute: the raw value of Apple's `kSecAttr…` constant.
///
/// `ClassSchema` defines which classes have an attribute, its kind, and whether it is part of the primary key.
public struct AttributeName: RawRepresentable, Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The four characters.
    public let rawValue: String

    /// Creates a name from its four characters. A name that the item's class does not have is refused when it is used.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Hashes the four characters as one number, which is faster than as text.
    public func hash(into hasher: inout Hasher) {
        if let code { hasher.combine(code) } else { hasher.combine(rawValue) }
    }

    /// The four characters.
    public var description: String { rawValue }

    /// Compares the raw values by bytes, the order in which attributes are encoded.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Attributes of every class.
extension AttributeName {
    /// `kSecAttrAccessGroup`.
    public static let accessGroup = Self(rawValue: "agrp")
    /// `kSecAttrAccessible`.
    public static let accessible = Self(rawValue: "pdmn")
    /// `kSecAttrAccessControl`, in serialized form.
    public static let accessControl = Self(rawValue: "accc")
    /// `kSecAttrSynchronizable`.
    public static let synchronizable = Self(rawValue: "sync")
    /// `kSecAttrCreationDate`.
    public static let creationDate = Self(rawValue: "cdat")
    /// `kSecAttrModificationDate`.
    public static let modificationDate = Self(rawValue: "mdat")
    /// `kSecAttrLabel`.
    public static let label = Self(rawValue: "labl")
    /// `kSecAttrTokenID`.
    public static let tokenID = Self(rawValue: "tkid")
    /// `kSecAttrSyncViewHint`.
    public static let syncViewHint = Self(rawValue: "vwht")
    /// `kSecAttrSharingGroup`.
    public static let sharingGroup = Self(rawValue: "ggrp")
    /// `kSecAttrMultiUser`.
    public static let multiUser = Self(rawValue: "musr")
    /// `kSecAttrTombstone`.
    public static let tombstone = Self(rawValue: "tomb")
    /// `kSecAttrAlias`.
    public static let alias = Self(rawValue: "alis")
    /// `kSecAttrSysBound`.
    public static let systemBound = Self(rawValue: "sysb")
    /// `kSecAttrPCSPlaintextServiceIdentifier`.
    public static let plaintextService = Self(rawValue: "pcss")
    /// `kSecAttrPCSPlaintextPublicKey`.
    public static let plaintextPublicKey = Self(rawValue: "pcsk")
    /// `kSecAttrPCSPlaintextPublicIdentity`.
    public static let plaintextIdentity = Self(rawValue: "pcsi")
}

/// Attributes of passwords.
extension AttributeName {
    /// `kSecAttrAccount`.
    public static let account = Self(rawValue: "acct")
    /// `kSecAttrService`.
    public static let service = Self(rawValue: "svce")
    /// `kSecAttrGeneric`.
    public static let generic = Self(rawValue: "gena")
    /// `kSecAttrDescription`: a description of the kind of item.
    public static let kind = Self(rawValue: "desc")
    /// `kSecAttrComment`.
    public static let comment = Self(rawValue: "icmt")
    /// `kSecAttrCreator`; for keys, `kSecAttrKeyCreator`.
    public static let creator = Self(rawValue: "crtr")
    /// `kSecAttrType`; for keys, `kSecAttrKeyType`.
    public static let type = Self(rawValue: "type")
    /// `kSecAttrScriptCode`.
    public static let scriptCode = Self(rawValue: "scrp")
    /// `kSecAttrIsInvisible`.
    public static let isInvisible = Self(rawValue: "invi")
    /// `kSecAttrIsNegative`.
    public static let isNegative = Self(rawValue: "nega")
    /// `kSecAttrHasCustomIcon`.
    public static let hasCustomIcon = Self(rawValue: "cusi")
    /// `kSecAttrProtected`.
    public static let protected = Self(rawValue: "prot")
    /// `kSecAttrSecurityDomain`.
    public static let securityDomain = Self(rawValue: "sdmn")
    /// `kSecAttrServer`.
    public static let server = Self(rawValue: "srvr")
    /// `kSecAttrProtocol`.
    public static let `protocol` = Self(rawValue: "ptcl")
    /// `kSecAttrAuthenticationType`.
    public static let authenticationType = Self(rawValue: "atyp")
    /// `kSecAttrPort`.
    public static let port = Self(rawValue: "port")
    /// `kSecAttrPath`.
    public static let path = Self(rawValue: "path")
    /// `kSecDataInetExtraNotes`.
    public static let extraNotes = Self(rawValue: "binn")
    /// `kSecDataInetExtraHistory`.
    public static let extraHistory = Self(rawValue: "bini")
    /// `kSecDataInetExtraClientDefined0`.
    public static let clientDefined0 = Self(rawValue: "bin0")
    /// `kSecDataInetExtraClientDefined1`.
    public static let clientDefined1 = Self(rawValue: "bin1")
    /// `kSecDataInetExtraClientDefined2`.
    public static let clientDefined2 = Self(rawValue: "bin2")
    /// `kSecDataInetExtraClientDefined3`.
    public static let clientDefined3 = Self(rawValue: "bin3")
}

/// Attributes of certificates.
extension AttributeName {
    /// `kSecAttrCertificateType`.
    public static let certificateType = Self(rawValue: "ctyp")
    /// `kSecAttrCertificateEncoding`.
    public static let certificateEncoding = Self(rawValue: "cenc")
    /// `kSecAttrSubject`, normalized.
    public static let subject = Self(rawValue: "subj")
    /// `kSecAttrIssuer`, normalized.
    public static let issuer = Self(rawValue: "issr")
    /// `kSecAttrSerialNumber`.
    public static let serialNumber = Self(rawValue: "slnr")
    /// `kSecAttrSubjectKeyID`.
    public static let subjectKeyID = Self(rawValue: "skid")
    /// `kSecAttrPublicKeyHash`: SHA-1 of the public key's bits.
    public static let publicKeyHash = Self(rawValue: "pkhh")
}

/// Attributes of certificates that Apple's keychain does not have.
extension AttributeName {
    /// The usages for which the certificate is trusted, separated by spaces; see ``TrustAnchor``.
    public static let trustedUsages = Self(rawValue: "ktru")
    /// How the identity is renewed, as JSON; see ``RenewalPolicy``.
    public static let renewalPolicy = Self(rawValue: "krnw")
    /// The services for which the identity is preferred, one per line.
    public static let preferredServices = Self(rawValue: "kuse")
    /// Other preferences of the certificate or identity, as JSON; see `Keychain.prefer(_:for:)`.
    public static let preferences = Self(rawValue: "kprf")
}

/// Attributes of every class that Apple's keychain does not have.
extension AttributeName {
    /// The program that stored the item through Keychain Services; absent for items stored by the command or the Swift
    /// API.
    public static let program = Self(rawValue: "kprg")
    /// Whether the item is protected: no removal removes it.
    public static let isProtectedItem = Self(rawValue: "kpro")
}

/// Attributes of keys.
extension AttributeName {
    /// `kSecAttrKeyClass`: 0 public, 1 private, 2 symmetric.
    public static let keyClass = Self(rawValue: "kcls")
    /// `kSecAttrApplicationLabel`: SHA-1 of the public key's bits.
    public static let applicationLabel = Self(rawValue: "klbl")
    /// `kSecAttrApplicationTag`.
    public static let applicationTag = Self(rawValue: "atag")
    /// `kSecAttrKeySizeInBits`.
    public static let keySizeInBits = Self(rawValue: "bsiz")
    /// `kSecAttrEffectiveKeySize`.
    public static let effectiveKeySize = Self(rawValue: "esiz")
    /// `kSecAttrStartDate`.
    public static let startDate = Self(rawValue: "sdat")
    /// `kSecAttrEndDate`.
    public static let endDate = Self(rawValue: "edat")
    /// `kSecAttrIsPermanent`.
    public static let isPermanent = Self(rawValue: "perm")
    /// `kSecAttrIsPrivate`.
    public static let isPrivate = Self(rawValue: "priv")
    /// `kSecAttrIsModifiable`.
    public static let isModifiable = Self(rawValue: "modi")
    /// `kSecAttrIsSensitive`.
    public static let isSensitive = Self(rawValue: "sens")
    /// `kSecAttrWasAlwaysSensitive`.
    public static let wasAlwaysSensitive = Self(rawValue: "asen")
    /// `kSecAttrIsExtractable`.
    public static let isExtractable = Self(rawValue: "extr")
    /// `kSecAttrWasNeverExtractable`.
    public static let wasNeverExtractable = Self(rawValue: "next")
    /// `kSecAttrCanEncrypt`.
    public static let canEncrypt = Self(rawValue: "encr")
    /// `kSecAttrCanDecrypt`.
    public static let canDecrypt = Self(rawValue: "decr")
    /// `kSecAttrCanDerive`.
    public static let canDerive = Self(rawValue: "drve")
    /// `kSecAttrCanSign`.
    public static let canSign = Self(rawValue: "sign")
    /// `kSecAttrCanVerify`.
    public static let canVerify = Self(rawValue: "vrfy")
    /// `kSecAttrCanSignRecover`.
    public static let canSignRecover = Self(rawValue: "snrc")
    /// `kSecAttrCanVerifyRecover`.
    public static let canVerifyRecover = Self(rawValue: "vyrc")
    /// `kSecAttrCanWrap`.
    public static let canWrap = Self(rawValue: "wrap")
    /// `kSecAttrCanUnwrap`.
    public static let canUnwrap = Self(rawValue: "unwp")
}

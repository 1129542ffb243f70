public import Foundation

// MARK: Attributes of certificates

/// The X.509 version, 1 to 3; part of the primary key.
@safe nonisolated(unsafe) public let kSecAttrCertificateType: CFString = "ctyp"
/// The encoding; 3 is DER.
@safe nonisolated(unsafe) public let kSecAttrCertificateEncoding: CFString = "cenc"
/// The normalized content of the subject's name.
@safe nonisolated(unsafe) public let kSecAttrSubject: CFString = "subj"
/// The normalized content of the issuer's name; part of the primary key.
@safe nonisolated(unsafe) public let kSecAttrIssuer: CFString = "issr"
/// The bytes of the serial number; part of the primary key.
@safe nonisolated(unsafe) public let kSecAttrSerialNumber: CFString = "slnr"
/// The subject key identifier, RFC 5280 section 4.2.1.2.
@safe nonisolated(unsafe) public let kSecAttrSubjectKeyID: CFString = "skid"
/// SHA-1 of the public key's bytes: `kSecAttrApplicationLabel` of the key.
@safe nonisolated(unsafe) public let kSecAttrPublicKeyHash: CFString = "pkhh"

// MARK: Attributes of revocation lists, which no class here has

/// The type of a revocation list.
@safe nonisolated(unsafe) public let kSecAttrCRLType: CFString = "crlt"
/// The encoding of a revocation list.
@safe nonisolated(unsafe) public let kSecAttrCRLEncoding: CFString = "crle"

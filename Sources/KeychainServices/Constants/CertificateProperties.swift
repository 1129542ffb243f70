// Keys and values of SecCertificateCopyValues; SecCertificate.h, SecCertificateOIDs.h.

/// The kind of a value: one of `kSecPropertyType…`.
@safe nonisolated(unsafe) public let kSecPropertyKeyType: CFString = "type"
/// The meaning of a value, in English or as an object identifier.
@safe nonisolated(unsafe) public let kSecPropertyKeyLabel: CFString = "label"
/// The label, which is not translated here.
@safe nonisolated(unsafe) public let kSecPropertyKeyLocalizedLabel: CFString = "localized label"
/// The value.
@safe nonisolated(unsafe) public let kSecPropertyKeyValue: CFString = "value"

/// An array of values, each a dictionary with these keys.
@safe nonisolated(unsafe) public let kSecPropertyTypeSection: CFString = "section"
/// Text.
@safe nonisolated(unsafe) public let kSecPropertyTypeString: CFString = "string"
/// A number; a date is given in seconds since 2001-01-01T00:00:00Z.
@safe nonisolated(unsafe) public let kSecPropertyTypeNumber: CFString = "number"
/// An array of text.
@safe nonisolated(unsafe) public let kSecPropertyTypeArray: CFString = "array"

/// The version: 1 to 3, as text.
@safe nonisolated(unsafe) public let kSecOIDX509V1Version: CFString = "2.16.840.1.113741.2.1.1.1.2"
/// The serial number: its bytes in hexadecimal, separated by spaces.
@safe nonisolated(unsafe) public let kSecOIDX509V1SerialNumber: CFString = "2.16.840.1.113741.2.1.1.1.3"
/// The issuer: a section of names.
@safe nonisolated(unsafe) public let kSecOIDX509V1IssuerName: CFString = "2.16.840.1.113741.2.1.1.1.5"
/// The first moment at which the certificate is valid.
@safe nonisolated(unsafe) public let kSecOIDX509V1ValidityNotBefore: CFString = "2.16.840.1.113741.2.1.1.1.6"
/// The last moment at which the certificate is valid.
@safe nonisolated(unsafe) public let kSecOIDX509V1ValidityNotAfter: CFString = "2.16.840.1.113741.2.1.1.1.7"
/// The subject: a section of names.
@safe nonisolated(unsafe) public let kSecOIDX509V1SubjectName: CFString = "2.16.840.1.113741.2.1.1.1.8"
/// The alternative names: a section.
@safe nonisolated(unsafe) public let kSecOIDSubjectAltName: CFString = "2.5.29.17"
/// The common names of the subject, and their label in a section of names.
@safe nonisolated(unsafe) public let kSecOIDCommonName: CFString = "2.5.4.3"
/// The e-mail addresses, and their label in a section of names.
@safe nonisolated(unsafe) public let kSecOIDEmailAddress: CFString = "1.2.840.113549.1.9.1"
/// The label of a country in a section of names.
@safe nonisolated(unsafe) public let kSecOIDCountryName: CFString = "2.5.4.6"
/// The label of a locality in a section of names.
@safe nonisolated(unsafe) public let kSecOIDLocalityName: CFString = "2.5.4.7"
/// The label of a state or province in a section of names.
@safe nonisolated(unsafe) public let kSecOIDStateProvinceName: CFString = "2.5.4.8"
/// The label of an organization in a section of names.
@safe nonisolated(unsafe) public let kSecOIDOrganizationName: CFString = "2.5.4.10"
/// The label of an organizational unit in a section of names.
@safe nonisolated(unsafe) public let kSecOIDOrganizationalUnitName: CFString = "2.5.4.11"

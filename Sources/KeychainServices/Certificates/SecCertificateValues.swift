public import Foundation
import KeyfobOpenSSL

// The fields of a certificate; SecCertificate.h of macOS.

/// Returns fields of a certificate by object identifier: version, serial number, names, dates and alternative names.
///
/// macOS returns more: other extensions, the public key and the signature are not included here.
///
/// - Parameters:
///   - certificate: The certificate.
///   - keys: `kSecOIDX509V1Version`, `…SerialNumber`, `…IssuerName`, `…SubjectName`, `…ValidityNotBefore`,
///     `…ValidityNotAfter`, `kSecOIDCommonName`, `kSecOIDEmailAddress` and `kSecOIDSubjectAltName`; `nil` for all.
///     Other keys, and fields that the certificate lacks, are skipped.
///   - error: Left unchanged.
/// - Returns: A dictionary for each key, with `kSecPropertyKeyType`, `kSecPropertyKeyLabel` and `kSecPropertyKeyValue`.
@discardableResult
public func SecCertificateCopyValues(
    _ certificate: SecCertificate, _ keys: CFArray?, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFDictionary? {
    let wanted = keys.map { Set($0.compactMap { ($0 as? NSString).map { String($0) } }) }
    let values = NSMutableDictionary()
    for (key, property) in properties(of: certificate.certificate) where wanted?.contains(key as String) ?? true {
        values.setObject(property.dictionary, forKey: key)
    }
    return values
}

/// One field: its label, type and value.
private struct Property {
    let label: String
    let type: CFString
    let value: NSObject

    init(_ label: String, _ type: CFString, _ value: NSObject) {
        (self.label, self.type, self.value) = (label, type, value)
    }

    init(_ label: String, _ text: String) { self.init(label, kSecPropertyTypeString, NSString(string: text)) }

    init(_ label: String, _ date: Date) {
        self.init(label, kSecPropertyTypeNumber, NSNumber(value: date.timeIntervalSinceReferenceDate))
    }

    init(_ label: String, _ section: [Property]) {
        self.init(label, kSecPropertyTypeSection, NSArray(array: section.map(\.dictionary)))
    }

    init(_ label: String, _ name: DistinguishedName) {
        self.init(label, name.attributes.map { Property($0.type.rawValue, $0.value) })
    }

    var dictionary: NSDictionary {
        let label = NSString(string: label)
        return [
            kSecPropertyKeyType: type, kSecPropertyKeyLabel: label, kSecPropertyKeyLocalizedLabel: label,
            kSecPropertyKeyValue: value,
        ] as NSDictionary
    }
}

private func properties(of certificate: Certificate) -> [(CFString, Property)] {
    let serialNumber = certificate.serialNumber.map { byte in
        String(byte >> 4, radix: 16, uppercase: true) + String(byte & 15, radix: 16, uppercase: true)
    }
    var found: [(CFString, Property)] = [
        (kSecOIDX509V1Version, Property("Version", String(certificate.version))),
        (kSecOIDX509V1SerialNumber, Property("Serial Number", serialNumber.joined(separator: " "))),
        (kSecOIDX509V1IssuerName, Property("Issuer Name", certificate.issuer)),
        (kSecOIDX509V1SubjectName, Property("Subject Name", certificate.subject)),
        (kSecOIDX509V1ValidityNotBefore, Property("Not Valid Before", certificate.notBefore)),
        (kSecOIDX509V1ValidityNotAfter, Property("Not Valid After", certificate.notAfter)),
    ]
    let commonNames = certificate.subject.attributes
        .filter { $0.type.rawValue == kSecOIDCommonName as String }.map(\.value)
    for (key, label, texts) in [
        (kSecOIDCommonName, "CN", commonNames), (kSecOIDEmailAddress, "Email Addresses", certificate.emailAddresses),
    ] where !texts.isEmpty {
        found.append((key, Property(label, kSecPropertyTypeArray, NSArray(array: texts.map { NSString(string: $0) }))))
    }
    let names = certificate.subjectAlternativeNames
    guard !names.isEmpty else { return found }
    let isCritical = certificate.criticalExtensions.contains { $0.rawValue == kSecOIDSubjectAltName as String }
    let section = [Property("Critical", isCritical ? "Yes" : "No")] + names.compactMap { Property($0) }
    return found + [(kSecOIDSubjectAltName, Property("Subject Alternative Name", section))]
}

extension Property {
    /// An alternative name of a displayable kind; `nil` for others.
    fileprivate init?(_ name: GeneralName) {
        switch name {
        case .dns(let text): self.init("DNS Name", text)
        case .email(let text): self.init("Email Address", text)
        case .uri(let text): self.init("URI", text)
        case .ip: self.init("IP Address", name.ipText ?? "")
        case .other: return nil
        }
    }
}

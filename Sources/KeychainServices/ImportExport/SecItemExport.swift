public import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// Exports keys and certificates; SecImportExport.h.
///
/// - Parameters:
///   - secItemOrArray: A `SecCertificate`, `SecKey` or `SecIdentity`, or an array of them.
///   - outputFormat: `formatOpenSSL`, `formatBSAFE` and `formatWrappedPKCS8` for one key, `formatX509Cert` for one
///     certificate, `formatPEMSequence` for any number of either, `formatPKCS12` for one identity and further
///     certificates; `formatUnknown` chooses a suitable format.
///   - flags: Whether the result is PEM; a PEM sequence always is, PKCS#12 never.
///   - keyParams: The passphrase for the formats that have one.
///   - exportedData: Receives the bytes, in memory that is not wiped.
/// - Returns: `errSecSuccess`; `errSecParam` for other objects or combinations, `errSecUnsupportedFormat`,
///   `errSecPassphraseRequired`, `errSecUnimplemented` for a key that cannot leave its token.
@discardableResult
public func SecItemExport(
    _ secItemOrArray: CFTypeRef, _ outputFormat: SecExternalFormat, _ flags: SecItemImportExportFlags,
    _ keyParams: UnsafePointer<SecItemImportExportKeyParameters>?, _ exportedData: UnsafeMutablePointer<CFData?>
) -> OSStatus {
    do {
        let items = (secItemOrArray as? NSArray).map { Array($0) as [Any] } ?? [secItemOrArray]
        let export = try ExportedFile(items, passphrase: unsafe keyParams?.pointee.secret())
        let data = try translatingKeyErrors { try export.data(outputFormat, isPEM: flags.contains(.pemArmour)) }
        unsafe exportedData.pointee = data as CFData
        return errSecSuccess
    } catch {
        return OSStatus(error)
    }
}

/// The keys and certificates of an export.
private struct ExportedFile {
    private let items: [Any]
    private var certificates: [Certificate] = []
    private var keys: [SecKey] = []
    private var identities: [SecIdentity] = []
    private let passphrase: SecretBytes?

    init(_ items: [Any], passphrase: SecretBytes?) throws(StatusError) {
        (self.items, self.passphrase) = (items, passphrase)
        for item in items {
            switch item {
            case let certificate as SecCertificate: certificates.append(certificate.certificate)
            case let key as SecKey: keys.append(key)
            case let identity as SecIdentity: identities.append(identity)
            default: throw .parameter("only keys, certificates and identities are exported")
            }
        }
        guard !items.isEmpty else { throw .parameter("there is nothing to export") }
    }

    func data(_ format: SecExternalFormat, isPEM: Bool) throws -> Data {
        switch format {
        case .formatUnknown: return try data(fitting, isPEM: isPEM)
        case .formatX509Cert:
            guard certificates.count == 1, keys.isEmpty, identities.isEmpty else { throw Self.misfit }
            return isPEM ? Data(certificates[0].pem.utf8) : certificates[0].der
        case .formatOpenSSL, .formatBSAFE, .formatWrappedPKCS8:
            guard keys.count == 1, certificates.isEmpty, identities.isEmpty else { throw Self.misfit }
            let pem = try pem(keys[0], format)
            return isPEM ? pem : try Self.content(of: pem)
        case .formatPEMSequence:
            var result = Data()
            // The caller's order is kept, because servers expect a chain with the leaf first.
            for item in items {
                switch item {
                case let identity as SecIdentity:
                    result += Data(identity.certificate.certificate.pem.utf8)
                    result += try pem(identity.privateKey, .formatBSAFE)
                case let key as SecKey: result += try pem(key, key.isPrivate ? .formatBSAFE : .formatOpenSSL)
                case let certificate as SecCertificate: result += Data(certificate.certificate.pem.utf8)
                default: break
                }
            }
            return result
        case .formatPKCS12:
            guard identities.count == 1, keys.isEmpty else { throw Self.misfit }
            guard let passphrase else { throw StatusError(errSecPassphraseRequired) }
            let certificate = identities[0].certificate.certificate
            return try PKCS12.write(
                key: identities[0].privateKey.inMemory(), certificate: certificate, chain: certificates,
                friendlyName: certificate.subjectSummary, passphrase: passphrase)
        default: throw StatusError(errSecUnsupportedFormat)
        }
    }

    private var fitting: SecExternalFormat {
        if identities.count == 1, keys.isEmpty, passphrase != nil { return .formatPKCS12 }
        if certificates.count == 1, keys.isEmpty, identities.isEmpty { return .formatX509Cert }
        return keys.count == 1 && certificates.isEmpty && identities.isEmpty ? .formatOpenSSL : .formatPEMSequence
    }

    private func pem(_ key: SecKey, _ format: SecExternalFormat) throws -> Data {
        guard key.isPrivate else {
            switch format {
            case .formatOpenSSL: return Data(key.publicKey.pem.utf8)
            case .formatBSAFE where key.isRSA: return Self.pem(key.publicKey.bits, "RSA PUBLIC KEY")
            default: throw StatusError(errSecUnsupportedFormat)
            }
        }
        let privateKey = try key.inMemory()
        switch format {
        case .formatOpenSSL where key.isRSA || key.isEC: return try privateKey.traditionalPEM().copyData()
        case .formatWrappedPKCS8:
            guard let passphrase else { throw StatusError(errSecPassphraseRequired) }
            return try privateKey.pkcs8PEM(passphrase: passphrase).copyData()
        default: return try privateKey.pkcs8PEM(passphrase: nil).copyData()
        }
    }

    private static var misfit: StatusError { .parameter("the format is not for these items") }

    private static func pem(_ der: Data, _ label: String) -> Data {
        let text = der.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return Data("-----BEGIN \(label)-----\n\(text)\n-----END \(label)-----\n".utf8)
    }

    /// Returns the bytes inside a single PEM block.
    private static func content(of pem: Data) throws(StatusError) -> Data {
        let lines = String(decoding: pem, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("-----") }
        guard let data = Data(base64Encoded: lines.joined()) else { throw StatusError(errSecInternal) }
        return data
    }
}

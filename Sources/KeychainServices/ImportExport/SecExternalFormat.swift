public import Foundation
import KeyfobPrimitives

/// A format of keys and certificates outside of a keychain; `SecExternalFormat` of SecImportExport.h.
public enum SecExternalFormat: UInt32, Sendable {
    /// On import: detect the format. On export: choose a suitable one.
    case formatUnknown = 0
    /// PKCS#1, SEC 1, or SubjectPublicKeyInfo.
    case formatOpenSSL = 1
    /// OpenSSH's old format; not supported.
    case formatSSH = 2
    /// PKCS#8 for private keys, PKCS#1 for public ones.
    case formatBSAFE = 3
    /// The bytes of a symmetric key; not supported.
    case formatRawKey = 4
    /// PKCS#8 under a passphrase.
    case formatWrappedPKCS8 = 5
    /// OpenSSL's old PEM under a passphrase; read, not written.
    case formatWrappedOpenSSL = 6
    /// OpenSSH's old format under a passphrase; not supported.
    case formatWrappedSSH = 7
    /// Not supported.
    case formatWrappedLSH = 8
    /// A certificate in DER.
    case formatX509Cert = 9
    /// Several PEM blocks.
    case formatPEMSequence = 10
    /// PKCS#7; not supported.
    case formatPKCS7 = 11
    /// PKCS#12.
    case formatPKCS12 = 12
    /// Not supported.
    case formatNetscapeCertSequence = 13
    /// OpenSSH's format of public keys; not supported.
    case formatSSHv2 = 14
}

/// The kind of an item outside a keychain; `SecExternalItemType` of SecImportExport.h.
public enum SecExternalItemType: UInt32, Sendable {
    /// On import: detect the kind.
    case itemTypeUnknown = 0
    /// A private key.
    case itemTypePrivateKey = 1
    /// A public key.
    case itemTypePublicKey = 2
    /// A symmetric key.
    case itemTypeSessionKey = 3
    /// A certificate.
    case itemTypeCertificate = 4
    /// Several items of different kinds.
    case itemTypeAggregate = 5
}

/// Options of an import or export; `SecItemImportExportFlags` of SecImportExport.h.
public struct SecItemImportExportFlags: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt32
    /// Creates options from any bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    /// The exported data is PEM.
    public static let pemArmour = Self(rawValue: 1)
}

/// Options for keys; `SecKeyImportExportFlags` of SecImportExport.h.
public struct SecKeyImportExportFlags: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt32
    /// Creates options from any bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    /// More than one private key is an error.
    public static let importOnlyOne = Self(rawValue: 1)
    /// Asks the user for the passphrase; ignored.
    public static let securePassphrase = Self(rawValue: 2)
    /// Ignored.
    public static let noAccessControl = Self(rawValue: 4)
}

/// A file keychain of macOS; there are none here, and the class has no public initialiser.
public final class SecKeychain: NSObject, Sendable {
    private override init() {}
}

/// The version of `SecItemImportExportKeyParameters`.
public let SEC_KEY_IMPORT_EXPORT_PARAMS_VERSION: Int32 = 0

/// Parameters for keys; `SecItemImportExportKeyParameters` of SecImportExport.h.
@safe public struct SecItemImportExportKeyParameters {
    /// `SEC_KEY_IMPORT_EXPORT_PARAMS_VERSION`, which is 0.
    public var version: UInt32
    /// Options.
    public var flags: SecKeyImportExportFlags
    /// The passphrase as text or data; not retained.
    public var passphrase: Unmanaged<CFTypeRef>?
    /// Ignored.
    public var alertTitle: Unmanaged<CFString>?
    /// Ignored.
    public var alertPrompt: Unmanaged<CFString>?
    /// Ignored.
    public var accessRef: Unmanaged<CFTypeRef>?
    /// Ignored.
    public var keyUsage: Unmanaged<CFArray>?
    /// Attributes of imported keys; ignored.
    public var keyAttributes: Unmanaged<CFArray>?

    /// Creates empty parameters.
    public init() {
        unsafe self.init(
            version: 0, flags: [], passphrase: nil, alertTitle: nil, alertPrompt: nil, accessRef: nil, keyUsage: nil,
            keyAttributes: nil)
    }

    /// Creates parameters member by member.
    public init(
        version: UInt32, flags: SecKeyImportExportFlags, passphrase: Unmanaged<CFTypeRef>?,
        alertTitle: Unmanaged<CFString>?, alertPrompt: Unmanaged<CFString>?, accessRef: Unmanaged<CFTypeRef>?,
        keyUsage: Unmanaged<CFArray>?, keyAttributes: Unmanaged<CFArray>?
    ) {
        self.version = version
        self.flags = flags
        unsafe self.passphrase = passphrase
        unsafe self.alertTitle = alertTitle
        unsafe self.alertPrompt = alertPrompt
        unsafe self.accessRef = accessRef
        unsafe self.keyUsage = keyUsage
        unsafe self.keyAttributes = keyAttributes
    }

    /// Returns the passphrase as bytes; `nil` without one.
    ///
    /// - Throws: `StatusError` (`errSecParam`) for an object of another class.
    func secret() throws(StatusError) -> SecretBytes? {
        try Passphrase.value(unsafe passphrase?.takeUnretainedValue())
    }
}

import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// The contents of a file and its format, as SecItemImport reads them.
struct ImportedFile {
    private(set) var items: [NSObject] = []
    private(set) var format = SecExternalFormat.formatUnknown
    private let passphrase: SecretBytes?

    /// Reads a file of any supported format.
    ///
    /// - Throws: `StatusError`; `errSecUnknownFormat` for other bytes, `errSecPassphraseRequired`, `errSecAuthFailed`
    ///   for a wrong passphrase, `errSecDecode` for a damaged file.
    init(_ data: Data, passphrase: SecretBytes?) throws(StatusError) {
        self.passphrase = passphrase
        let blocks = PEM.blocks(in: data)
        if blocks.isEmpty { try readDER(data) }
        var known = 0
        for block in blocks where try read(block, of: data) { known += 1 }
        guard !items.isEmpty else { throw StatusError(errSecUnknownFormat, "no block of PEM is known") }
        if known > 1 { format = .formatPEMSequence }
    }

    /// The kind of all items, or the aggregate kind if there are several.
    var itemType: SecExternalItemType {
        let types = Set(items.map { item -> SecExternalItemType in
            switch item {
            case is SecCertificate: .itemTypeCertificate
            case let key as SecKey: key.isPrivate ? .itemTypePrivateKey : .itemTypePublicKey
            default: .itemTypeAggregate
            }
        })
        return types.count == 1 ? types.first ?? .itemTypeUnknown : .itemTypeAggregate
    }

    /// Reads a block, and returns whether it is of a known kind.
    private mutating func read(_ block: PEMBlock, of data: Data) throws(StatusError) -> Bool {
        switch block.label {
        case "TRUSTED CERTIFICATE":
            items.append(try certificate(Self.first(of: Self.content(of: block))))
            format = .formatX509Cert
        case "CERTIFICATE", "X509 CERTIFICATE":
            items.append(try certificate(Self.content(of: block)))
            format = .formatX509Cert
        case "PUBLIC KEY":
            let content = try Self.content(of: block)
            let key = try Self.translating {
                let key = try PublicKey(subjectPublicKeyInfo: content)
                try key.validate()
                return key
            }
            items.append(SecKey(.public(key)))
            format = .formatOpenSSL
        case "RSA PUBLIC KEY":
            let content = try Self.content(of: block)
            items.append(SecKey(.public(try Self.translating { try PublicKey(pkcs1: content) })))
            format = .formatBSAFE
        case let label where label.hasSuffix("PRIVATE KEY"):
            let text = data.dropFirst(block.range.lowerBound).prefix(block.range.count)
            items.append(SecKey(.memory(try privateKey(Data(text)))))
            let isOldEncryption = block.headers.contains { $0.hasPrefix("DEK-Info") }
            format = label.hasPrefix("ENCRYPTED") ? .formatWrappedPKCS8
                : isOldEncryption ? .formatWrappedOpenSSL : .formatOpenSSL
        // OpenSSL writes curve parameters in front of EC keys, which contain them as well.
        default: return false
        }
        return true
    }

    private mutating func readDER(_ data: Data) throws(StatusError) {
        if let certificate = SecCertificateCreateWithData(nil, data as CFData) {
            (items, format) = ([certificate], .formatX509Cert)
            return
        }
        if let key = try? PublicKey(subjectPublicKeyInfo: data) {
            (items, format) = ([SecKey(.public(key))], .formatOpenSSL)
            return
        }
        if let key = try? PublicKey(pkcs1: data) {
            (items, format) = ([SecKey(.public(key))], .formatBSAFE)
            return
        }
        if Self.isPKCS12(data) {
            guard let passphrase else { throw StatusError(errSecPassphraseRequired) }
            let contents = try PKCS12File.contents(data, passphrase)
            let identities = contents.identities
            let own = Set(identities.map(\.certificate))
            items = identities.map {
                SecIdentity(certificate: SecCertificate($0.certificate), privateKey: SecKey(.memory($0.key)))
            }
            items += contents.certificates.map(\.certificate).filter { !own.contains($0) }.map { SecCertificate($0) }
            let paired = Set(identities.map(\.key.publicKey))
            items += contents.keys.map(\.key).filter { !paired.contains($0.publicKey) }.map { SecKey(.memory($0)) }
            format = .formatPKCS12
            return
        }
        var wasEncrypted = false
        let passphrase = passphrase
        let key: PrivateKey
        do {
            key = try PrivateKey.load(data) {
                wasEncrypted = true
                return passphrase
            }
        } catch {
            throw wasEncrypted ? Self.translated(error) : StatusError(errSecUnknownFormat, "no known format")
        }
        (items, format) = ([SecKey(.memory(key))], wasEncrypted ? .formatWrappedPKCS8 : .formatOpenSSL)
    }

    /// The label promises a certificate, so other content counts as damaged.
    private func certificate(_ der: Data) throws(StatusError) -> SecCertificate {
        do {
            let certificate = try Certificate(der: der)
            try certificate.validate()
            return SecCertificate(certificate)
        } catch {
            let status = Self.translated(error).status
            throw StatusError(status == errSecUnsupportedFormat ? errSecDecode : status)
        }
    }

    private func privateKey(_ data: Data) throws(StatusError) -> PrivateKey {
        try Self.translating { try PrivateKey.load(data) { self.passphrase } }
    }

    /// Whether the data starts like a PFX: a sequence that begins with the number 3.
    private static func isPKCS12(_ data: Data) -> Bool {
        let start = [UInt8](data.prefix(9))
        guard start.count == 9, start[0] == 0x30 else { return false }
        let header = start[1] < 0x80 || start[1] == 0x80 ? 2 : 2 + Int(start[1] & 0x7F)
        return header <= 6 && start[header...].starts(with: [2, 1, 3])
    }

    private static func translating<Result>(_ body: () throws -> Result) throws(StatusError) -> Result {
        do { return try body() } catch { throw translated(error) }
    }

    private static func translated(_ error: any Error) -> StatusError {
        guard let error = error as? KeyFileError else { return StatusError(errSecDecode) }
        let status: OSStatus =
            switch error.code {
            case .passphraseRequired: errSecPassphraseRequired
            case .wrongPassphrase: errSecAuthFailed
            case .unsupported: errSecUnsupportedFormat
            case .tooLarge: errSecDataTooLarge
            default: errSecDecode
            }
        return StatusError(status, error.description)
    }

    /// Returns the first element of DER. OpenSSL appends trust settings to a certificate, which are ignored here.
    private static func first(of der: Data) -> Data {
        let start = [UInt8](der.prefix(6))
        guard start.count == 6, start[1] >= 0x80 else { return der }
        let size = Int(start[1] & 0x7F)
        guard size <= 4 else { return der }
        return der.prefix(start[2..<2 + size].reduce(0) { $0 << 8 | Int($1) } + 2 + size)
    }

    /// Returns the bytes of a PEM block.
    ///
    /// - Throws: `StatusError` (`errSecDecode`) if the block is malformed.
    private static func content(of block: PEMBlock) throws(StatusError) -> Data {
        guard let content = block.content else { throw StatusError(errSecDecode) }
        return content.copyData()
    }
}

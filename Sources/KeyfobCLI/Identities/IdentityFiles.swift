import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// Keys and certificates from the files of `identity import`, in any supported format.
struct IdentityFiles {
    /// A key with its certificate.
    struct Pair {
        /// The name of the file with the key.
        let fileName: String
        let key: PrivateKey
        let certificate: Certificate
        let certificateFileName: String
        let friendlyName: String?
    }

    private(set) var keys: [(key: PrivateKey, fileName: String, friendlyName: String?)] = []
    private(set) var certificates: [(certificate: Certificate, fileName: String, friendlyName: String?)] = []
    /// Keys of unsupported kinds. They are reported only if they turn out to be needed.
    private(set) var unreadableKeys: [(reason: PKCS12Error, fileName: String)] = []
    /// Whether every PKCS#12 file had a valid integrity check, as most files have; `nil` without PKCS#12 files.
    private(set) var isIntegrityChecked: Bool?
    let passphrase: (String) throws -> SecretBytes
    let hasPassphraseSource: Bool
    let allowsLegacy: Bool
    /// Whether to print a notice when opening a file takes long.
    let showsProgress: Bool
    /// The value of `--timeout`, if given; limits the wait for the writer of a pipe.
    let timeout: TimeSpan?

    /// Starts without files.
    ///
    /// - Parameters:
    ///   - passphrase: Returns the passphrase of a file, by name; called only if a file needs one.
    ///   - hasPassphraseSource: Whether `passphrase` works without asking.
    init(
        allowsLegacy: Bool, hasPassphraseSource: Bool, showsProgress: Bool, waiting timeout: TimeSpan?,
        passphrase: @escaping (String) throws -> SecretBytes
    ) {
        self.allowsLegacy = allowsLegacy
        self.showsProgress = showsProgress
        self.timeout = timeout
        self.hasPassphraseSource = hasPassphraseSource
        self.passphrase = passphrase
    }

    /// The format of a file, detected from its first bytes.
    private enum Kind { case pem, pkcs12, certificate, key }

    /// The content of a PEM file.
    private struct PEMContent {
        /// The PKCS#12 blocks, each decoded separately.
        let pkcs12: [Data]
        let hasKey: Bool
        let hasCertificate: Bool

        init(_ data: Data) {
            pkcs12 = PEM.blocks(in: data).filter { $0.label == PEM.pkcs12Label }.map { data.part($0.range) }
            // Detected by their boundary lines, because a damaged file may have only one of the two.
            (hasKey, hasCertificate) = (data.holds("PRIVATE KEY-----"), data.holds("CERTIFICATE-----"))
        }
    }

    /// Adds all keys and certificates of a file.
    ///
    /// - Throws: `KeychainError` for a file that is damaged, has another format or needs another passphrase.
    mutating func add(_ file: FileArgument) throws {
        try add(try file.read(waiting: timeout), file)
    }

    private mutating func add(_ data: Data, _ file: FileArgument) throws {
        switch kind(of: data, file) {
        case .pkcs12: try addPKCS12(data, file.name)
        case .certificate: try addCertificates(data, file.name)
        case .key: try addKey(data, file.name)
        case .pem:
            let content = PEMContent(data)
            try addPKCS12(blocks: content.pkcs12, file.name)
            if content.hasKey || !content.hasCertificate && content.pkcs12.isEmpty { try addKey(data, file.name) }
            if content.hasCertificate { try addCertificates(data, file.name) }
        }
    }

    /// Adds the keys of a file.
    ///
    /// - Parameter isAlone: Whether no other file contains certificates, so that those of PKCS#12 are added too.
    /// - Throws: `KeychainError` if the file is damaged, has another format or needs another passphrase.
    mutating func addKey(_ file: FileArgument, isAlone: Bool) throws {
        let data = try file.read(waiting: timeout)
        let named = certificates
        switch kind(of: data, file) {
        case .pkcs12: try addPKCS12(data, file.name)
        case .pem:
            let content = PEMContent(data)
            // In a file with PKCS#12 blocks, plain PEM keys and certificates are treated like those in the blocks.
            guard !isAlone || content.pkcs12.isEmpty else { return try add(data, file) }
            try addPKCS12(blocks: content.pkcs12, file.name)
            if content.hasKey || content.pkcs12.isEmpty { try addKey(data, file.name) }
        case .certificate, .key: try addKey(data, file.name)
        }
        if !isAlone { certificates = named }
    }

    /// Adds the certificates of a file.
    ///
    /// Keys in PKCS#12 are added too, because they are protected by the same passphrase.
    ///
    /// - Throws: `KeychainError` if the file is damaged, has another format or needs another passphrase; `itemNotFound`
    ///   if it has no certificate.
    mutating func addCertificates(_ file: FileArgument) throws {
        let data = try file.read(waiting: timeout)
        let count = certificates.count
        switch kind(of: data, file) {
        case .pkcs12: try addPKCS12(data, file.name)
        case .pem:
            let content = PEMContent(data)
            try addPKCS12(blocks: content.pkcs12, file.name)
            if content.hasCertificate || content.pkcs12.isEmpty { try addCertificates(data, file.name) }
        case .certificate, .key: try addCertificates(data, file.name)
        }
        guard certificates.count > count else {
            throw KeychainError(
                .itemNotFound, "\(file.name) contains no certificate.", hint: "Name the file that contains it.",
                details: ["file": file.name])
        }
    }

    /// The number of keys without a certificate among the files.
    var keysWithoutCertificate: Int {
        Set(keys.map(\.key.publicKey.subjectPublicKeyInfo))
            .subtracting(certificates.map(\.certificate.publicKey.subjectPublicKeyInfo)).count
    }

    /// The number of certificates that are not imported because a newer one has the same key.
    var succeededCertificates: Int {
        let all = Set(certificates.map(\.certificate)).filter { own in
            keys.contains { $0.key.publicKey == own.publicKey }
        }
        return all.count - all.intersection(currentCertificates).count
    }

    private var currentCertificates: Set<Certificate> {
        Set(Certificate.current(among: certificates.map(\.certificate), on: Date()))
    }

    /// Returns every key with its certificate; duplicates in the files are returned once.
    ///
    /// - Parameter isThere: Returns whether the keychain has a key, or `nil` if that is unknown. Called if a key has no
    ///   certificate.
    /// - Throws: `KeychainError.itemNotFound` if there is no key or no certificate; `identityMismatch` if no
    ///   certificate belongs to a key; `mechanismUnsupported` and `unsupportedFormat` for keys that cannot be put on a
    ///   token.
    func pairs(isThere: (PublicKey) -> Bool?) throws -> [Pair] {
        guard !keys.isEmpty else {
            if let (reason, fileName) = unreadableKeys.first {
                throw KeychainError(
                    .unsupportedFormat, "\(fileName) cannot be read: \(reason.detail).", details: ["file": fileName],
                    cause: reason)
            }
            throw KeychainError(
                .itemNotFound, "there is no private key among the files.",
                remedies: ["Name its file: --key FILE", Remedy("Certificates alone", .importCertificate)])
        }
        guard !certificates.isEmpty else {
            throw KeychainError(
                .itemNotFound, "there is no certificate among the files.", hint: "Name its file: --cert FILE")
        }
        var rest = currentCertificates
        return try keys.flatMap { entry -> [Pair] in
            let own = certificates.filter { $0.certificate.publicKey == entry.key.publicKey }
            guard !own.isEmpty else {
                // A file may hold the keys of several certificates, only some of which are to be imported.
                let isOneOfSeveral = keys.contains { other in
                    other.fileName == entry.fileName
                        && certificates.contains { $0.certificate.publicKey == other.key.publicKey }
                }
                guard isOneOfSeveral else { throw mismatch(entry.key, entry.fileName, isThere) }
                return []
            }
            try Self.requireUsable(entry.key, entry.fileName)
            return own.filter { rest.remove($0.certificate) != nil }.map {
                Pair(
                    fileName: entry.fileName, key: entry.key, certificate: $0.certificate,
                    certificateFileName: $0.fileName,
                    friendlyName: entry.friendlyName ?? $0.friendlyName)
            }
        }
    }

    private func mismatch(
        _ key: PrivateKey, _ keyFile: String, _ isThere: (PublicKey) -> Bool?
    ) -> KeychainError {
        // The leaf is the first certificate that is not an authority's.
        let leaf = certificates.first { !$0.certificate.isCA } ?? certificates[0]
        let wanted = leaf.certificate.publicKey
        let theirs = Digest.sha256(wanted.subjectPublicKeyInfo).hexadecimal.prefix(16)
        let ours = Digest.sha256(key.publicKey.subjectPublicKeyInfo).hexadecimal.prefix(16)
        return KeychainError(
            .identityMismatch, "\(leaf.fileName) was not issued for the key of \(keyFile): public keys differ.",
            remedies: KeychainKeys.advice(
                "The certificate belongs to key sha256:\(theirs)…; yours is sha256:\(ours)…", toFind: wanted,
                isThere: isThere(wanted)),
            details: ["certificate_key": "sha256:\(theirs)", "key": "sha256:\(ours)"])
    }

    private func kind(of data: Data, _ file: FileArgument) -> Kind {
        let start = [UInt8](data.prefix(16))
        let head = data.prefix(1 << 16)
        if head.firstRange(of: Data("-----BEGIN ".utf8)) != nil { return .pem }
        let hasName = [".p12", ".pfx"].contains { file.path.lowercased().hasSuffix($0) }
        guard start.count > 4, start[0] == 0x30 else { return hasName ? .pkcs12 : .pem }
        // The length takes one byte, or as many further bytes as its low bits say. BER allows an indefinite length.
        let header = start[1] < 0x80 ? 2 : 2 + Int(start[1] & 0x7F)
        guard header + 3 <= start.count else { return hasName ? .pkcs12 : .certificate }
        switch Array(start[header..<header + 3]) {
        case [0x02, 0x01, 0x03]: return .pkcs12
        case [0x02, 0x01, 0x00], [0x02, 0x01, 0x01]: return .key
        default:
            // An encrypted PKCS#8 key starts with a sequence too, like a certificate.
            if start[header] == 0x30, isCertificate(data) { return .certificate }
            return hasName ? .pkcs12 : .key
        }
    }

    private func isCertificate(_ data: Data) -> Bool {
        do {
            _ = try Certificate(der: data)
            return true
        } catch {
            // A certificate with invalid dates is a certificate, too.
            return (error as? KeyFileError)?.code == .unsupported
        }
    }

    private mutating func addPKCS12(_ data: Data, _ name: String) throws {
        let contents = try readPKCS12(data, name)
        isIntegrityChecked = (isIntegrityChecked ?? true) && contents.isIntegrityChecked
        unreadableKeys += contents.unreadableKeys.map { ($0, name) }
        keys += contents.keys.map { ($0.key, name, $0.friendlyName) }
        certificates += contents.certificates.map { ($0.certificate, name, $0.friendlyName) }
    }

    private mutating func addPKCS12(blocks: [Data], _ name: String) throws {
        for block in blocks { try addPKCS12(block, name) }
    }

    private func readPKCS12(_ data: Data, _ name: String) throws -> PKCS12.Contents {
        func contents(_ passphrase: SecretBytes?) throws -> PKCS12.Contents {
            try awaiting(name) {
                try KeyFile.pkcs12(
                    data, fileName: name, passphrase: passphrase, allowsLegacy: allowsLegacy,
                    allowsUnreadableKeys: true)
            }
        }
        guard !hasPassphraseSource else { return try contents(passphrase(name)) }
        // Tried without a passphrase first: the file may need none, and a damaged file must not ask for one.
        do { return try contents(nil) } catch let error as KeychainError where error.code == .filePassphraseIncorrect {
            return try contents(passphrase(name))
        }
    }

    private mutating func addKey(_ data: Data, _ name: String) throws {
        for part in Self.privateKeys(in: data) {
            let key = try loadKey(part, name)
            keys.append((key, name, nil))
        }
    }

    private func loadKey(_ data: Data, _ name: String) throws -> PrivateKey {
        do {
            return try awaiting(name) { try KeyFile.load(data, fileName: name) { nil } }
        } catch let error as KeychainError where error.code == .pinRequired {
            // The key is encrypted. The passphrase is read outside `awaiting`, so that typing it prints no notice.
            let secret = try passphrase(name)
            return try awaiting(name) { try KeyFile.load(data, fileName: name) { secret } }
        }
    }

    /// Opens a file. The file determines how many key derivation steps that takes.
    private func awaiting<Result>(_ name: String, _ open: () throws -> Result) rethrows -> Result {
        try Waiting.notice("\(name) to open", isShown: showsProgress, open)
    }

    /// Refuses a key that cannot be put on a token, before any question is asked.
    private static func requireUsable(_ key: PrivateKey, _ name: String) throws {
        func refusal(cause: (any Error)? = nil) -> KeychainError {
            KeychainError(
                .mechanismUnsupported,
                "\(name) has a private key of an unsupported kind: "
                    + "\(key.isMultiPrime ? "RSA with more than two primes" : key.publicKey.algorithm.description).",
                hint: "Supported: RSA with two primes, EC on P-256, P-384 or P-521, and Ed25519.",
                details: ["file": name], cause: cause)
        }
        // OpenSSL supports this key, but tokens do not.
        if key.publicKey.algorithm == .ec(.secp256k1) { throw refusal() }
        do { _ = try key.components() } catch let error as CryptoError where error.code == .unsupportedKey {
            throw refusal(cause: error)
        }
    }

    /// The private keys of a PEM file as separate blocks; the whole file if it has at most one.
    private static func privateKeys(in data: Data) -> [Data] {
        let keys = PEM.blocks(in: data).filter { $0.label.hasSuffix("PRIVATE KEY") }
        return keys.count > 1 ? keys.map { data.part($0.range) } : [data]
    }

    private mutating func addCertificates(_ data: Data, _ name: String) throws {
        certificates += try KeyFile.certificates(data, fileName: name).map { ($0, name, nil) }
    }
}

extension Data {
    /// The bytes at the given offsets from the start.
    fileprivate func part(_ range: Range<Int>) -> Data { Data(dropFirst(range.lowerBound).prefix(range.count)) }

    fileprivate func holds(_ text: String) -> Bool { firstRange(of: Data(text.utf8)) != nil }
}

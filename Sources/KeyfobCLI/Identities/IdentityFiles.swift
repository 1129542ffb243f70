import Foundation
import Keyfob
import KeyfobPrimitives
import OpenSSL

/// Keys and certificates from the files of `identity import`, whatever their format.
struct IdentityFiles {
    /// A key with the certificate for it.
    struct Pair {
        /// The name of the file that the key is from.
        let fileName: String
        let key: PrivateKey
        let certificate: Certificate
        let certificateFileName: String
        let friendlyName: String?
    }

    private(set) var keys: [(key: PrivateKey, fileName: String, friendlyName: String?)] = []
    private(set) var certificates: [(certificate: Certificate, fileName: String, friendlyName: String?)] = []
    /// The keys of a kind that is not read: by now nobody knows whether they are wanted.
    private(set) var unreadableKeys: [(reason: PKCS12Error, fileName: String)] = []
    /// Whether the PKCS#12 files had a check over their content, as most have, and it was right; `nil` without such
    /// files.
    private(set) var isIntegrityChecked: Bool?
    let passphrase: (String) throws -> SecretBytes
    let hasPassphraseSource: Bool
    let allowsLegacy: Bool
    /// Whether somebody watches, who is told of a file that takes long to open.
    let showsProgress: Bool
    /// `--timeout`, where it was given: how long the writer of a pipe is waited for.
    let timeout: TimeSpan?

    /// - Parameters:
    ///   - passphrase: gives the passphrase of a file by name; asked where a file needs one.
    ///   - hasPassphraseSource: whether `passphrase` needs nobody.
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

    /// What a file is, told from its first bytes.
    private enum Kind { case pem, pkcs12, certificate, key }

    /// What there is in a PEM file.
    private struct PEMContent {
        /// Its PKCS#12 files, each for itself.
        let pkcs12: [Data]
        let hasKey: Bool
        let hasCertificate: Bool

        init(_ data: Data) {
            pkcs12 = PEM.blocks(in: data).filter { $0.label == PEM.pkcs12Label }.map { data.part($0.range) }
            // By their lines, of which a damaged file may have only one.
            (hasKey, hasCertificate) = (data.holds("PRIVATE KEY-----"), data.holds("CERTIFICATE-----"))
        }
    }

    /// Reads everything in a file.
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

    /// Reads the keys of a file. - Throws: `KeychainError` of the file.
    ///
    /// - Parameter isAlone: whether no other file is there for its certificate, so that those of PKCS#12 come along.
    mutating func addKey(_ file: FileArgument, isAlone: Bool) throws {
        let data = try file.read(waiting: timeout)
        let named = certificates
        switch kind(of: data, file) {
        case .pkcs12: try addPKCS12(data, file.name)
        case .pem:
            let content = PEMContent(data)
            // Beside PKCS#12 they are as good as those in it.
            guard !isAlone || content.pkcs12.isEmpty else { return try add(data, file) }
            try addPKCS12(blocks: content.pkcs12, file.name)
            if content.hasKey || content.pkcs12.isEmpty { try addKey(data, file.name) }
        case .certificate, .key: try addKey(data, file.name)
        }
        if !isAlone { certificates = named }
    }

    /// Reads the certificates of a file. - Throws: `KeychainError` of the file; `itemNotFound` where it has none.
    ///
    /// Of PKCS#12 the keys come along: they are under the same passphrase.
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
                .itemNotFound, "\(file.name) has no certificate in it.", hint: "Name the file that has it.",
                details: ["file": file.name])
        }
    }

    /// How many keys have no certificate among the files, where others have one.
    var keysWithoutCertificate: Int {
        Set(keys.map(\.key.publicKey.subjectPublicKeyInfo))
            .subtracting(certificates.map(\.certificate.publicKey.subjectPublicKeyInfo)).count
    }

    /// How many certificates of the keys are not imported, for another of the same key succeeds them.
    var succeededCertificates: Int {
        let all = Set(certificates.map(\.certificate)).filter { own in
            keys.contains { $0.key.publicKey == own.publicKey }
        }
        return all.count - all.intersection(currentCertificates).count
    }

    private var currentCertificates: Set<Certificate> {
        Set(Certificate.current(among: certificates.map(\.certificate), on: Date()))
    }

    /// Every key with its certificate, once where the files hold them twice.
    ///
    /// - Parameter isThere: whether the keychain has a key, where somebody knows; asked where a key has no certificate.
    /// - Throws: `KeychainError`; `itemNotFound` where there is no key or no certificate, `identityMismatch` where
    ///   a key has none of the certificates, `mechanismUnsupported` and `unsupportedFormat` for kinds of keys that are
    ///   not put on tokens.
    func pairs(isThere: (PublicKey) -> Bool?) throws -> [Pair] {
        guard !keys.isEmpty else {
            if let (reason, fileName) = unreadableKeys.first {
                throw KeychainError(
                    .unsupportedFormat, "\(fileName) cannot be read: \(reason.detail).", details: ["file": fileName],
                    cause: reason)
            }
            throw KeychainError(
                .itemNotFound, "there is no private key among the files.",
                hint: "Name its file: --key FILE. Certificates alone: keyfob cert import")
        }
        guard !certificates.isEmpty else {
            throw KeychainError(
                .itemNotFound, "there is no certificate among the files.", hint: "Name its file: --cert FILE")
        }
        var rest = currentCertificates
        return try keys.flatMap { entry -> [Pair] in
            let own = certificates.filter { $0.certificate.publicKey == entry.key.publicKey }
            guard !own.isEmpty else {
                // A file may hold the keys of several certificates, of which one was meant.
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
        // The leaf is the certificate that issued none of the others.
        let leaf = certificates.first { !$0.certificate.isCA } ?? certificates[0]
        let wanted = leaf.certificate.publicKey
        let theirs = Digest.sha256(wanted.subjectPublicKeyInfo).hexadecimal.prefix(16)
        let ours = Digest.sha256(key.publicKey.subjectPublicKeyInfo).hexadecimal.prefix(16)
        return KeychainError(
            .identityMismatch, "\(leaf.fileName) was not issued for the key of \(keyFile): public keys differ.",
            hint: "The certificate belongs to key sha256:\(theirs)…; yours is sha256:\(ours)…"
                + Keychain.advice(toFind: wanted, isThere: isThere(wanted)),
            details: ["certificate_key": "sha256:\(theirs)", "key": "sha256:\(ours)"])
    }

    private func kind(of data: Data, _ file: FileArgument) -> Kind {
        let start = [UInt8](data.prefix(16))
        let head = data.prefix(1 << 16)
        if head.firstRange(of: Data("-----BEGIN ".utf8)) != nil { return .pem }
        let hasName = [".p12", ".pfx"].contains { file.path.lowercased().hasSuffix($0) }
        guard start.count > 4, start[0] == 0x30 else { return hasName ? .pkcs12 : .pem }
        // The length takes one byte, or as many more as its low bits say; in BER it may be left open.
        let header = start[1] < 0x80 ? 2 : 2 + Int(start[1] & 0x7F)
        guard header + 3 <= start.count else { return hasName ? .pkcs12 : .certificate }
        switch Array(start[header..<header + 3]) {
        case [0x02, 0x01, 0x03]: return .pkcs12
        case [0x02, 0x01, 0x00], [0x02, 0x01, 0x01]: return .key
        default:
            // An encrypted PKCS#8 key begins as a certificate does: with a sequence.
            if start[header] == 0x30, isCertificate(data) { return .certificate }
            return hasName ? .pkcs12 : .key
        }
    }

    private func isCertificate(_ data: Data) -> Bool {
        do {
            _ = try Certificate(der: data)
            return true
        } catch {
            // One whose dates are impossible is a certificate, too.
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
        // Files without a passphrase need no question; and a damaged one must not ask for what it cannot use.
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
            // It is encrypted. Whoever types the passphrase is not told to wait.
            let secret = try passphrase(name)
            return try awaiting(name) { try KeyFile.load(data, fileName: name) { secret } }
        }
    }

    /// Opens a file, which may take as long as whoever made it has chosen: a passphrase is made a key by so many steps.
    private func awaiting<Result>(_ name: String, _ open: () throws -> Result) rethrows -> Result {
        try Waiting.notice("\(name) to open", isShown: showsProgress, open)
    }

    /// Refuses a key that cannot be put on a token, before anything is asked for.
    private static func requireUsable(_ key: PrivateKey, _ name: String) throws {
        func refusal(cause: (any Error)? = nil) -> KeychainError {
            KeychainError(
                .mechanismUnsupported,
                "\(name) holds a private key of a kind that is not put on tokens here: "
                    + "\(key.isMultiPrime ? "RSA of more than two primes" : key.publicKey.algorithm.description).",
                hint: "RSA of two primes, EC on P-256, P-384 or P-521, and Ed25519 are.",
                details: ["file": name], cause: cause)
        }
        // OpenSSL can take it apart, and tokens have no use for the parts.
        if key.publicKey.algorithm == .ec(.secp256k1) { throw refusal() }
        do { _ = try key.components() } catch let error as CryptoError where error.code == .unsupportedKey {
            throw refusal(cause: error)
        }
    }

    /// The blocks of a PEM file that are private keys, each for itself; the whole file where there are not several.
    private static func privateKeys(in data: Data) -> [Data] {
        let keys = PEM.blocks(in: data).filter { $0.label.hasSuffix("PRIVATE KEY") }
        return keys.count > 1 ? keys.map { data.part($0.range) } : [data]
    }

    private mutating func addCertificates(_ data: Data, _ name: String) throws {
        certificates += try KeyFile.certificates(data, fileName: name).map { ($0, name, nil) }
    }
}

extension Data {
    /// The bytes at offsets from the start.
    fileprivate func part(_ range: Range<Int>) -> Data { Data(dropFirst(range.lowerBound).prefix(range.count)) }

    fileprivate func holds(_ text: String) -> Bool { firstRange(of: Data(text.utf8)) != nil }
}

import COpenSSL
public import Foundation
public import KeyfobPrimitives

/// Files with keys and certificates under a passphrase (RFC 7292): `.p12`, `.pfx`.
public struct PKCS12: Sendable {
    private init() {}

    /// The largest file that is read, in bytes.
    public static let maximumSize = 1 << 24
    /// How often each derivation runs in a file that `write` makes.
    public static let iterations = 100_000

    /// What a file holds.
    public struct Contents: Sendable {
        /// One private key.
        public struct KeyEntry: Sendable {
            /// The key.
            public let key: PrivateKey
            /// The name that the maker of the file gave it.
            public let friendlyName: String?
            /// What ties it to its certificate, as the maker of the file chose it.
            public let localKeyID: Data?
        }

        /// One certificate.
        public struct CertificateEntry: Sendable {
            /// The certificate.
            public let certificate: Certificate
            /// The name that the maker of the file gave it.
            public let friendlyName: String?
            /// What ties it to its key, as the maker of the file chose it.
            public let localKeyID: Data?
        }

        /// A key with the certificate for it.
        public struct Identity: Sendable {
            /// The key.
            public let key: PrivateKey
            /// The certificate whose public key is the key's.
            public let certificate: Certificate
            /// The name of the key, else of the certificate.
            public let friendlyName: String?
            /// The certificate and what vouches for it, found among the other certificates of the file.
            public let chain: CertificateChain
        }

        /// The private keys, in the order of the file.
        public internal(set) var keys: [KeyEntry] = []
        /// Why there are no more of them, for each that is of a kind that is not read.
        public internal(set) var unreadableKeys: [PKCS12Error] = []
        /// The certificates, in the order of the file.
        public internal(set) var certificates: [CertificateEntry] = []
        /// Whether a MAC under the passphrase stood over the content and was right; many files have none.
        public internal(set) var isIntegrityChecked = false

        /// The pairs by public key, one for each certificate that fits a key and that no other of the file succeeds.
        ///
        /// Local key ids are not consulted: files with wrong ones exist, and a public key cannot be wrong. What a file
        /// holds twice is one pair. Of the certificate before a renewal and the one after, only the latter makes one.
        public var identities: [Identity] {
            var rest = Set(Certificate.current(among: certificates.map(\.certificate), on: Date()))
            return keys.flatMap { entry in
                certificates.filter {
                    $0.certificate.publicKey == entry.key.publicKey && rest.remove($0.certificate) != nil
                }.map { match in
                    Identity(
                        key: entry.key, certificate: match.certificate,
                        friendlyName: entry.friendlyName ?? match.friendlyName,
                        chain: .order(leaf: match.certificate, candidates: certificates.map(\.certificate)))
                }
            }
        }
    }

    /// Reads a file, in DER or in PEM.
    ///
    /// Blocks while the passphrase is derived, from milliseconds to seconds, as the file asks. A passphrase that is
    /// `nil` or empty is tried in both forms, which the format tells apart. With `allowLegacy` RC2, RC4, DES and
    /// 3DES are read too, in a library context of our own. `ignoringIntegrity` looks into a file whose MAC is wrong.
    /// Keys of a kind that is not read are passed over where there are others, or with `allowUnreadableKeys`.
    ///
    /// - Throws: `PKCS12Error` with its code. Outer lengths are checked first, then the MAC, then the content.
    public static func read(
        _ data: Data, passphrase: SecretBytes?, allowLegacy: Bool = true, ignoringIntegrity: Bool = false,
        allowUnreadableKeys: Bool = false
    ) throws(PKCS12Error) -> Contents {
        let der = try checkEnvelope(data)
        let contents: Contents
        do {
            contents = try unsafe ReadingLibrary.with { library in
                let file = try unsafe PKCS12File(der: der, library: library)
                return try file.contents(
                    passphrase: passphrase, allowLegacy: allowLegacy, ignoringIntegrity: ignoringIntegrity)
            }
        } catch {
            throw PKCS12Error(wrapping: error)
        }
        if contents.keys.isEmpty, !allowUnreadableKeys, let reason = contents.unreadableKeys.first { throw reason }
        return contents
    }

    /// The file without what may follow it, once its outer lengths are right and it starts as a PFX does.
    private static func checkEnvelope(_ data: Data) throws(PKCS12Error) -> Data {
        guard data.count <= maximumSize else { throw PKCS12Error(.tooLarge, "a PKCS#12 file is below 16 MiB") }
        guard !data.isEmpty else { throw PKCS12Error(.notPKCS12, "the file is empty") }
        // Text before a PEM block may begin with the digit that a sequence begins with.
        guard !startsAsPFX(data) else { return try checkLengths(data) }
        // What certtool writes unless it is told otherwise.
        let blocks = PEM.blocks(in: data).filter { $0.label == PEM.pkcs12Label }
        guard let block = blocks.first else { return try checkLengths(data) }
        guard blocks.count == 1 else {
            throw PKCS12Error(.unsupported, "it holds \(blocks.count) PKCS#12 files, which have to be told apart")
        }
        guard let content = block.content else {
            throw PKCS12Error(.damaged, "the PEM block is broken or not closed")
        }
        return try checkLengths(content.copyData())
    }

    private static func startsAsPFX(_ data: Data) -> Bool {
        let start = [UInt8](data.prefix(16))
        guard start.first == DERTag.sequence else { return false }
        return start.dropFirst(DERHeader(start)?.count ?? 2).starts(with: [DERTag.integer, 1, 3])
    }

    private static func checkLengths(_ data: Data) throws(PKCS12Error) -> Data {
        let start = [UInt8](data.prefix(16))
        guard start.first == DERTag.sequence else {
            throw PKCS12Error(.notPKCS12, "it does not start as PKCS#12 does")
        }
        // Some makers write BER with indefinite lengths, which say nothing about a cut.
        let isIndefinite = start.count > 1 && start[1] == 0x80
        let header = DERHeader(start)
        guard isIndefinite || header != nil else {
            throw start.count < 6
                ? PKCS12Error(.damaged, "it ends after \(start.count) bytes")
                : PKCS12Error(.notPKCS12, "it does not start as PKCS#12 does")
        }
        let version = start.dropFirst(header?.count ?? 2).prefix(3)
        guard version.elementsEqual([DERTag.integer, 1, 3].prefix(version.count)) else {
            throw PKCS12Error(.notPKCS12, "it is not version 3 of PKCS#12")
        }
        guard let header else { return data }
        guard header.total <= data.count else {
            throw PKCS12Error(.damaged, "it ends after \(data.count) of \(header.total) bytes")
        }
        return Data(data.prefix(header.total))
    }

    /// Makes a file: PBES2 with AES-256-CBC and PBKDF2 over HMAC-SHA-256, and a MAC with SHA-256.
    ///
    /// Blocks some tenths of a second. `chain` are further certificates; the leaf among them is not written twice.
    /// An empty passphrase is accepted, because other programs ask for it; it protects nothing.
    ///
    /// - Throws: `PKCS12Error` (`invalidInput`) when the certificate is not the key's or the passphrase holds a NUL.
    public static func write(
        key: PrivateKey, certificate: Certificate, chain: [Certificate], friendlyName: String?, passphrase: SecretBytes
    ) throws(PKCS12Error) -> Data {
        guard certificate.publicKey == key.publicKey else {
            throw PKCS12Error(.invalidInput, "the certificate is for another key")
        }
        if let friendlyName, friendlyName.utf8.contains(0) {
            throw PKCS12Error(.invalidInput, "the name holds a NUL")
        }
        do {
            return try unsafe passphrase.withCString { secret in
                let pointer = try unsafe parts(
                    key, [certificate] + chain.filter { $0 != certificate }, friendlyName, secret)
                defer { unsafe PKCS12_free(pointer) }
                try check("PKCS12_set_mac", unsafe PKCS12_set_mac(
                    pointer, secret, -1, nil, 0, Int32(iterations), EVP_sha256()))
                return try unsafe encoded("i2d_PKCS12") { unsafe i2d_PKCS12(pointer, $0) }
            }
        } catch {
            throw PKCS12Error(wrapping: error)
        }
    }

    /// A file without a MAC, of the key and its certificates, the first of which is the key's.
    ///
    /// Made of parts: PKCS12_create(3) refuses names with letters above U+FFFF.
    @unsafe private static func parts(
        _ key: PrivateKey, _ certificates: [Certificate], _ friendlyName: String?, _ secret: UnsafePointer<CChar>
    ) throws -> OpaquePointer {
        // What ties the two together is what openssl writes.
        let localKeyID = certificates.first.map { [UInt8]($0.sha1Fingerprint) } ?? []
        func describe(_ bag: OpaquePointer) throws {
            let units = friendlyName.map { $0.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } } ?? []
            if !units.isEmpty {
                try check(
                    "PKCS12_add_friendlyname_uni",
                    unsafe PKCS12_add_friendlyname_uni(bag, units, Int32(units.count)))
            }
            var identifier = localKeyID
            try check("PKCS12_add_localkeyid", unsafe PKCS12_add_localkeyid(bag, &identifier, Int32(identifier.count)))
        }
        var (safes, bags): (OpaquePointer?, OpaquePointer?) = (nil, nil)
        func empty() {
            unsafe OPENSSL_sk_pop_free(bags) { unsafe PKCS12_SAFEBAG_free(OpaquePointer($0)) }
            unsafe bags = nil
        }
        defer {
            empty()
            unsafe OPENSSL_sk_pop_free(safes) { unsafe PKCS7_free($0?.assumingMemoryBound(to: PKCS7.self)) }
        }
        for certificate in certificates {
            let bag = try unsafe certificate.handle.withPointer { certificate in
                try unsafe check("PKCS12_add_cert", PKCS12_add_cert(&bags, certificate))
            }
            if certificate == certificates.first { try unsafe describe(bag) }
        }
        try check(
            "PKCS12_add_safe", unsafe PKCS12_add_safe(&safes, bags, NID_aes_256_cbc, Int32(iterations), secret))
        empty()
        let bag = try unsafe key.handle.withPointer { key in
            try unsafe check(
                "PKCS12_add_key", PKCS12_add_key(&bags, key, 0, Int32(iterations), NID_aes_256_cbc, secret))
        }
        try unsafe describe(bag)
        try check("PKCS12_add_safe", unsafe PKCS12_add_safe(&safes, bags, -1, 0, nil))
        return try unsafe check("PKCS12_add_safes", PKCS12_add_safes(safes, 0))
    }
}

import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import KeychainServices

@Suite struct ImportExportTests {
    /// The result of SecPKCS12Import.
    private func importPKCS12(_ data: Data, _ options: NSDictionary) -> (status: OSStatus, items: [NSDictionary]?) {
        var items: CFArray?
        let status = unsafe SecPKCS12Import(data as CFData, options, &items)
        return (status, items?.compactMap { $0 as? NSDictionary })
    }

    private func file(_ name: String, _ options: String = "") throws -> Data {
        let authority = try Authority.shared.get()
        let unique = "\(UUID().uuidString).p12"
        try authority.openssl(
            "pkcs12 -export -inkey \(name).key -in \(name).pem -certfile intermediate.pem -out \(unique) \(options)",
            "-name", "friend", "-passout", "pass:secret")
        return try authority.data(unique)
    }

    @Test(arguments: ["leaf", "rsa"], ["", "-legacy", "-keypbe AES-256-CBC -certpbe AES-256-CBC -macalg sha256"])
    func `V113: a file with an identity gives one dictionary with it and its chain`(
        name: String, options: String
    ) throws {
        let (status, items) = importPKCS12(try file(name, options), [kSecImportExportPassphrase: "secret"])
        #expect(status == errSecSuccess && items?.count == 1)
        let item = try #require(items?.first)
        #expect(try item.object(forKey: kSecImportItemIdentity) as? SecIdentity == Authority.identity(name))
        let chain = try [name, "intermediate"].map { try Authority.certificate($0) }
        #expect(item.object(forKey: kSecImportItemCertChain) as? [SecCertificate] == chain)
        #expect(item.object(forKey: kSecImportItemLabel) as? String == "friend")
        #expect(item.object(forKey: kSecImportItemKeyID) as? Data == chain[0].certificate.publicKey.identifier)
        let trust = try #require(item.object(forKey: kSecImportItemTrust) as? SecTrust)
        SecTrustSetAnchorCertificates(trust, [try Authority.certificate("root")] as CFArray)
        #expect(isTrusted(trust))
    }

    @Test func `V114 and V115: a wrong passphrase, a missing one, and damaged files`() throws {
        let file = try file("leaf")
        #expect(importPKCS12(file, [kSecImportExportPassphrase: "wrong"]).status == errSecAuthFailed)
        #expect(importPKCS12(file, [:]).status == errSecAuthFailed)
        #expect(importPKCS12(file, [kSecImportExportPassphrase: 7]).status == errSecParam)
        for wrong in [Data(), Data("nonsense".utf8), file.dropLast(20), Data(repeating: 0x30, count: 100)] {
            #expect(importPKCS12(Data(wrong), [kSecImportExportPassphrase: "secret"]).status == errSecDecode)
        }
        var changed = file
        changed[file.count - 20] ^= 1
        #expect(importPKCS12(changed, [kSecImportExportPassphrase: "secret"]).status == errSecPkcs12VerifyFailure)
    }

    @Test func `a file of certificates alone gives nothing`() throws {
        let authority = try Authority.shared.get()
        try authority.openssl("pkcs12 -export -nokeys -in leaf.pem -out certificates.p12", "-passout", "pass:secret")
        let (status, items) = importPKCS12(
            try authority.data("certificates.p12"), [kSecImportExportPassphrase: "secret"])
        #expect(status == errSecSuccess && items?.isEmpty == true)
    }

    @Test func `an import is stored only on request, and importing twice stores once`() throws {
        let throwaway = try TestKeychain.make()
        try SecKeyUse(throwaway) {
            func count(_ itemClass: CFString) -> Int {
                var result: CFTypeRef?
                let query: [CFString: Any] = [
                    kSecClass: itemClass, kSecMatchLimit: kSecMatchLimitAll, kSecReturnRef: true,
                ]
                unsafe SecItemCopyMatching(query as CFDictionary, &result)
                return (result as? NSArray)?.count ?? 0
            }
            let file = try file("leaf")
            let options: NSMutableDictionary = [kSecImportExportPassphrase: "secret"]
            #expect(importPKCS12(file, options).status == errSecSuccess)
            #expect(count(kSecClassIdentity) == 0)
            options.setObject(true as NSNumber, forKey: kSecUseDataProtectionKeychain)
            options.setObject(true as NSNumber, forKey: kSecImportToMemoryOnly)
            #expect(importPKCS12(file, options).status == errSecSuccess)
            #expect(count(kSecClassIdentity) == 0)
            options.removeObject(forKey: kSecImportToMemoryOnly)
            for _ in 0..<2 {
                let (status, items) = importPKCS12(file, options)
                #expect(status == errSecSuccess)
                #expect(count(kSecClassIdentity) == 1 && count(kSecClassCertificate) == 2)
                let identity = try #require(items?.first?.object(forKey: kSecImportItemIdentity) as? SecIdentity)
                #expect(representation(of: identity.privateKey) == Outcome(value: nil, status: errSecUnimplemented))
                #expect(sign(identity.privateKey, .ecdsaSignatureMessageX962SHA256, Data([1])).value != nil)
            }
        }
    }

    @Test func `a whole chain is stored with its root, which does not become trusted`() throws {
        let authority = try Authority.shared.get()
        let certificates = try authority.data("intermediate.pem") + authority.data("root.pem")
        try authority.directory.write([UInt8](certificates), to: "above.pem")
        try authority.openssl(
            "pkcs12 -export -inkey leaf.key -in leaf.pem -certfile above.pem -out whole.p12", "-passout", "pass:secret")
        let bench = try SecItemFixture()
        let chain = try ["leaf", "intermediate", "root"].map { try Authority.certificate($0) }
        let options: NSDictionary = [kSecImportExportPassphrase: "secret", kSecUseDataProtectionKeychain: true]
        for _ in 0..<2 {
            let (status, items) = try bench.use { importPKCS12(try authority.data("whole.p12"), options) }
            let found = items?.first?.object(forKey: kSecImportItemCertChain) as? [SecCertificate]
            #expect(status == errSecSuccess && found == chain)
            let stored = bench.copying(["class": "cert"] + wantsAll + wantsReference).array as? [SecCertificate]
            #expect(Set(stored ?? []) == Set(chain) && stored?.count == 3)
        }
        var trust: SecTrust?
        unsafe SecTrustCreateWithCertificates(chain as CFArray, nil, &trust)
        let made = try #require(trust)
        bench.use { #expect(!isTrusted(made)) }
    }

    @Test func `a missing passphrase is an empty one`() throws {
        let authority = try Authority.shared.get()
        try authority.openssl("pkcs12 -export -inkey leaf.key -in leaf.pem -out open.p12", "-passout", "pass:")
        let open = try authority.data("open.p12")
        for options in [[:], [kSecImportExportPassphrase: ""]] as [NSDictionary] {
            let (status, items) = importPKCS12(open, options)
            let identity = items?.first?.object(forKey: kSecImportItemIdentity) as? SecIdentity
            #expect(try status == errSecSuccess && identity == Authority.identity("leaf"))
            #expect(importPKCS12(try file("leaf"), options).status == errSecAuthFailed)
            #expect(importPKCS12(Data("nonsense".utf8), options).status == errSecDecode)
        }
        #expect(importPKCS12(open, [kSecImportExportPassphrase: "secret"]).status == errSecAuthFailed)
    }

    @Test func `an identity is not stored over another certificate with its issuer and serial number`() throws {
        let bench = try SecItemFixture()
        let (first, second) = (try TestPair("one", ["-set_serial", "7"]), try TestPair("one", ["-set_serial", "7"]))
        func file(_ key: PrivateKey, _ certificate: Certificate) throws -> Data {
            try PKCS12.write(
                key: key, certificate: certificate, chain: [], friendlyName: nil,
                passphrase: SecretBytes(utf8: "secret"))
        }
        let options: NSDictionary = [kSecImportExportPassphrase: "secret", kSecUseDataProtectionKeychain: true]
        bench.expect(0, bench.add(["v_Ref": first.secCertificate]))
        let refused = try bench.use { importPKCS12(try file(second.key, second.certificate), options) }
        #expect(refused.status == errSecDuplicateItem && refused.items == nil)
        bench.expect(-25300, bench.copy(["class": "keys", "sync": "syna"]))
        let kept = bench.copying(["class": "cert"] + wantsAll + wantsReference).array as? [SecCertificate]
        #expect(kept == [first.secCertificate])
        // Importing to memory, or with another primary key, causes no conflict.
        let memory = importPKCS12(try file(second.key, second.certificate), [kSecImportExportPassphrase: "secret"])
        #expect(memory.items?.first?.object(forKey: kSecImportItemIdentity) as? SecIdentity == second.secIdentity)
        let apart = options.mutableCopy() as? NSMutableDictionary
        apart?.setObject("apart" as NSString, forKey: "vwht" as NSString)
        let other = try bench.use { importPKCS12(try file(second.key, second.certificate), try #require(apart)) }
        #expect(other.status == errSecSuccess)
        #expect(bench.copying(["class": "idnt"] + wantsReference).value as? SecIdentity == second.secIdentity)
        // Importing the key that belongs to the certificate succeeds.
        let own = try bench.use { importPKCS12(try file(first.key, first.certificate), options) }
        #expect(own.status == errSecSuccess)
        #expect(bench.copying(["class": "idnt"] + wantsAll + wantsReference).array?.count == 2)
    }

    @Test(arguments: [
        ["sync": true], ["atag": "tag"], ["u_SystemKeychain": true], ["agrp": "two", "labl": "l"], ["pdmn": "ck", "sync": 0],
    ] as [[String: any Sendable]])
    func `attributes of an import apply to the items that it stores`(attributes: [String: any Sendable]) throws {
        let bench = try SecItemFixture()
        bench.groups = ["one", "two"]
        let options = attributes.merging([kSecImportExportPassphrase as String: "secret", "nleg": true]) { $1 }
        let (status, items) = try bench.use { importPKCS12(try file("leaf"), options as NSDictionary) }
        #expect(status == errSecSuccess && items?.count == 1)
        let identity = try #require(items?.first?.object(forKey: kSecImportItemIdentity) as? SecIdentity)
        #expect(representation(of: identity.privateKey) == Outcome(value: nil, status: errSecUnimplemented))
        for (itemClass, count) in [("idnt", 1), ("cert", 2), ("keys", 1)] {
            var query: [String: Any] = attributes
            if itemClass != "keys", itemClass != "idnt" { query["atag"] = nil }
            let found = bench.copying(query + ["class": itemClass] + wantsAll + wantsReference)
            #expect(found.array?.count == count, "\(itemClass)")
        }
    }

    /// An identity and its chain as an import gives them that also stores them.
    private func storing(_ bench: SecItemFixture, _ more: [String: Any] = [:]) throws -> (
        identity: SecIdentity, chain: [SecCertificate]
    ) {
        let options = more + [kSecImportExportPassphrase as String: "secret", "nleg": true]
        let (status, items) = try bench.use { importPKCS12(try file("leaf"), options as NSDictionary) }
        try #require(status == errSecSuccess)
        let item = try #require(items?.first)
        let identity = try #require(item.object(forKey: kSecImportItemIdentity) as? SecIdentity)
        return (identity, try #require(item.object(forKey: kSecImportItemCertChain) as? [SecCertificate]))
    }

    /// Whether the identity of the keychain can sign.
    private func canSign(_ bench: SecItemFixture, _ query: [String: Any]) -> Bool {
        guard let identity = bench.copying(query + ["class": "idnt"] + wantsReference).value as? SecIdentity else {
            return false
        }
        return bench.use {
            SecKeyCreateSignature(
                identity.privateKey, .ecdsaSignatureMessageX962SHA256, Data("a".utf8) as CFData, nil)
        } != nil
    }

    @Test func `imported objects can be added once, stored by the import or not`() throws {
        let bench = try SecItemFixture()
        let (identity, chain) = try storing(bench)
        let more: [String: Any] = ["labl": "mine", "pdmn": "ck"]
        bench.expect(0, bench.add(more + ["v_Ref": identity]))
        for (itemClass, count) in [("idnt", 1), ("cert", 2), ("keys", 1)] {
            #expect(bench.copying(["class": itemClass] + wantsAll + wantsReference).array?.count == count, "\(itemClass)")
        }
        for itemClass in ["cert", "keys"] { bench.expect(0, bench.copy(more + ["class": itemClass]), itemClass) }
        #expect(canSign(bench, ["labl": "mine"]))
        // The authorities above it, as far as the import added them.
        for certificate in chain.dropFirst() { bench.expect(0, bench.add(["v_Ref": certificate])) }
        for reference in [identity, chain[0], chain[1]] as [Any] { bench.expect(-25299, bench.add(["v_Ref": reference])) }
    }

    @Test func `the two halves of a stored import can be added one by one, too`() throws {
        let bench = try SecItemFixture()
        let (identity, _) = try storing(bench)
        let tag = Data("tag".utf8)
        let key = bench.adding(["v_Ref": identity.privateKey, "labl": "key"] + wantsPersistent)
        #expect(key.status == 0 && key.data?.count == 20)
        let certificate = bench.adding(["v_Ref": identity.certificate, "labl": "certificate"] + wantsAttributes)
        #expect(certificate.dictionary?["labl"] as? String == "certificate")
        #expect(bench.copying(["class": "keys"] + wantsAll + wantsAttributes).array?.count == 1)
        bench.expect(0, bench.copy(["class": "keys", "labl": "key"]))
        // With another tag the key is an additional item, as always.
        bench.expect(0, bench.add(["v_Ref": identity.privateKey, "atag": tag]))
        #expect(bench.copying(["class": "keys"] + wantsAll + wantsAttributes).array?.count == 2)
    }

    @Test(arguments: ["reference", "certificate and key", "classes", "list"])
    func `stored imports can be removed and added again with other attributes`(way: String) throws {
        let bench = try SecItemFixture()
        bench.groups = ["one", "two"]
        let (identity, chain) = try storing(bench)
        switch way {
        case "reference": bench.expect(0, bench.delete(["v_Ref": identity]))
        case "certificate and key":
            bench.expect(0, bench.delete(["v_Ref": identity.certificate]))
            bench.expect(0, bench.delete(["v_Ref": identity.privateKey]))
        case "list": bench.expect(0, bench.delete(["class": "idnt", "m_ItemList": [identity]]))
        default: for itemClass in ["cert", "keys"] { bench.expect(0, bench.delete(["class": itemClass])) }
        }
        bench.expect(-25300, bench.copy(["class": "keys"]))
        let more: [String: Any] = ["labl": "again", "agrp": "two", "pdmn": "ck"]
        bench.expect(0, bench.add(more + ["v_Ref": identity]))
        #expect(canSign(bench, ["labl": "again", "agrp": "two"]))
        // The key does not leave the token, even if it is added again.
        let stored = bench.copying(["class": "keys"] + wantsReference).value
        let key = try #require(stored as? SecKey)
        for one in [key, identity.privateKey] { #expect(bench.use { representation(of: one) }.value == nil) }
        bench.expect(-25299, bench.add(more + ["v_Ref": identity]))
        bench.expect(0, bench.delete(["class": "keys"]))
        bench.expect(0, bench.add(more + ["v_Ref": identity.privateKey]))
        #expect(canSign(bench, ["agrp": "two"]))
        #expect(chain.count == 2)
    }

    @Test func `an item that existed before an import is a duplicate for an addition`() throws {
        let bench = try SecItemFixture()
        _ = try storing(bench)
        let (identity, chain) = try storing(bench)
        for reference in [identity, identity.privateKey, chain[0], chain[1]] as [Any] {
            bench.expect(-25299, bench.add(["v_Ref": reference, "labl": "mine"]))
        }
        bench.expect(-25300, bench.copy(["class": "cert", "labl": "mine"]))
    }

    @Test(arguments: [(["svce": "s"], -25303), (["pdmn": "bogus"], -50), (["agrp": "other"], -34018)] as [([String: String], OSStatus)])
    func `a refused import stores nothing`(row: (attributes: [String: String], status: OSStatus)) throws {
        let bench = try SecItemFixture()
        let options = row.attributes.merging([kSecImportExportPassphrase as String: "secret"]) { $1 } as [String: Any]
        let (status, items) = try bench.use { importPKCS12(try file("leaf"), (options + ["nleg": true]) as NSDictionary) }
        #expect(status == row.status && items == nil)
        for itemClass in ["cert", "keys"] { bench.expect(-25300, bench.copy(["class": itemClass, "sync": "syna"])) }
    }

    struct FileRow: Sendable, CustomTestStringConvertible {
        let command: String
        let format: SecExternalFormat
        let type: SecExternalItemType
        var passphrase: String?
        var testDescription: String { command }
    }

    static let files = [
        FileRow(command: "x509 -in leaf.pem", format: .formatX509Cert, type: .itemTypeCertificate),
        FileRow(command: "x509 -in leaf.pem -outform DER", format: .formatX509Cert, type: .itemTypeCertificate),
        FileRow(
            command: "x509 -in leaf.pem -addtrust serverAuth -trustout", format: .formatX509Cert,
            type: .itemTypeCertificate),
        FileRow(command: "pkey -in leaf.key", format: .formatOpenSSL, type: .itemTypePrivateKey),
        FileRow(command: "pkey -in leaf.key -outform DER", format: .formatOpenSSL, type: .itemTypePrivateKey),
        FileRow(command: "pkey -in rsa.key -traditional", format: .formatOpenSSL, type: .itemTypePrivateKey),
        FileRow(command: "rsa -in rsa.key -traditional -outform DER", format: .formatOpenSSL, type: .itemTypePrivateKey),
        FileRow(command: "ec -in leaf.key", format: .formatOpenSSL, type: .itemTypePrivateKey),
        FileRow(command: "pkey -in leaf.key -pubout", format: .formatOpenSSL, type: .itemTypePublicKey),
        FileRow(command: "pkey -in rsa.key -pubout -outform DER", format: .formatOpenSSL, type: .itemTypePublicKey),
        FileRow(command: "rsa -in rsa.key -RSAPublicKey_out", format: .formatBSAFE, type: .itemTypePublicKey),
        FileRow(command: "rsa -in rsa.key -RSAPublicKey_out -outform DER", format: .formatBSAFE, type: .itemTypePublicKey),
        FileRow(
            command: "pkcs8 -topk8 -in leaf.key -passout pass:secret", format: .formatWrappedPKCS8,
            type: .itemTypePrivateKey, passphrase: "secret"),
        FileRow(
            command: "pkcs8 -topk8 -in rsa.key -passout pass:secret -outform DER", format: .formatWrappedPKCS8,
            type: .itemTypePrivateKey, passphrase: "secret"),
        FileRow(
            command: "rsa -in rsa.key -traditional -aes128 -passout pass:secret", format: .formatWrappedOpenSSL,
            type: .itemTypePrivateKey, passphrase: "secret"),
        FileRow(
            command: "pkcs12 -export -inkey leaf.key -in leaf.pem -passout pass:secret", format: .formatPKCS12,
            type: .itemTypeAggregate, passphrase: "secret"),
    ]

    @Test(arguments: files)
    func `the format and kind of a file are found`(row: FileRow) throws {
        let data = Data(try Authority.shared.get().openssl(row.command).output)
        let imported = importing(data, passphrase: row.passphrase)
        #expect(imported.status == errSecSuccess && imported.items.count == 1)
        #expect(imported.format == row.format && imported.type == row.type)
        let name = row.command.contains("rsa.key") ? "rsa" : "leaf"
        let key = switch imported.items.first {
        case let certificate as SecCertificate: SecCertificateCopyKey(certificate)
        case let identity as SecIdentity: SecCertificateCopyKey(identity.certificate)
        case let key as SecKey: SecKeyCopyPublicKey(key)
        default: nil as SecKey?
        }
        #expect(try key == SecCertificateCopyKey(Authority.certificate(name)))
        guard row.passphrase != nil else { return }
        #expect(importing(data).status == errSecPassphraseRequired)
        #expect(importing(data, passphrase: "wrong").status == errSecAuthFailed)
    }

    @Test func `a sequence of blocks is read in its order`() throws {
        let authority = try Authority.shared.get()
        let file = try authority.data("leaf.pem") + Data("text between\n".utf8) + authority.data("leaf.key")
            + authority.data("rsa.key")
        let imported = importing(file)
        #expect(imported.status == errSecSuccess && imported.format == .formatPEMSequence)
        #expect(imported.type == .itemTypeAggregate && imported.items.count == 3)
        #expect(try imported.items.first as? SecCertificate == Authority.certificate("leaf"))
        #expect(importing(file, flags: .importOnlyOne).status == errSecMultiplePrivKeys)
    }

    @Test(
        arguments: [
            ("-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICAT-----"), ("-----BEGIN CERTIFICATE-----", ""),
            ("-----END CERTIFICATE-----\n", ""), ("-----END CERTIFICATE-----", "-----END-----"),
        ])
    func `a block with damaged lines is not skipped`(row: (line: String, damaged: String)) throws {
        let authority = try Authority.shared.get()
        let (leaf, key) = (try authority.data("leaf.pem"), try authority.data("leaf.key"))
        let line = try #require(leaf.firstRange(of: Data(row.line.utf8)))
        let damaged = leaf[..<line.lowerBound] + Data(row.damaged.utf8) + leaf[line.upperBound...]
        for file in [key + damaged, damaged + key, damaged] {
            let imported = importing(file)
            #expect(imported.status == errSecDecode && imported.items.isEmpty)
        }
    }

    @Test(
        arguments: [
            ("", errSecUnknownFormat), ("nonsense", errSecUnknownFormat), ("0\u{3}", errSecUnknownFormat),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", errSecDecode),
            ("-----BEGIN PRIVATE KEY-----\nAAAA", errSecDecode),
            ("-----BEGIN RSA PUBLIC KEY-----\n!\n-----END RSA PUBLIC KEY-----\n", errSecDecode),
            ("-----BEGIN NOTHING-----\nAAAA\n-----END NOTHING-----\n", errSecUnknownFormat),
        ])
    func `a file without keys and certificates is refused`(row: (text: String, status: OSStatus)) {
        #expect(importing(Data(row.text.utf8)).status == row.status)
    }

    @Test(
        arguments: [
            (SecExternalFormat.formatOpenSSL, false), (.formatOpenSSL, true), (.formatBSAFE, true),
            (.formatBSAFE, false), (.formatWrappedPKCS8, false), (.formatWrappedPKCS8, true), (.formatUnknown, false),
            (.formatPEMSequence, false),
        ], ["leaf", "rsa"])
    func `the command and our reader read every exported file`(
        row: (format: SecExternalFormat, isPEM: Bool), name: String
    ) throws {
        let key = try Authority.identity(name).privateKey
        let (status, data) = exporting(key, row.format, row.isPEM ? .pemArmour : [], passphrase: "secret")
        #expect(status == errSecSuccess)
        let bytes = try #require(data)
        let authority = try Authority.shared.get()
        let file = UUID().uuidString
        try authority.directory.write(bytes, to: file)
        let printed = try authority.openssl("pkey -in \(file) -pubout -passin pass:secret").stdout
        #expect(printed == key.publicKey.pem)
        #expect(importing(bytes, passphrase: "secret").items.first as? SecKey == key)
        if row.format == .formatWrappedPKCS8 { #expect(exporting(key, row.format).status == errSecPassphraseRequired) }
    }

    @Test func `identities and certificates are exported, and unsuitable items are refused`() throws {
        let identity = try Authority.identity("leaf")
        let (status, data) = exporting(
            [identity, try Authority.certificate("intermediate")] as NSArray, .formatPKCS12, passphrase: "secret")
        #expect(status == errSecSuccess)
        let items = importing(try #require(data), passphrase: "secret").items
        #expect(items.first as? SecIdentity == identity && items.count == 2)
        #expect(exporting(identity, .formatPKCS12).status == errSecPassphraseRequired)
        #expect(exporting(identity.certificate, .formatUnknown).data == identity.certificate.certificate.der)
        #expect(exporting(identity.certificate, .formatOpenSSL).status == errSecParam)
        #expect(exporting(identity, .formatX509Cert).status == errSecParam)
        #expect(exporting("x" as NSString, .formatUnknown).status == errSecParam)
        #expect(exporting(NSArray(), .formatUnknown).status == errSecParam)
        #expect(exporting(identity.privateKey, .formatSSH).status == errSecUnsupportedFormat)
        #expect(exporting(try KeyFixture.key(.p256, .token), .formatOpenSSL).status == errSecUnimplemented)
    }

    @Test func `a sequence is written in the given order`() throws {
        let identity = try Authority.identity("leaf")
        let intermediate = try Authority.certificate("intermediate")
        let other = try Authority.identity("rsa").privateKey
        let items: [AnyObject] = [intermediate, other, identity, try Authority.certificate("root")]
        let data = try #require(exporting(items as NSArray, .formatPEMSequence).data)
        let expected: [NSObject] = [
            intermediate, other, identity.certificate, identity.privateKey, try Authority.certificate("root"),
        ]
        #expect(importing(data).items as? [NSObject] == expected)
    }

    @Test func `curve parameters before a key are not an item`() throws {
        let data = Data(try Authority.shared.get().openssl("ecparam -name prime256v1 -genkey").output)
        #expect(String(decoding: data, as: UTF8.self).hasPrefix("-----BEGIN EC PARAMETERS"))
        let imported = importing(data)
        #expect(imported.status == errSecSuccess && imported.items.count == 1)
        #expect(imported.format == .formatOpenSSL && imported.type == .itemTypePrivateKey)
    }

    @Test func `a passphrase that a file cannot have is a bad argument`() throws {
        let identity = try Authority.identity("leaf")
        #expect(exporting(identity, .formatPKCS12, passphrase: "a\0b").status == errSecParam)
    }
}

import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

/// PKCS#12 files that `Scripts/make-pkcs12-corpus` makes: by the installed programs now, and stored in `Fixtures`.
@Suite("PKCS#12 files of other makers")
struct PKCS12CorpusTests {
    /// A line of the manifest.
    struct Row {
        let file, passphrase, expected: String
        let keys, certificates: Int
        let friendlyName: String

        init?(_ line: Substring) {
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard fields.count == 6, let keys = Int(fields[3]), let certificates = Int(fields[4]) else { return nil }
            (file, passphrase, expected, friendlyName) = (fields[0], fields[1], fields[2], fields[5])
            (self.keys, self.certificates) = (keys, certificates)
        }
    }

    @Test("Every file opens, old encryption only if allowed, and a wrong passphrase is not reported as damage")
    func everyFile() throws {
        let directory = try TemporaryDirectory()
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Scripts/make-pkcs12-corpus").standardized.path
        let made = try TestSupport.run(script, [directory.path], timeout: 1200)
        try #require(made.status == 0, "\(made.stderr)")
        try check(
            filesIn: URL(fileURLWithPath: directory.path), needsEveryMaker: !made.stderr.contains("not installed"))
    }

    @Test func `the stored files of every maker open, whatever is installed`() throws {
        try check(filesIn: Fixtures.url("PKCS12"), needsEveryMaker: true)
    }

    private func check(filesIn directory: URL, needsEveryMaker: Bool) throws {
        let manifest = try Data(contentsOf: directory.appendingPathComponent("manifest.tsv"))
        let rows = try String(decoding: manifest, as: UTF8.self).split(separator: "\n")
            .map { try #require(Row($0), "\($0)") }
        #expect(rows.count >= 21)
        for maker in ["openssl", "byhand", "java", "nss", "gnutls"] {
            #expect(!needsEveryMaker || rows.contains { $0.file.hasPrefix(maker) }, "nothing by \(maker)")
        }
        for row in rows {
            let data = try Data(contentsOf: directory.appendingPathComponent(row.file))
            let passphrase = SecretBytes(utf8: row.passphrase)
            let contents = try PKCS12.read(data, passphrase: passphrase)
            #expect(contents.keys.count == row.keys, "\(row.file)")
            #expect(contents.certificates.count == row.certificates, "\(row.file)")
            #expect(contents.identities.count == min(row.keys, row.certificates), "\(row.file)")
            if !row.friendlyName.isEmpty {
                #expect(contents.keys.first?.friendlyName == row.friendlyName, "\(row.file)")
            }
            for identity in contents.identities where row.certificates == 2 {
                #expect(identity.chain.isComplete && identity.chain.certificates.count == 2, "\(row.file)")
            }
            let strictly = Result { try PKCS12.read(data, passphrase: passphrase, allowLegacy: false) }
            #expect(Self.code(strictly) == (row.expected == "legacy" ? .legacyEncryption : nil), "\(row.file)")
            // A file without encryption and MAC cannot detect a wrong passphrase.
            guard !["openssl-plain.p12"].contains(row.file) else { continue }
            let wrong = Result { try PKCS12.read(data, passphrase: SecretBytes(utf8: row.passphrase + "x")) }
            #expect(Self.code(wrong) == .wrongPassphrase, "\(row.file)")
        }
    }

    private static func code(_ result: Result<PKCS12.Contents, any Error>) -> PKCS12Error.Code? {
        if case .failure(let error as PKCS12Error) = result { error.code } else { nil }
    }
}

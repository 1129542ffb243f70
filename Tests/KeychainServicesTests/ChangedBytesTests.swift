import Foundation
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import KeychainServices

/// Files, keys and certificates with a changed byte or a missing end must be rejected or read.
@Suite struct ChangedBytesTests {
    /// The distance between the changed bytes.
    private let step = 23

    private func forEachChange(of data: Data, _ body: (Data) throws -> Void) rethrows {
        for index in stride(from: 0, to: data.count, by: step) {
            var changed = data
            changed[index] ^= UInt8(truncatingIfNeeded: 1 << (index % 8))
            try body(changed)
            try body(data.prefix(index))
        }
    }

    /// The codes that such a call may return.
    private static let refusals: Set<OSStatus> = [
        errSecUnknownFormat, errSecDecode, errSecAuthFailed, errSecPassphraseRequired, errSecUnsupportedFormat,
        errSecPkcs12VerifyFailure, errSecDataTooLarge, errSecParam,
    ]

    @Test(arguments: ImportExportTests.files)
    func `a changed file is rejected or read`(row: ImportExportTests.FileRow) throws {
        let data = Data(try Authority.shared.get().openssl(row.command).output)
        forEachChange(of: data) { changed in
            let imported = importing(changed, passphrase: row.passphrase)
            #expect((imported.status == errSecSuccess) == !imported.items.isEmpty)
            #expect(imported.status == errSecSuccess || Self.refusals.contains(imported.status), "\(imported.status)")
        }
    }

    @Test(arguments: KeyKind.allCases, [true, false])
    func `a changed key is rejected or read`(kind: KeyKind, isPrivate: Bool) throws {
        let privateKey = try KeyFixture.key(kind, .memory)
        let whole = isPrivate ? privateKey : try #require(SecKeyCopyPublicKey(privateKey))
        let attributes = try #require(SecKeyCopyAttributes(whole))
        let parameters = [
            kSecAttrKeyType: attributes.object(forKey: kSecAttrKeyType) as Any,
            kSecAttrKeyClass: attributes.object(forKey: kSecAttrKeyClass) as Any,
        ]
        let bytes = try #require(representation(of: whole).value)
        forEachChange(of: bytes) { changed in
            let found = key(from: changed, parameters)
            #expect((found.value == nil) == (found.status == errSecParam))
            guard let key = found.value else { return }
            #expect(SecKeyCopyAttributes(key) != nil && SecKeyCopyPublicKey(key) != nil)
            for algorithm in [SecKeyAlgorithm.rsaSignatureMessagePKCS1v15SHA256, .ecdsaSignatureMessageX962SHA256] {
                let signature = isPrivate ? sign(key, algorithm, changed).value : nil
                #expect(verify(key, algorithm, changed, changed).value == false)
                if let signature { _ = verify(key, algorithm, changed, signature) }
            }
        }
    }

    @Test(arguments: ["leaf", "rsa"])
    func `a changed certificate is rejected or read`(name: String) throws {
        let anchors = [try Authority.certificate("root")] as CFArray
        let intermediate = try Authority.certificate("intermediate")
        let whole = try Authority.certificate(name).certificate.der
        try forEachChange(of: whole) { changed in
            guard changed != whole, let leaf = SecCertificateCreateWithData(nil, changed as CFData) else { return }
            var made: SecTrust?
            unsafe SecTrustCreateWithCertificates(
                [leaf, intermediate] as CFArray, SecPolicyCreateSSL(true, "web.example"), &made)
            let trust = try #require(made)
            SecTrustSetAnchorCertificates(trust, anchors)
            var error: CFError?
            #expect(unsafe !SecTrustEvaluateWithError(trust, &error))
            #expect(error != nil)
            _ = (SecTrustCopyCertificateChain(trust), SecTrustCopyProperties(trust), SecTrustCopyKey(trust))
            guard let exceptions = SecTrustCopyExceptions(trust) else { return }
            #expect(SecTrustSetExceptions(trust, exceptions))
            _ = isTrusted(trust)
        }
    }
}

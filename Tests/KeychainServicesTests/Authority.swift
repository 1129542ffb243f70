import Foundation
import TestSupport
import Testing

@testable import KeychainServices

/// A root, an intermediate, and certificates below it, made once per process by the `openssl` command.
final class Authority: Sendable {
    static let shared = Result { try Authority() }
    let directory: TemporaryDirectory

    private init() throws {
        directory = try TemporaryDirectory()
        try openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout root.key -out root.pem -days 30",
            "-subj", "/C=DE/O=Example  Trust/CN=Root")
        try issue("intermediate", by: "root", "/O=Example/CN=Intermediate", "basicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=keyCertSign")
        let server = "extendedKeyUsage=serverAuth\nsubjectAltName=DNS:web.example,IP:127.0.0.1,email:web@example.org"
        try issue("leaf", by: "intermediate", "/O=Example/CN=web.example/emailAddress=post@example.org", server)
        try issue("rsa", by: "intermediate", "/CN=rsa.example", server, key: "rsa:2048")
        try issue("client", by: "intermediate", "/CN=client", "extendedKeyUsage=clientAuth")
        try issue("nameless", by: "intermediate", "/O=Nameless", "basicConstraints=CA:FALSE")
        try issue(
            "anything", by: "intermediate", "/CN=anything",
            "extendedKeyUsage=anyExtendedKeyUsage\nsubjectAltName=DNS:any.example")
        try issue(
            "mail", by: "root", "/CN=mail",
            "basicConstraints=critical,CA:TRUE\nkeyUsage=keyCertSign\nextendedKeyUsage=emailProtection")
        try issue(
            "anythingByMail", by: "mail", "/CN=anything",
            "extendedKeyUsage=anyExtendedKeyUsage\nsubjectAltName=DNS:any.example")
        try issue(
            "seal", by: "intermediate", "/CN=seal",
            "keyUsage=critical,cRLSign\nextendedKeyUsage=anyExtendedKeyUsage\nsubjectAltName=DNS:any.example")
        try issue("small", by: "intermediate", "/CN=small", server, key: "rsa:1024")
        try issue("strange", by: "intermediate", "/CN=strange", "1.2.3.4=critical,DER:0500")
        try issue("deep", by: "intermediate", "/CN=deep", "basicConstraints=critical,CA:TRUE\nkeyUsage=keyCertSign")
        try issue("tooDeep", by: "deep", "/CN=too deep", server)
        try issue("presumed", by: "nameless", "/CN=presumed", server)
        try issue(
            "narrow", by: "root", "/CN=narrow",
            "basicConstraints=critical,CA:TRUE\nkeyUsage=keyCertSign\nnameConstraints=permitted;DNS:narrow.example")
        try issue("outside", by: "narrow", "/CN=outside", server)
        try openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout own.key -out own.pem -days 30",
            "-subj", "/CN=own")
        // The intermediate also has a certificate of another authority.
        try openssl(
            "x509 -req -in intermediate.csr -CA own.pem -CAkey own.key -CAcreateserial -days 20 "
                + "-extfile intermediate.ext -out twin.pem")
    }

    @discardableResult
    func openssl(_ words: String, _ further: String...) throws -> RunResult {
        let result = try run(
            "openssl", words.split(separator: " ").map(String.init) + further, directory: directory.path)
        try #require(result.status == 0, "openssl \(words): \(result.stderr)")
        return result
    }

    private func issue(
        _ name: String, by issuer: String, _ subject: String, _ extensions: String, key: String = "ec"
    ) throws {
        let curve = key == "ec" ? "-pkeyopt ec_paramgen_curve:P-256" : ""
        try openssl("req -newkey \(key) \(curve) -nodes -keyout \(name).key -out \(name).csr", "-subj", subject)
        try directory.write(Array(extensions.utf8), to: "\(name).ext")
        try openssl(
            "x509 -req -in \(name).csr -CA \(issuer).pem -CAkey \(issuer).key -CAcreateserial -days 20 "
                + "-extfile \(name).ext -out \(name).pem")
        try openssl("x509 -in \(name).pem -outform DER -out \(name).der")
    }

    func data(_ name: String) throws -> Data { Data(try directory.read(name)) }

    /// A certificate, by its file name.
    static func certificate(_ name: String) throws -> SecCertificate {
        let authority = try shared.get()
        let file = "\(name).der"
        if !FileManager.default.fileExists(atPath: authority.directory.file(file)) {
            let der = try authority.openssl("x509 -in \(name).pem -outform DER").output
            return try #require(SecCertificateCreateWithData(nil, Data(der) as CFData))
        }
        return try #require(SecCertificateCreateWithData(nil, authority.data(file) as CFData))
    }

    /// An identity in memory.
    static func identity(_ name: String) throws -> SecIdentity {
        let key = try #require(try importing(shared.get().data("\(name).key")).items.first as? SecKey)
        return try #require(SecIdentityCreate(nil, certificate(name), key))
    }
}

/// The result of SecItemImport.
struct Imported {
    let status: OSStatus
    let items: [AnyObject]
    let format: SecExternalFormat
    let type: SecExternalItemType
}

func importing(
    _ data: Data, passphrase: String? = nil, flags: SecKeyImportExportFlags = []
) -> Imported {
    var format = SecExternalFormat.formatUnknown
    var type = SecExternalItemType.itemTypeUnknown
    var items: CFArray?
    var parameters = SecItemImportExportKeyParameters()
    parameters.flags = flags
    let secret = passphrase.map { NSString(string: $0) }
    unsafe parameters.passphrase = secret.map { unsafe Unmanaged.passUnretained($0 as AnyObject) }
    let status = withExtendedLifetime(secret) {
        unsafe SecItemImport(data as CFData, nil, &format, &type, [], &parameters, nil, &items)
    }
    return Imported(
        status: status, items: items.map { $0.map { $0 as AnyObject } } ?? [], format: format, type: type)
}

func exporting(
    _ item: AnyObject, _ format: SecExternalFormat, _ flags: SecItemImportExportFlags = [], passphrase: String? = nil
) -> (status: OSStatus, data: Data?) {
    var data: CFData?
    var parameters = SecItemImportExportKeyParameters()
    let secret = passphrase.map { NSString(string: $0) }
    unsafe parameters.passphrase = secret.map { unsafe Unmanaged.passUnretained($0 as AnyObject) }
    let status = withExtendedLifetime(secret) {
        unsafe SecItemExport(item, format, flags, &parameters, &data)
    }
    return (status, data as Data?)
}

/// Whether the leaf is trusted, ignoring the reason.
func isTrusted(_ trust: SecTrust) -> Bool { SecTrustEvaluateWithError(trust, nil) }

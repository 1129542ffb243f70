import Foundation
import KeyfobOpenSSL
import TestSupport
import Testing

/// A key and a signature scheme.
struct SigningRow: CustomTestStringConvertible, Sendable {
    let algorithm: KeyAlgorithm
    let scheme: SignatureScheme
    /// The name of the signature in openssl.
    let name: String
    var testDescription: String { "\(algorithm), \(scheme.displayName)" }

    static let all = [
        SigningRow(algorithm: .rsa(bits: 2048), scheme: .rsaPKCS1(.sha256), name: "sha256WithRSAEncryption"),
        SigningRow(algorithm: .rsa(bits: 2048), scheme: .rsaPKCS1(.sha512), name: "sha512WithRSAEncryption"),
        SigningRow(algorithm: .rsa(bits: 2048), scheme: .rsaPSS(.sha256), name: "rsassaPss"),
        SigningRow(algorithm: .rsa(bits: 2048), scheme: .rsaPSS(.sha384), name: "rsassaPss"),
        SigningRow(algorithm: .ec(.p256), scheme: .ecdsa(.sha256), name: "ecdsa-with-SHA256"),
        SigningRow(algorithm: .ec(.p384), scheme: .ecdsa(.sha384), name: "ecdsa-with-SHA384"),
        SigningRow(algorithm: .ec(.p521), scheme: .ecdsa(.sha512), name: "ecdsa-with-SHA512"),
        SigningRow(algorithm: .ed25519, scheme: .ed25519, name: "ED25519"),
    ]
}

@Suite struct IssuanceTests {
    private static func names() throws -> [GeneralName] {
        [
            .dns("www.example.org"), .dns("*.example.org"), try #require(GeneralName(ipAddress: "192.0.2.7")),
            try #require(GeneralName(ipAddress: "2001:db8::1")), .email("ops@example.org"),
            .uri("spiffe://example.org/web"),
            try .otherName(OID(rawValue: "1.3.6.1.4.1.311.20.2.3"), text: "web@example.org"),
            .directoryName(try DistinguishedName(commonName: "other")),
            try .registeredID(OID(rawValue: "1.2.3.4")),
        ]
    }

    private static let namesInText = """
        DNS:www.example.org, DNS:*.example.org, IP Address:192.0.2.7, IP Address:2001:DB8:0:0:0:0:0:1, \
        email:ops@example.org, URI:spiffe://example.org/web, othername: UPN::web@example.org, \
        DirName:/CN=other, Registered ID:1.2.3.4
        """

    private static func sign(_ key: PrivateKey) -> ([UInt8], SignatureScheme) throws -> [UInt8] {
        { [UInt8](try key.sign($0, using: $1)) }
    }

    @Test(arguments: SigningRow.all)
    func `openssl verifies a request and reads back the requested fields`(_ row: SigningRow) throws {
        let openssl = try OpenSSLCommand()
        let key = try PrivateKey.generate(row.algorithm)
        var wishes = CertificateExtensions.endEntity(
            try Self.names(), [.serverAuth, .clientAuth], key: row.algorithm)
        wishes.others = [.init(type: OID(rawValue: "1.3.6.1.5.5.7.1.24"), isCritical: false,
            value: Data([0x30, 3, 2, 1, 5]))]
        let subject = try DistinguishedName(parsing: "CN=www.example.org,OU=Web,O=Exämple\\, Inc,C=DE")
        let unsigned = try UnsignedRequest(
            subject: subject, publicKey: key.publicKey, extensions: wishes, scheme: row.scheme)
        let request = try unsigned.signed(by: Self.sign(key))
        #expect(request.hasValidSignature)
        try openssl.directory.write(request.pem.utf8, to: "web.csr")
        #expect(try openssl("req -in web.csr -verify -noout").stderr.contains("verify OK"))
        let text = try openssl("req -in web.csr -noout -text -nameopt RFC2253,-esc_msb,utf8").stdout
        for line in [
            "Subject: CN=www.example.org,OU=Web,O=Exämple\\, Inc,C=DE", "Signature Algorithm: \(row.name)",
            "TLS Web Server Authentication, TLS Web Client Authentication", "X509v3 Basic Constraints: critical",
            "CA:FALSE", "TLS Feature:", "status_request",
        ] { #expect(text.contains(line), "\(line) is missing: \(text)") }
        #expect(text.contains(Self.namesInText), "\(text)")

        // Keyfob reads the file that the openssl command has read.
        let again = try CertificationRequest.load(openssl.data("web.csr"))
        #expect(again == request && again.subject == subject && again.publicKey == key.publicKey)
        #expect(again.extensions == wishes)
        try openssl("req -in web.csr -outform DER -out web.der")
        #expect(try CertificationRequest.load(openssl.data("web.der")) == request)
    }

    @Test(arguments: SigningRow.all)
    func `openssl verifies a certificate of an authority with any kind of key`(_ row: SigningRow) throws {
        let openssl = try OpenSSLCommand()
        let rootKey = try PrivateKey.generate(row.algorithm)
        let key = try PrivateKey.generate(.ec(.p256))
        let now = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))
        let root = try UnsignedCertificate(
            subject: DistinguishedName(commonName: "Root"), publicKey: rootKey.publicKey,
            extensions: .authority(pathLength: 0), issuer: nil, notBefore: now - 60, notAfter: now + 86400,
            scheme: row.scheme
        ).signed(by: Self.sign(rootKey))
        #expect(root.isSelfSigned && root.isCA && root.pathLength == 0 && root.keyUsage == [.keyCertSign, .crlSign])
        let leaf = try UnsignedCertificate(
            subject: .empty, publicKey: key.publicKey,
            extensions: .endEntity([.dns("www.example.org")], [.serverAuth], key: .ec(.p256)), issuer: root,
            notBefore: now - 60, notAfter: now + 3600, scheme: row.scheme
        ).signed(by: Self.sign(rootKey))
        #expect(leaf.isIssued(by: root) && leaf.notAfter == now + 3600 && leaf.notBefore == now - 60)
        #expect(leaf.criticalExtensions.contains(OID(rawValue: "2.5.29.17")))
        #expect(leaf.authorityKeyIdentifier == root.subjectKeyIdentifier)
        #expect(leaf.serialNumber.count == 16 && leaf.serialNumber != root.serialNumber)
        try openssl.directory.write(root.pem.utf8, to: "root.pem")
        try openssl.directory.write(leaf.pem.utf8, to: "leaf.pem")
        let result = try openssl(
            "verify -x509_strict -CAfile root.pem -purpose sslserver -verify_hostname www.example.org leaf.pem")
        #expect(result.stdout == "leaf.pem: OK\n")
        #expect(try openssl("x509 -in leaf.pem -noout -text").stdout.contains("Signature Algorithm: \(row.name)"))
    }

    @Test(arguments: [
        ([1], true), ([0x80], true), ([0x7F] + [UInt8](repeating: 0xFF, count: 19), true),
        ([0xFF] + [UInt8](repeating: 0, count: 18), true), ([0, 0x7F] + [UInt8](repeating: 0, count: 19), true),
        ([0x80] + [UInt8](repeating: 0, count: 19), false), ([1] + [UInt8](repeating: 0, count: 20), false),
        ([], false), ([0, 0], false),
    ] as [([UInt8], Bool)])
    func `an encoded serial number has at most 20 octets`(serial: [UInt8], isFine: Bool) throws {
        let key = try PrivateKey.generate(.ec(.p256))
        func make() throws -> Certificate {
            try UnsignedCertificate(
                subject: DistinguishedName(commonName: "Root"), publicKey: key.publicKey, extensions: .authority(),
                issuer: nil, notBefore: Date(), notAfter: Date() + 3600, serialNumber: Data(serial)
            ).signed(by: Self.sign(key))
        }
        guard isFine else {
            let error = #expect(throws: CryptoError.self) { try make() }
            #expect(error?.code == .invalidInput)
            return
        }
        let openssl = try OpenSSLCommand()
        try openssl.directory.write(make().pem.utf8, to: "root.pem")
        let digits = Data(serial.drop { $0 == 0 }).map { String(format: "%02X", $0) }.joined()
        #expect(try openssl("x509 -in root.pem -noout -serial").stdout == "serial=\(digits)\n")
    }

    @Test func `a request made by openssl is read, issued and accepted`() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        try openssl.directory.write(
            "[req]\ndistinguished_name=d\nreq_extensions=e\n[d]\n[e]\nsubjectAltName=DNS:a.example,IP:192.0.2.1\n".utf8,
            to: "r.conf")
        try openssl(
            "req -new -newkey rsa:2048 -nodes -keyout a.key -out a.csr -config r.conf", and: ["-subj", "/CN=a.example"])
        let request = try CertificationRequest.load(openssl.data("a.csr"))
        #expect(request.hasValidSignature)
        #expect(request.extensions.subjectAlternativeNames == [.dns("a.example"), .ip(Data([192, 0, 2, 1]))])
        let authority = try openssl.certificate("root.pem")
        let key = try PrivateKey.load(openssl.data("root.key"))
        let certificate = try UnsignedCertificate(
            subject: request.subject, publicKey: request.publicKey, extensions: request.extensions, issuer: authority,
            notBefore: Date() - 60, notAfter: Date() + 3600
        ).signed(by: Self.sign(key))
        try openssl.directory.write(certificate.pem.utf8, to: "a.pem")
        #expect(try openssl("verify -CAfile root.pem a.pem").stdout == "a.pem: OK\n")
        var bytes = [UInt8](request.der)
        bytes[bytes.count - 1] ^= 1
        #expect(try !CertificationRequest(der: Data(bytes)).hasValidSignature)
    }

    @Test func `a signature of another key is refused`() async throws {
        let key = try PrivateKey.generate(.ec(.p256))
        let other = try PrivateKey.generate(.ec(.p256))
        let unsigned = try UnsignedRequest(
            subject: DistinguishedName(commonName: "web"), publicKey: key.publicKey, extensions: .init())
        let error = #expect(throws: CryptoError.self) { try unsigned.signed(by: Self.sign(other)) }
        #expect(error?.code == .authenticationFailed)
        let request = try await unsigned.signed { bytes, scheme async throws -> [UInt8] in
            await Task.yield()
            return [UInt8](try key.sign(bytes, using: scheme))
        }
        #expect(request.hasValidSignature)
    }

    @Test(arguments: [("FALSE", nil), ("TRUE", 0)] as [(String, Int?)])
    func `only the next certificate of an authority requests a path length`(value: String, length: Int?) throws {
        let openssl = try OpenSSLCommand()
        try openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout web.key -out web.pem -days 5 "
                + "-subj /CN=web -config /dev/null -addext basicConstraints=critical,CA:\(value),pathlen:0")
        let certificate = try openssl.certificate("web.pem")
        #expect(certificate.isCA == (length != nil) && certificate.pathLength == 0)
        let wishes = certificate.renewableExtensions
        #expect(wishes.basicConstraints == BasicConstraints(isAuthority: length != nil, pathLength: length))
        let key = try PrivateKey.load(openssl.data("web.key"))
        let request = try UnsignedRequest(
            subject: certificate.subject, publicKey: key.publicKey, extensions: wishes
        ).signed(by: Self.sign(key))
        try openssl.directory.write(request.pem.utf8, to: "web.csr")
        let text = try openssl("req -in web.csr -noout -text").stdout
        #expect(text.contains("CA:\(value)") && text.contains("pathlen:0") == (length != nil), "\(text)")
    }

    struct Refusal: CustomTestStringConvertible {
        let testDescription: String
        let make: @Sendable () throws -> Void
    }

    static let refusals = [
        Refusal(testDescription: "a country of three letters") { _ = try DistinguishedName(parsing: "C=DEU") },
        Refusal(testDescription: "an unknown type") { _ = try DistinguishedName(parsing: "XX=1") },
        Refusal(testDescription: "no type") { _ = try DistinguishedName(parsing: "web") },
        Refusal(testDescription: "an empty part") { _ = try DistinguishedName(parsing: "CN=a,,O=b") },
        Refusal(testDescription: "an empty value") { _ = try DistinguishedName(commonName: "") },
        Refusal(testDescription: "a mark that is not closed") { _ = try DistinguishedName(parsing: "CN=\"a,O=b") },
        Refusal(testDescription: "text after a mark") { _ = try DistinguishedName(parsing: "CN=\"a\"b") },
        Refusal(testDescription: "a mark within a value") { _ = try DistinguishedName(parsing: "CN=a \"b\" c") },
        Refusal(testDescription: "a semicolon") { _ = try DistinguishedName(parsing: "CN=a;O=b") },
        Refusal(testDescription: "a less-than sign") { _ = try DistinguishedName(parsing: "CN=a<b") },
        Refusal(testDescription: "a greater-than sign") { _ = try DistinguishedName(parsing: "CN=a>b") },
        Refusal(testDescription: "a plus sign") { _ = try DistinguishedName(parsing: "CN=a+b") },
        Refusal(testDescription: "a backslash before a letter") { _ = try DistinguishedName(parsing: "CN=\\web") },
        Refusal(testDescription: "a backslash before one digit") { _ = try DistinguishedName(parsing: "CN=a\\4x") },
        Refusal(testDescription: "a backslash before a sign") { _ = try DistinguishedName(parsing: "O=\\-0") },
        Refusal(testDescription: "a backslash before a letter in marks") {
            _ = try DistinguishedName(parsing: "CN=\"a\\xb\"")
        },
        Refusal(testDescription: "a backslash at the end") { _ = try DistinguishedName(parsing: "CN=a\\") },
        Refusal(testDescription: "DER of no string") { _ = try DistinguishedName(parsing: "CN=#020101") },
        Refusal(testDescription: "a digit too few") { _ = try DistinguishedName(parsing: "CN=#0c016") },
        Refusal(testDescription: "a sign for a digit") { _ = try DistinguishedName(parsing: "CN=#0c02-061") },
        Refusal(testDescription: "a type that begins with an accent") {
            _ = try DistinguishedName(parsing: "O=a,\u{301}CN=b")
        },
        // 1.40 would be encoded like 2.0.
        Refusal(testDescription: "an identifier with an ambiguous encoding") {
            _ = try DistinguishedName(parsing: "1.40.1=x")
        },
        Refusal(testDescription: "a sign in an identifier") {
            try request(.otherName(OID(rawValue: "1.2.+3"), text: "x"))
        },
        Refusal(testDescription: "an identifier with a component of 190 digits") {
            _ = try DistinguishedName(parsing: "1.2.\(String(repeating: "9", count: 190))=x")
        },
        Refusal(testDescription: "text that is not hexadecimal") { _ = try DistinguishedName(parsing: "CN=#abx") },
        Refusal(testDescription: "65 characters") {
            _ = try DistinguishedName(commonName: String(repeating: "a", count: 65))
        },
        Refusal(testDescription: "a host name with a blank") { try request(.dns("a b")) },
        Refusal(testDescription: "a host name that is not ASCII") { try request(.dns("bücher.example")) },
        Refusal(testDescription: "an empty host name") { try request(.dns("")) },
        Refusal(testDescription: "an address without @") { try request(.email("ops")) },
        Refusal(testDescription: "an address without a domain") { try request(.email("ops@")) },
        Refusal(testDescription: "an address without a name") { try request(.email("@b.example")) },
        Refusal(testDescription: "an address with two of @") { try request(.email("a@@b.example")) },
        Refusal(testDescription: "an address that is one @") { try request(.email("@")) },
        Refusal(testDescription: "a URI without a scheme") { try request(.uri("example.org")) },
        Refusal(testDescription: "five bytes of address") { try request(.ip(Data(count: 5))) },
        Refusal(testDescription: "SHA-1") { try request(.dns("a"), .ecdsa(.sha1)) },
        Refusal(testDescription: "a scheme of another kind of key") { try request(.dns("a"), .ed25519) },
        Refusal(testDescription: "an end before the beginning") { try certificate(by: nil, from: 10, to: 5) },
        Refusal(testDescription: "an issuer that is none") {
            let key = try PrivateKey.generate(.ec(.p256))
            let leaf = try UnsignedCertificate(
                subject: DistinguishedName(commonName: "leaf"), publicKey: key.publicKey,
                extensions: .endEntity([], [], key: .ec(.p256)), issuer: nil, notBefore: Date(), notAfter: Date() + 9
            ).signed { [UInt8](try key.sign($0, using: $1)) }
            try certificate(by: leaf, from: 0, to: 5)
        },
    ]

    private static func request(_ name: GeneralName, _ scheme: SignatureScheme? = nil) throws {
        let key = try PrivateKey.generate(.ec(.p256))
        var extensions = CertificateExtensions()
        extensions.subjectAlternativeNames = [name]
        _ = try UnsignedRequest(
            subject: .empty, publicKey: key.publicKey, extensions: extensions, scheme: scheme)
    }

    private static func certificate(by issuer: Certificate?, from start: Double, to end: Double) throws {
        let key = try PrivateKey.generate(.ec(.p256))
        _ = try UnsignedCertificate(
            subject: DistinguishedName(commonName: "x"), publicKey: key.publicKey, extensions: .init(), issuer: issuer,
            notBefore: Date() + start, notAfter: Date() + end)
    }

    @Test(arguments: ["a@b", "a.b+c@b.example", "\"a@b\"@c.example", "a@[192.0.2.1]"])
    func `an e-mail address has a name and a domain`(_ address: String) throws {
        try Self.request(.email(address))
    }

    @Test(arguments: refusals) func `a value that cannot be encoded is refused`(_ row: Refusal) {
        #expect(throws: CryptoError.self) { try row.make() }
    }

    @Test(arguments: [
        ("CN=web,O=Example", "/O=Example/CN=web"), ("/C=DE/O=A\\/B/CN=x", "/C=DE/O=A\\/B/CN=x"),
        ("CN=a\\,b+OU=u, 2.5.4.10 = O\\20", "/O=O /CN=a,b+OU=u"), ("cn=\\C3\\BC", "/CN=ü"),
        // RFC 2253 section 4 allows quotation marks. In RFC 4514 a backslash makes them literal.
        ("CN=\"a, b+c\" + OU = \" u \",O=x", "/O=x/CN=a, b\\+c+OU= u "),
        ("CN=a \\\"b\\\" c,O=x", "/O=x/CN=a \"b\" c"), ("/CN=a \"b\";<c>", "/CN=a \"b\";<c>"),
        ("CN=\"a;<b>\",O=\\;\\<\\>\\=#=\\ ", "/O=;<>=#= /CN=a;<b>"),
        ("CN=\"say \\\"x\\\"\"", "/CN=say \"x\""), ("/CN=\"a\"", "/CN=\"a\""),
        // An escaped backslash does not escape the space after it. A combining accent after a separator or quotation
        // mark does not change it.
        ("CN=a\\\\ ,O=x", "/O=x/CN=a\\\\"), ("CN=a\\\\\\  ,O=x", "/O=x/CN=a\\\\ "),
        ("CN=\u{301}a,O=\"\u{301}x,\"", "/O=\u{301}x,/CN=\u{301}a"),
        // RFC 4514 section 2.4: DER in hexadecimal, here a UTF8String and a PrintableString.
        ("2.5.4.3=#0c03c3bc61,O=#130161", "/O=a/CN=üa"), ("CN=\\#a", "/CN=#a"), ("/CN=#0c0161", "/CN=#0c0161"),
        ("E=a@b,postalCode=1", "/postalCode=1/emailAddress=a@b"),
        // A sign is not a hexadecimal digit.
        ("CN=C\\+1,O=-0", "/O=-0/CN=C\\+1"), ("/CN=C\\+1/O=\\-0", "/CN=C\\+1/O=-0"),
    ])
    func `a name in text is the one that openssl makes of it`(_ text: String, _ subject: String) throws {
        let openssl = try OpenSSLCommand()
        try openssl(
            "req -new -utf8 -multivalue-rdn -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout k -out r",
            and: ["-subj", subject])
        let expected = try CertificationRequest.load(openssl.data("r")).subject
        #expect(try DistinguishedName(parsing: text).description == expected.description)
    }

    @Test(arguments: [
        (-62_135_596_800, "00010101000000Z"), (-631_152_001, "19491231235959Z"), (-631_152_000, "500101000000Z"),
        (951_782_400, "000229000000Z"), (2_524_607_999, "491231235959Z"), (2_524_608_000, "20500101000000Z"),
        (253_402_300_799, "99991231235959Z"),
    ])
    func `times are written as RFC 5280 requires`(_ seconds: Int, _ text: String) throws {
        let key = try PrivateKey.generate(.ed25519)
        let date = Date(timeIntervalSince1970: Double(seconds))
        let unsigned = try UnsignedCertificate(
            subject: DistinguishedName(commonName: "x"), publicKey: key.publicKey, extensions: .init(), issuer: nil,
            notBefore: date, notAfter: Date(timeIntervalSince1970: 253_402_300_799 + 1))
        #expect(Data(unsigned.toBeSigned).firstRange(of: Data(text.utf8)) != nil)
        let certificate = try unsigned.signed { [UInt8](try key.sign($0, using: $1)) }
        #expect(certificate.notBefore == date)
    }

    @Test func `the system's authorities are those of its bundle`() throws {
        let path = try #require(SystemRoots.candidates.first { FileManager.default.fileExists(atPath: $0) })
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let count = text.components(separatedBy: "-----BEGIN CERTIFICATE-----").count - 1
        let roots = try SystemRoots.load()
        #expect(count > 50 && roots.count == count)
        #expect(roots.allSatisfy { $0.isCA || $0.version < 3 })
    }
}

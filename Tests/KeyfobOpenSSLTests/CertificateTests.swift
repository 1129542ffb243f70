import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

@Suite("Certificates")
struct CertificateTests {
    @Test("The fields of a certificate are those that openssl prints")
    func fields() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let leaf = try openssl.certificate("leaf.pem")
        func printed(_ options: String) throws -> String {
            try openssl("x509 -in leaf.pem -noout \(options)").stdout.trimmingCharacters(in: .newlines)
        }
        func hex(_ data: Data, _ separator: String = "") -> String {
            data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: separator)
        }
        #expect(try printed("-serial") == "serial=" + hex(leaf.serialNumber.drop { $0 == 0 }))
        #expect(leaf.serialNumberDER == Data([2, UInt8(leaf.serialNumber.count)]) + leaf.serialNumber)
        #expect(try printed("-fingerprint -sha256").hasSuffix("=" + hex(leaf.sha256Fingerprint, ":")))
        #expect(try printed("-fingerprint -sha1").hasSuffix("=" + hex(leaf.sha1Fingerprint, ":")))
        #expect(try printed("-subject -nameopt RFC2253,-esc_msb,utf8") == "subject=" + leaf.subject.description)
        #expect(leaf.subject.description == "CN=web.example,O=Exämple\\, Inc,C=DE")
        #expect(leaf.subject.commonName == "web.example" && leaf.subject.organization == "Exämple, Inc")
        #expect(leaf.issuer.commonName == "Intermediate" && leaf.subjectSummary == "web.example")
        #expect(leaf.version == 3)
        #expect(leaf.signatureAlgorithm == "ecdsa-with-SHA256")
        #expect(leaf.notAfter.timeIntervalSince(leaf.notBefore) == 30 * 86400)
        #expect(abs(leaf.notBefore.timeIntervalSinceNow) < 120)
        #expect(leaf.isValid(on: Date()) && !leaf.isValid(on: Date(timeIntervalSinceNow: 31 * 86400)))
        #expect(leaf.subjectAlternativeNames == [
            .dns("web.example"), .dns("*.wild.example"), .ip(Data([127, 0, 0, 1])), .email("ops@web.example"),
            .uri("https://web.example/"),
        ])
        #expect(leaf.emailAddresses == ["ops@web.example"] && leaf.dnsNames == ["web.example", "*.wild.example"])
        #expect(leaf.subjectKeyIdentifier == leaf.publicKey.identifier)
        let intermediate = try openssl.certificate("intermediate.pem")
        #expect(leaf.authorityKeyIdentifier == intermediate.subjectKeyIdentifier)
        #expect(leaf.keyUsage == .digitalSignature && intermediate.keyUsage == [.keyCertSign, .crlSign])
        #expect(leaf.extendedKeyUsage == [.serverAuth])
        #expect(!leaf.isCA && intermediate.isCA && intermediate.pathLength == 0 && leaf.pathLength == nil)
        #expect(leaf.publicKey.algorithm == .ec(.p256) && leaf.publicKey.size == 256)
        #expect(try PrivateKey.load(openssl.data("leaf.key")).publicKey == leaf.publicKey)
        #expect(try openssl("x509 -in leaf.pem").stdout == leaf.pem)
    }

    @Test(arguments: [
        ("251", "fb"), ("-5", "-05"), ("0", "00"), ("127", "7f"), ("256", "0100"), ("-1", "-01"), ("-128", "-80"),
        ("-255", "-ff"), ("-256", "-0100"), ("-512", "-0200"),
    ])
    func `a serial number in text is the number that openssl prints`(_ number: String, _ text: String) throws {
        let openssl = try OpenSSLCommand()
        try openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout k -out c.pem -subj /CN=x "
                + "-set_serial \(number)")
        let printed = try openssl("x509 -in c.pem -noout -serial").stdout.trimmingCharacters(in: .newlines)
        #expect(printed.lowercased() == "serial=" + text)
        #expect(try openssl.certificate("c.pem").serialNumberText == text)
    }

    @Test("A version 1 certificate without extensions is read")
    func versionOne() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        try openssl("req -newkey rsa:2048 -nodes -keyout old.key -out old.csr -subj /CN=old")
        try openssl("x509 -req -in old.csr -signkey old.key -out old.pem -days 1")
        let old = try openssl.certificate("old.pem")
        #expect(old.version == 1 && old.keyUsage == nil && old.extendedKeyUsage.isEmpty && !old.isCA)
        #expect(old.isSelfSigned && old.publicKey.algorithm == .rsa(bits: 2048))
    }

    @Test("PEM with text, CR LF and other blocks, DER, and bundles are read")
    func encodings() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let leaf = try openssl.certificate("leaf.pem")
        let root = try openssl.certificate("root.pem")
        let key = try #require(try PrivateKey.load(openssl.data("leaf.key")).pkcs8PEM(passphrase: nil).copyString())
        let bundle = "# bundle: text\n" + key + leaf.pem + "between\n" + root.pem + "after"
        for text in [bundle, bundle.replacingOccurrences(of: "\n", with: "\r\n")] {
            #expect(try Certificate.load(Data(text.utf8)) == [leaf, root])
            #expect(try Certificate(pem: text) == leaf)
        }
        #expect(try Certificate.load(leaf.der) == [leaf])
        let slice = (Data("some bytes".utf8) + leaf.der).dropFirst(10)
        #expect(try Certificate.load(slice).first?.der.first == 0x30)
        #expect(try Certificate.load(Data(bundle.utf8).dropFirst(3)) == [leaf, root])
        #expect(keyFileCode { _ = try Certificate.load(Data(key.utf8)) } == .notFound)
        #expect(keyFileCode { _ = try Certificate.load(Data()) } == .notFound)
        #expect(keyFileCode { _ = try Certificate.load(Data("nothing".utf8)) } == .unsupported)
        #expect(keyFileCode { _ = try Certificate(pem: String(leaf.pem.dropLast(30))) } == .damaged)
        #expect(keyFileCode { _ = try Certificate(der: leaf.der + [0]) } == .damaged)
        for count in 0..<leaf.der.count {
            #expect(keyFileCode { _ = try Certificate(der: leaf.der.prefix(count)) } == .damaged)
        }
    }

    @Test("A certificate for a point off its curve is listed, but refused in use and in files")
    func unusableKey() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let intermediate = try openssl.certificate("intermediate.pem")
        let root = try openssl.certificate("root.pem")
        let leaf = try openssl.certificate("leaf.pem")
        var der = [UInt8](root.der)
        let point = [UInt8](root.publicKey.bits)
        let start = try #require(der.indices.first { der.dropFirst($0).starts(with: point) })
        der[start + point.count - 1] ^= 1
        let broken = try Certificate(der: Data(der))
        #expect(broken.subject == root.subject && broken.publicKey.algorithm == .ec(.p256))
        #expect(keyFileCode { try broken.validate() } == .damaged)
        #expect(keyFileCode { _ = try Certificate.load(Data(der)) } == .damaged)
        #expect(keyFileCode { _ = try Certificate(pem: broken.pem) } == .damaged)
        #expect(keyFileCode { _ = try Certificate.all(inPEM: Data((leaf.pem + broken.pem).utf8)) } == .damaged)
        #expect(!intermediate.isIssued(by: broken) && !broken.isSelfSigned)
        // It has no effect beside the real certificate.
        let result = try CertificateChain.verify(
            leaf: leaf, intermediates: [broken, intermediate], anchors: [root])
        #expect(result == .trusted([leaf, intermediate, root]))
    }

    @Test("No single changed byte crashes the reader")
    func changedBytes() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let der = [UInt8](try openssl.certificate("leaf.pem").der)
        for index in der.indices {
            var changed = der
            changed[index] ^= 0xFF
            do {
                let certificate = try Certificate(der: Data(changed))
                _ = (certificate.subjectAlternativeNames, certificate.keyUsage, certificate.isCA)
                _ = certificate.subjectSummary
                #expect(!certificate.isIssued(by: try openssl.certificate("intermediate.pem")) || changed == der)
            } catch {
                #expect(error is KeyFileError)
            }
        }
    }

    @Test("Apple's normalised name upper-cases, trims and collapses PrintableStrings only")
    func normalizedName() throws {
        // C=de (PrintableString), O="  Acme   Corp " (PrintableString), CN=" a  b" (UTF8String)
        let country = bytes("310b 3009 0603550406 1302 6465")
        let organization = [UInt8](bytes("3117 3015 060355040a 130e")) + Array("  Acme   Corp ".utf8)
        let common = [UInt8](bytes("310e 300c 0603550403 0c05")) + Array(" a  b".utf8)
        let content = country + organization + common
        let name = try DistinguishedName(der: Data([0x30, UInt8(content.count)] + content))
        let expected = bytes("310b 3009 0603550406 1302 4445") + bytes("3112 3010 060355040a 1309")
            + Array("ACME CORP".utf8) + common
        #expect(name.normalized == Data(expected))
        #expect(name.commonName == " a  b")
        #expect(name.description == "CN=\\ a  b,O=\\  Acme   Corp\\ ,C=de")
        #expect(keyFileCode { _ = try DistinguishedName(der: Data([0x31, 0])) } == .damaged)
    }

    @Test("Only the real issuer is accepted, not another certificate of the same name")
    func issuer() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let other = try OpenSSLCommand.withAuthority()
        let leaf = try openssl.certificate("leaf.pem")
        #expect(leaf.isIssued(by: try openssl.certificate("intermediate.pem")))
        #expect(!leaf.isIssued(by: try other.certificate("intermediate.pem")))
        #expect(!leaf.isIssued(by: try openssl.certificate("root.pem")))
        let root = try openssl.certificate("root.pem")
        #expect(root.isSelfIssued && root.isSelfSigned && !leaf.isSelfIssued)
    }

    @Test("Host names match as in RFC 6125", arguments: [
        ("web.example", true), ("WEB.example", true), ("web.example.", true), ("a.wild.example", true),
        ("a.b.wild.example", false), ("wild.example", false), ("127.0.0.1", true), ("127.0.0.2", false),
        ("other.example", false), ("", false), (".", false), ("web.example\0.evil", false), ("::1", false),
        ("bücher.wild.example", true), ("BÜCHER.wild.example.", true), ("wéb.example", false),
        ("ü /.wild.example", false),
    ])
    func hosts(_ host: String, _ expected: Bool) throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let leaf = try openssl.certificate("leaf.pem")
        #expect(leaf.matches(host: host) == expected)
        let result = try CertificateChain.verify(
            leaf: leaf, intermediates: [openssl.certificate("intermediate.pem")],
            anchors: [openssl.certificate("root.pem")],
            host: host)
        #expect((result.failure == nil) == expected)
        if let failure = result.failure { #expect([.hostMismatch, .addressMismatch].contains(failure.code)) }
    }

    @Test("Addresses are written as in RFC 5952", arguments: [
        ("192.0.2.7", "192.0.2.7"), ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"), ("::", "::"), ("0:0:0:0:0:0:0:1", "::1"),
        ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"), ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"),
        ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"), ("::ffff:192.0.2.7", "::ffff:192.0.2.7"),
    ])
    func addressesInText(given: String, text: String) {
        #expect(GeneralName(ipAddress: given)?.ipText == text)
        #expect(GeneralName.ip(Data([1, 2, 3])).ipText != nil && GeneralName.dns(given).ipText == nil)
    }

    @Test("A chain is found in any order, and reports if it is incomplete")
    func order() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let stranger = try OpenSSLCommand.withAuthority()
        let leaf = try openssl.certificate("leaf.pem")
        let intermediate = try openssl.certificate("intermediate.pem")
        let root = try openssl.certificate("root.pem")
        let noise = try [stranger.certificate("intermediate.pem"), stranger.certificate("root.pem"), leaf]
        let chain = CertificateChain.order(leaf: leaf, candidates: noise + [root, intermediate])
        #expect(chain.certificates == [leaf, intermediate, root])
        #expect(chain.isComplete && chain.withoutRoot == [leaf, intermediate])
        let partial = CertificateChain.order(leaf: leaf, candidates: noise + [intermediate])
        #expect(partial.certificates == [leaf, intermediate] && !partial.isComplete)
        #expect(partial.withoutRoot == [leaf, intermediate])
        #expect(CertificateChain.order(leaf: root, candidates: []).isComplete)
    }

    @Test("If two paths lead to a root, the one that is valid throughout is used, and cycles end")
    func crossSigned() throws {
        let keys = try (0..<4).map { _ in try PrivateKey.generate(.ec(.p256)) }
        let old = try authority("old root", keys[0], by: nil, -900 ... -1)
        let new = try authority("new root", keys[1], by: nil, -10 ... 900)
        // Cross-signed; the path to the old root looks longer.
        let byOld = try authority("middle", keys[2], by: (old, keys[0]), -10 ... 500)
        let byNew = try authority("middle", keys[2], by: (new, keys[1]), -10 ... 100)
        let leaf = try authority("leaf", keys[3], by: (byNew, keys[2]), -1 ... 9)
        for candidates in [[old, new, byOld, byNew], [byNew, byOld, new, old]] {
            let chain = CertificateChain.order(leaf: leaf, candidates: candidates)
            #expect(chain.certificates == [leaf, byNew, new] && chain.isComplete)
        }
        // An expired root is better than none.
        #expect(CertificateChain.order(leaf: leaf, candidates: [old, byOld]).certificates == [leaf, byOld, old])
        // Two certificates that signed each other.
        let ring = try authority("new root", keys[1], by: (byNew, keys[2]), -10 ... 950)
        let chain = CertificateChain.order(leaf: leaf, candidates: [ring, byNew])
        #expect(chain.certificates == [leaf, byNew, ring] && !chain.isComplete)
        #expect(CertificateChain.order(leaf: leaf, candidates: [ring, byNew, new]).certificates == [leaf, byNew, new])
    }

    @Test func `only a certificate without dates is valid at any time`() throws {
        let keys = try (0..<3).map { _ in try PrivateKey.generate(.ec(.p256)) }
        let root = try authority("root", keys[0], by: nil, -20 ... 900)
        let stale = try authority("middle", keys[1], by: (root, keys[0]), -20 ... -5)
        let fresh = try authority("middle", keys[1], by: (root, keys[0]), -10 ... 500)
        let leaf = try authority("leaf", keys[2], by: (fresh, keys[1]), -900 ... -100)
        func verify(
            _ undated: Set<Certificate>, _ intermediates: [Certificate], days: Double = 0
        ) throws -> CertificateChain.VerificationResult {
            try CertificateChain.verify(
                leaf: leaf, intermediates: intermediates, anchors: [root], on: Date() + days * 86_400, undated: undated)
        }
        #expect(try verify([], [fresh]).failure?.code == .expired)
        #expect(try verify([root, fresh], [fresh]).failure?.certificate == leaf)
        // The valid one of two issuers is chosen.
        for candidates in [[stale, fresh], [fresh, stale]] {
            #expect(try verify([leaf], candidates) == .trusted([leaf, fresh, root]))
        }
        let expired = try verify([leaf], [stale]).failure
        #expect(expired?.code == .expired && expired?.certificate == stale)
        #expect(try verify([leaf, stale], [stale]) == .trusted([leaf, stale, root]))
        #expect(try verify([leaf, fresh], [fresh], days: 1000).failure?.certificate == root)
        #expect(try verify([leaf, root], [fresh], days: -15).failure?.code == .notYetValid)
        #expect(try verify([leaf, fresh], [fresh], days: -15) == .trusted([leaf, fresh, root]))
    }

    @Test("Verification reports why it fails")
    func verification() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let stranger = try OpenSSLCommand.withAuthority()
        let leaf = try openssl.certificate("leaf.pem")
        let intermediate = try openssl.certificate("intermediate.pem")
        let root = try openssl.certificate("root.pem")
        func code(
            _ intermediates: [Certificate], _ anchors: [Certificate], on date: Date = Date(),
            purpose: CertificateChain.Purpose = .any
        ) throws -> CertificateChain.FailureCode? {
            try CertificateChain.verify(
                leaf: leaf, intermediates: intermediates, anchors: anchors, on: date, purpose: purpose).failure?.code
        }
        let trusted = try CertificateChain.verify(
            leaf: leaf, intermediates: [intermediate], anchors: [root], purpose: .tlsServer)
        #expect(trusted == .trusted([leaf, intermediate, root]))
        #expect(try CertificateChain.verify(leaf: leaf, intermediates: [], anchors: [intermediate])
            == .trusted([leaf, intermediate]))
        #expect(try code([], [root]) == .issuerNotFound)
        #expect(try code([intermediate], []) == .issuerNotFound)
        #expect(try code([intermediate, root], []) == .untrustedRoot)
        #expect(try code([intermediate], [root], on: Date(timeIntervalSinceNow: 40 * 86400)) == .expired)
        #expect(try code([intermediate], [root], on: Date(timeIntervalSinceNow: -86400)) == .notYetValid)
        #expect(try code([intermediate], [root], purpose: .tlsClient) == .wrongPurpose)
        #expect(try code([intermediate], [root], purpose: .codeSigning) == .wrongPurpose)
        #expect(try code([intermediate], [stranger.certificate("root.pem")]) != nil)
        let alone = try CertificateChain.verify(
            leaf: stranger.certificate("root.pem"), intermediates: [], anchors: [root])
        #expect(alone.failure?.code == .selfSigned)
        #expect(alone.failure?.depth == 0)
    }

    @Test(arguments: [("codeSigning", .codeSigning), ("critical,timeStamping", .timeStamping)]
        as [(String, CertificateChain.Purpose)])
    func `an authority for another purpose issues no valid certificate for this one`(
        usage: String, purpose: CertificateChain.Purpose
    ) throws {
        let openssl = try OpenSSLCommand.withAuthority()
        let basic = "basicConstraints=critical,CA:TRUE\nsubjectKeyIdentifier=hash\nkeyUsage=critical,keyCertSign\n"
        let allowed = String(usage.split(separator: ",").last ?? "")
        for (name, further) in [
            ("none", ""), ("same", "extendedKeyUsage=serverAuth,\(allowed)"), ("other", "extendedKeyUsage=serverAuth"),
            ("any", "extendedKeyUsage=anyExtendedKeyUsage"),
        ] {
            try openssl.issue(name, by: "root", subject: "/CN=\(name)", extensions: basic + further)
            try openssl.issue("below-" + name, by: name, subject: "/CN=Below", extensions: """
                basicConstraints=critical,CA:FALSE
                keyUsage=critical,digitalSignature
                extendedKeyUsage=\(usage)
                authorityKeyIdentifier=keyid
                """)
            let authority = try openssl.certificate(name + ".pem")
            let leaf = try openssl.certificate("below-\(name).pem")
            func failure(_ anchors: [Certificate]) throws -> CertificateChain.Failure? {
                try CertificateChain.verify(
                    leaf: leaf, intermediates: [authority], anchors: anchors, purpose: purpose).failure
            }
            let found = try failure([openssl.certificate("root.pem")])
            #expect(found?.code == (name == "other" ? .wrongPurpose : nil), "\(name)")
            if name == "other" { #expect(found?.depth == 1 && found?.certificate == authority) }
            // Every anchor is trusted.
            #expect(try failure([authority]) == nil)
        }
    }
}

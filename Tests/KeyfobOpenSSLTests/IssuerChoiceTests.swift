import Foundation
import KeyfobOpenSSL
import TestSupport
import Testing

@Suite("The issuer among several of one name")
struct IssuerChoiceTests {
    /// Two roots with one name, two intermediates with one name, and certificates below the second ones, all without
    /// authority key identifiers.
    private static func withTwins() throws -> OpenSSLCommand {
        let openssl = try OpenSSLCommand()
        let nameless = "subjectKeyIdentifier=none\nauthorityKeyIdentifier=none\n"
        let authority = "basicConstraints=critical,CA:TRUE\n" + nameless
        for name in ["one", "two"] {
            try openssl(
                "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout \(name).key -out \(name).pem "
                    + "-days 30 -subj /CN=Root")
            try openssl.issue("middle-\(name)", by: name, subject: "/CN=Middle", extensions: authority)
        }
        // It has the name of the intermediates and, like the real one, is issued by the second root.
        try openssl.issue("sibling", by: "two", subject: "/CN=Middle", extensions: authority)
        let end = "basicConstraints=critical,CA:FALSE\n" + nameless
        try openssl.issue("direct", by: "two", subject: "/CN=direct", extensions: end, days: 5)
        try openssl.issue("leaf", by: "middle-two", subject: "/CN=leaf", extensions: end, days: 5)
        return openssl
    }

    private static func orders(_ one: Certificate, _ other: Certificate) -> [[Certificate]] {
        [[one, other], [other, one]]
    }

    /// The issuer name in the leaf and its string types; the authority's own is "Example CA" in a PrintableString.
    @Test(arguments: [("utf8only", "/CN=Example CA"), ("utf8only", "/CN=example   CA"), ("nombstr", "/CN=EXAMPLE CA")])
    func `an issuer is found by its name in any string type`(strings: String, name: String) throws {
        let openssl = try OpenSSLCommand()
        func make(_ file: String, _ strings: String, _ name: String, _ options: String) throws {
            try openssl.directory.write(
                "[req]\nstring_mask=\(strings)\ndistinguished_name=dn\n[dn]\n".utf8, to: "\(file).cnf")
            try openssl("req -x509 -config \(file).cnf -out \(file).pem -days 30 \(options)", and: ["-subj", name])
        }
        try make("authority", "nombstr", "/CN=Example CA",
            "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout authority.key")
        // The same key under the name in the leaf.
        try make("other", strings, name, "-key authority.key")
        try openssl.directory.write(openssl.directory.read("authority.key"), to: "other.key")
        try openssl.issue("leaf", by: "other", subject: "/CN=leaf",
            extensions: "basicConstraints=critical,CA:FALSE\nsubjectKeyIdentifier=none\nauthorityKeyIdentifier=none\n")
        let (leaf, authority) = try (openssl.certificate("leaf.pem"), openssl.certificate("authority.pem"))
        #expect(leaf.issuer != authority.subject && leaf.issuer.canonical == authority.subject.canonical)
        #expect(leaf.issuer.canonical == DistinguishedName.canonical(ofNormalized: authority.subject.normalized))
        let chain = CertificateChain.order(leaf: leaf, candidates: [authority])
        #expect(chain.certificates == [leaf, authority] && chain.isComplete)
        // The openssl command accepts it.
        try openssl("verify -CAfile authority.pem leaf.pem")
        #expect(
            DistinguishedName.canonical(ofNormalized: Data([0x31, 1, 0])) == nil
                && leaf.subject.canonical != authority.subject.canonical)
    }

    @Test func `of two authorities with one name, the signer is used, in any order`() throws {
        let openssl = try Self.withTwins()
        let (one, two) = try (openssl.certificate("one.pem"), openssl.certificate("two.pem"))
        let (direct, leaf) = try (openssl.certificate("direct.pem"), openssl.certificate("leaf.pem"))
        let middle = try openssl.certificate("middle-two.pem")
        #expect(direct.authorityKeyIdentifier == nil && leaf.authorityKeyIdentifier == nil)
        for anchors in Self.orders(one, two) {
            #expect(
                try CertificateChain.verify(leaf: direct, intermediates: [], anchors: anchors)
                    == .trusted([direct, two]))
            for name in ["middle-one.pem", "sibling.pem"] {
                for intermediates in Self.orders(try openssl.certificate(name), middle) {
                    for trusted in [anchors, [two]] {
                        #expect(
                            try CertificateChain.verify(leaf: leaf, intermediates: intermediates, anchors: trusted)
                                == .trusted([leaf, middle, two]), "\(name)")
                    }
                    // The reason is that of the real issuer.
                    let later = try CertificateChain.verify(
                        leaf: leaf, intermediates: intermediates, anchors: anchors, on: Date() + 10 * 86_400)
                    #expect(later.failure?.code == .expired && later.failure?.certificate == leaf, "\(name)")
                }
            }
        }
    }

    @Test func `a signature that no candidate made is broken, in any order`() throws {
        let openssl = try Self.withTwins()
        let (one, two) = try (openssl.certificate("one.pem"), openssl.certificate("two.pem"))
        var der = try openssl.certificate("leaf.pem").der
        der[der.count - 1] ^= 1
        let broken = try Certificate(der: der)
        let middles = try (openssl.certificate("middle-one.pem"), openssl.certificate("middle-two.pem"))
        for anchors in Self.orders(one, two) + [[two]] {
            for intermediates in Self.orders(middles.0, middles.1) + [[middles.1]] {
                let failure = try CertificateChain.verify(
                    leaf: broken, intermediates: intermediates, anchors: anchors).failure
                #expect(failure?.code == .badSignature && failure?.depth == 0 && failure?.certificate == broken)
            }
        }
        // A single candidate with the issuer's name is used although it did not sign, so the signature is reported.
        let direct = try openssl.certificate("direct.pem")
        let stranger = try CertificateChain.verify(leaf: direct, intermediates: [], anchors: [one])
        #expect(stranger.failure?.code == .badSignature)
    }

    @Test func `of two certificates of one key, the one that leads to an anchor is used, in any order`() throws {
        let keys = try (0..<4).map { _ in try PrivateKey.generate(.ec(.p256)) }
        let known = try authority("known root", keys[0], by: nil, -10 ... 900)
        let unknown = try authority("unknown root", keys[1], by: nil, -10 ... 900)
        let byKnown = try authority("middle", keys[2], by: (known, keys[0]), -10 ... 500)
        let byUnknown = try authority("middle", keys[2], by: (unknown, keys[1]), -10 ... 500)
        let leaf = try authority("leaf", keys[3], by: (byKnown, keys[2]), -1 ... 9)
        for candidates in Self.orders(byKnown, byUnknown) {
            for further in [[], [unknown]] {
                let found = try CertificateChain.verify(
                    leaf: leaf, intermediates: candidates + further, anchors: [known])
                #expect(found == .trusted([leaf, byKnown, known]))
            }
        }
        // A renewed certificate, or one by another issuer, is used instead of an expired one.
        let old = try authority("middle", keys[2], by: nil, -900 ... -1)
        let new = try authority("middle", keys[2], by: nil, -10 ... 900)
        for anchors in Self.orders(old, new) {
            #expect(
                try CertificateChain.verify(leaf: leaf, intermediates: [], anchors: anchors) == .trusted([leaf, new]))
        }
        for anchors in Self.orders(old, known) {
            #expect(
                try CertificateChain.verify(leaf: leaf, intermediates: [byKnown], anchors: anchors)
                    == .trusted([leaf, byKnown, known]))
        }
    }
}

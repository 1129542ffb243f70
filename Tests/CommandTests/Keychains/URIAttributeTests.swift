import Foundation
import PKCS11
import TestSupport
import Testing

/// Every attribute of a URI restricts the selection (RFC 7512, section 2.5); none is ignored.
@Suite struct URIAttributeTests {
    private static let unfitting = [
        "slot-id=99999", "slot-manufacturer=Other", "slot-description=Nothing", "library-manufacturer=Other",
        "library-description=Nothing", "library-version=9.9", "manufacturer=Other", "model=None", "serial=00",
        "token=other", "x-unknown=1", "id=%07", "type=data", "object=other%20name",
    ]

    /// The URI of object `NAME` with a further attribute; `object=…` replaces the name.
    private func uri(_ name: String, _ attribute: String) -> String {
        let (path, query) = attribute.hasPrefix("module-") ? ("", "?" + attribute) : (";" + attribute, "")
        return attribute.hasPrefix("object=") ? "pkcs11:" + attribute : "pkcs11:object=\(name)\(path)\(query)"
    }

    @Test func `a URI with one attribute that does not match selects no object, so nothing is destroyed`() throws {
        let household = try TestHome.unattended()
        for command in [
            ["identity", "create", "web", "--cn", "web", "--self-signed"], ["key", "generate", "web-key"],
        ] {
            let made = try household.keyfob(command)
            try #require(made.status == 0, "\(made.error)")
        }
        let modules = ["module-name=opensc", "module-path=/usr/lib/nothing.so"]
        for attribute in Self.unfitting + modules {
            for command in [["cert", "show"], ["cert", "rm"], ["identity", "show"], ["identity", "rm"], ["uri"]] {
                let options = command.last == "rm" ? ["--yes"] : []
                let failure = try household.failure(command + [uri("web", attribute)] + options)
                #expect(failure.code == "item.not_found", "\(command) \(attribute)")
            }
            let failure = try household.failure(["key", "rm", uri("web-key", attribute), "--yes"])
            #expect(failure.code == "item.not_found", "key rm \(attribute)")
        }
        for type in ["public", "data", "secret-key"] {
            let failure = try household.failure(["identity", "rm", "pkcs11:object=web;type=\(type)", "--yes"])
            #expect(failure.code == "item.not_found", "\(type)")
        }
        #expect(try household.keyfob(["identity", "check", "web"]).status == 0)
        #expect(try household.keyfob(["key", "show", "web-key"]).status == 0)
    }

    @Test func `a URI whose attributes all match selects the object`() throws {
        let household = try TestHome.unattended()
        let made = try household.keyfob(["identity", "create", "web", "--cn", "web", "--self-signed"])
        try #require(made.status == 0, "\(made.error)")
        let shown = try household.document(["token", "show"])
        let serial = try #require(shown["serial"] as? String)
        // SoftHSM numbers a slot by the serial number of its token.
        let slot = try #require(UInt(serial.suffix(8), radix: 16)) & 0x7fff_ffff
        let version = try TestToken.make().module.info().libraryVersion
        let fitting = [
            "slot-id=\(slot)", "slot-manufacturer=SoftHSM%20project", "library-manufacturer=SoftHSM",
            "library-description=Implementation%20of%20PKCS11", "library-version=\(version)", "serial=\(serial)",
            "manufacturer=SoftHSM%20project", "model=SoftHSM%20v2", "type=cert", "type=private",
            "module-name=softhsm2", "module-path=\(TestToken.modulePath)",
        ]
        for attribute in fitting {
            let found = try household.keyfob(["identity", "show", uri("web", attribute)])
            #expect(found.status == 0, "\(attribute): \(found.error)")
            guard !attribute.hasPrefix("type=") else { continue }
            let token = uri("", attribute).replacing("object=", with: "token=login")
            let status = try household.keyfob(["status", "--token", token])
            #expect(status.status == 0, "\(token): \(status.error)")
        }
    }

    @Test(
        arguments: [
            "slot-id=99999", "slot-manufacturer=Other", "slot-description=Nothing", "library-manufacturer=Other",
            "library-description=Nothing", "library-version=9.9", "manufacturer=Other", "model=None", "serial=00",
            "x-unknown=1", "?module-name=opensc", "?module-path=/usr/lib/nothing.so",
        ])
    func `a token URI with one attribute that does not match selects no keychain`(attribute: String) throws {
        let household = try TestHome.unattended()
        let uri = "pkcs11:token=login" + (attribute.hasPrefix("?") ? "" : ";") + attribute
        for command in [["status"], ["get", "x"], ["keychain", "ls"]] {
            #expect(try household.failure(command + ["--token", uri]).code == "keychain.not_found", "\(command)")
        }
        #expect(try household.failure(["token", "show", uri]).status != 0)
    }

    @Test func `a token of another module is found only by matching attributes`() throws {
        let card = try CardKeychain()
        let info = try #require(
            JSONSerialization.jsonObject(with: Data(card.keyfob("token", "show", "--json").output.utf8))
                as? [String: Any])
        let serial = try #require(info["serial"] as? String)
        let slot = try #require(UInt(serial.suffix(8), radix: 16)) & 0x7fff_ffff
        for attribute in ["slot-id=\(slot)", "library-manufacturer=SoftHSM", "slot-manufacturer=SoftHSM%20project"] {
            let found = try card.keyfob("status", "--token", "pkcs11:token=card;\(attribute)")
            #expect(found.status == 0, "\(attribute): \(found.error)")
        }
        for attribute in ["slot-id=99999", "library-version=9.9", "library-manufacturer=Other"] {
            let token = "pkcs11:token=card;\(attribute)"
            #expect(try card.keyfob("status", "--token", token).status != 0, "\(attribute)")
            let made = try card.keyfob(
                "keychain", "create", "second", "--token", token, "--module", card.module, "--pin-source", "env:CARD_PIN")
            #expect(made.error.contains("not present"), "\(attribute): \(made.output)\(made.error)")
        }
    }

    @Test func `a configuration with the URI of another library opens no token`() throws {
        let card = try CardKeychain()
        _ = try card.shell(
            """
            file=home/.local/share/keyfob/keychains/login/keychain.json
            sed -i 's/"pkcs11:/&library-manufacturer=Other;/' "$file"
            grep -q Other "$file"
            """)
        let found = try card.keyfob("key", "generate", "none")
        #expect(found.status != 0, "\(found.output)")
        #expect(try card.countOfObjects(labelled: "none") == 0)
    }

    @Test func `a URI with one of two names of a certificate removes only that object`() throws {
        let card = try CardKeychain()
        try card.makeFiles("web")
        for label in ["web", "other"] { try card.write("crt", of: "web", id: "51", label: label) }
        let removed = try card.keyfob("cert", "rm", "pkcs11:object=web", "--yes")
        #expect(removed.status == 0, "\(removed.error)")
        #expect(try card.countOfObjects(labelled: "web") == 0)
        #expect(try card.countOfObjects(labelled: "other") == 1)
    }
}

import Keyfob
import KeyfobOpenSSL

/// Java: the token as a KeyStore of the provider SunPKCS11.
struct Java: Program {
    static let name = "java"
    static let summary = "KeyStore of type PKCS11 (SunPKCS11)"
    static let unspeakable = ["${"]

    static func recipe(for use: TokenUse) throws -> Recipe {
        try use.requireNoEdwardsKey("SunPKCS11")
        try use.requireNoProxy("SunPKCS11", "it names tokens by the number of their slot, which the proxy changes")
        // SunPKCS11 identifies tokens only by slot. In its configuration, values with spaces must be quoted.
        let configuration = Recipe.File(
            name: use.stem + ".java.cfg",
            content: "name = keyfob\nlibrary = \(TokenUse.doubleQuoted(use.module))\nslot = \(use.slotID)\n")
        func options(_ path: String) -> String {
            "-keystore NONE -storetype PKCS11 -providerClass sun.security.pkcs11.SunPKCS11 "
                + "-providerArg \(ShellWord.quoted(path))"
        }
        let pin = use.pinFile.map { " -storepass:file \(ShellWord.quoted($0))" } ?? ""
        return Recipe(
            title: "Java reaches the token through SunPKCS11; the identity is under its label",
            files: [configuration, use.fullChain],
            environment: use.softHSMConfiguration.map { [("SOFTHSM2_CONF", $0)] } ?? [],
            lines: [
                "keytool -list \(options(use.path(configuration)))\(pin)",
                "# in code",
                "#   Provider provider = Security.getProvider(\"SunPKCS11\")"
                    + ".configure(\(TokenUse.doubleQuoted(use.path(configuration))));",
                "#   KeyStore store = KeyStore.getInstance(\"PKCS11\", provider);",
                "#   store.load(null, pin);",
            ],
            notes: ["the slot's number stays the same while the token exists; SunPKCS11 cannot find tokens by label"]
                + aliasNotes(use.certificateLabel) + versionNotes(use),
            check: check(use, configuration.name, options(configuration.name), pin))
    }

    /// The label as SunPKCS11 reads it: each byte of the UTF-8 is one character.
    private static func alias(_ label: String) -> String {
        String(String.UnicodeScalarView(label.utf8.map { Unicode.Scalar($0) }))
    }

    /// SunPKCS11 shows a key once, under an arbitrary one of its certificates.
    private static func versionNotes(_ use: TokenUse) -> [String] {
        guard let older = use.olderCertificates.first else { return [] }
        let label = TerminalSafe.text(ShellWord.quoted(use.label))
        return [
            "SunPKCS11 sees only one certificate of a key. This key also has \"\(TerminalSafe.text(older))\", "
                + "which Java may use instead:",
            "  keyfob identity retire \(label)      or, the next time: keyfob identity renew \(label) --new-key",
        ]
    }

    private static func aliasNotes(_ label: String) -> [String] {
        guard label.utf8.contains(where: { $0 >= 0x80 }) else { return [] }
        let text = alias(label).unicodeScalars.map { scalar -> String in
            switch scalar {
            case "\"", "\\": "\\\(scalar)"
            case " "..."~": String(scalar)
            default: "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
            }
        }.joined()
        return ["SunPKCS11 reads each byte of the label as a letter; in code, the label is \"\(text)\""]
    }

    /// Lists the identity under its label, and signs a request with its key; openssl verifies the request.
    private static func check(
        _ use: TokenUse, _ configuration: String, _ options: String, _ pin: String
    ) -> String {
        if let older = use.olderCertificates.first {
            let advice = "retire \(older) first: Java sees only one certificate of a key"
            return "echo \(ShellWord.quoted(advice)); exit 1\n"
        }
        guard use.pinFile != nil else {
            return "echo 'the PIN is not in a file, and the check cannot ask for it'; exit 77\n"
        }
        return """
            command -v keytool >/dev/null || { echo 'keytool (a JRE) is not installed'; exit 127; }
            # Java replaces letters that the locale lacks by question marks.
            export LC_ALL=C.UTF-8
            label=\(ShellWord.quoted(alias(use.certificateLabel)))
            timeout 60 keytool -list \(options)\(pin) -alias "$label" >list.log 2>&1 || { cat list.log; exit 1; }
            grep -q 'PrivateKeyEntry' list.log || { cat list.log; exit 1; }
            # keytool signs a request with the key; openssl verifies it.
            timeout 60 keytool -certreq \(options)\(pin) -alias "$label" -file request.pem >sign.log 2>&1 || { cat sign.log; exit 1; }
            openssl req -in request.pem -noout -verify >verify.log 2>&1 || { cat verify.log; exit 1; }
            grep -q 'verify OK' verify.log || { cat verify.log; exit 1; }
            openssl req -in request.pem -noout -pubkey >request.pub
            openssl x509 -in \(ShellWord.quoted(use.fullChain.name)) -noout -pubkey >certificate.pub
            cmp request.pub certificate.pub
            echo 'listed under its label; signed a request'

            """
    }
}

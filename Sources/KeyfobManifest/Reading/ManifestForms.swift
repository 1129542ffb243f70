import Keyfob

/// The members of every mapping in a manifest.
enum ManifestForms {
    /// Sources that give the same secret each time, without a person.
    private static let secretSources = ["env:", "file:", "cmd:", "credential:"]

    static let manifest = RecordForm(
        "manifest", holdsSecret: true, excluding: [("unattended", "pinSource"), ("token", "unattended")],
        [
            Field(
                "apiVersion", .choice(["keyfob/v1"]), required: true, "The version of this format.",
                example: "keyfob/v1"),
            Field(
                "keychain", .name, required: true, "The keychain; it is created if it does not exist.",
                example: "site"),
            Field(
                "unattended", .flag,
                "Whether a new keychain keeps its PIN in a file, so that it opens without a passphrase.",
                example: "true"),
            Field(
                "pinSource", .source(secretSources + ["prompt", "pinentry", "stdin", "fd:"]),
                "Where the PIN or passphrase comes from."),
            Field(
                "recoveryFile", .path,
                "Where the recovery code of a new keychain with a passphrase is written."),
            Field("token", .text, "An existing token, by its label or URI; by default a software token is made."),
            Field("defaults", .record(defaults), "What holds for keys and identities that do not say otherwise."),
            Field("secrets", .list(.record(secret)), "Passwords and other secrets.", example: ""),
            Field("keys", .list(.record(key)), "Keys that are made on the token.", example: ""),
            Field("issuers", .map(issuer), "Names for issuers outside the keychain."),
            Field("identities", .list(.record(identity)), "Keys with a certificate.", example: ""),
            Field("certificates", .list(.record(certificate)), "Certificates of others.", example: nil),
            Field("trust", .list(.record(trust)), "Certificates that the keychain trusts.", example: ""),
            Field("helpers", .record(helpers), "Programs that get their passwords from the default keychain."),
            Field(
                "prune", .flag,
                "Whether secrets, certificates and trust that an earlier apply made, and that are no longer here, are "
                    + "removed. Keys are not."),
        ])

    private static let formerName = Field(
        "renamedFrom", .name, "The former name. What is stored under it gets the new one, and keeps its value or key.")
    private static let protection = Field(
        "protect", .flag, "Whether no removal removes it, neither by apply nor by hand; false by default.")
    private static let renewalTimes = [
        Field("renewAt", .percentage, "The part of its lifetime after which a certificate is renewed; 66% by default."),
        Field("renewBefore", .duration, "The time before its end at which a certificate is renewed, such as 30d."),
    ]

    static let defaults = RecordForm(
        "mapping of defaults", excluding: [("renewAt", "renewBefore")],
        [Field("key", .record(defaultKey), "The keys.")] + renewalTimes)

    static let defaultKey = RecordForm(
        "key", excluding: [("size", "curve")],
        [
            keyType, size, curve,
            Field("extractable", .flag, "Whether keys may leave the token; not for those of identities."),
        ])

    static let secret = RecordForm(
        "secret", holdsSecret: true, exactlyOneOf: [["generate", "valueFrom"]],
        excluding: [("onConflict", "generate"), ("rotateEvery", "valueFrom")],
        [
            Field("name", .name, required: true, "The name, as lists show it.", example: "db/password"),
            formerName,
            Field("user", .text, "The account.", example: "app"),
            Field("kind", .choice(["generic", "internet"]), "Use internet for the password of a server."),
            Field("server", .text, "The server of an internet password; the name by default."),
            Field("protocol", .choice(InternetProtocol.knownSchemes), "The protocol of an internet password."),
            Field("port", .integer(1...65_535), "The port of an internet password."),
            Field("path", .text, "The path of an internet password."),
            Field("label", .text, "The label."),
            Field("comment", .text, "A remark."),
            Field(
                "generate", .record(generation), "Make a random value if the secret is missing; {} for the usual one.",
                example: ""),
            Field(
                "valueFrom", .source(secretSources),
                "Where the value comes from: all that is there, except a newline at its end."),
            Field(
                "onConflict", .choice(["replace", "keep"]),
                "What happens to a stored value that differs from the source; replace by default."),
            Field("rotateEvery", .duration, "The age at which a generated value is replaced.", example: "90d"),
            protection,
            Field("outputs", .list(.record(secretOutput)), "Files that the value is written to."),
            Field("onChange", .list(.record(hook)), "Programs to run after a change."),
        ])

    static let generation = RecordForm(
        "generated value",
        [
            Field("length", .integer(1...65_536), "The number of characters; 32 by default.", example: "32"),
            Field(
                "charset", .choice(Alphabet.allCases.map(\.rawValue)), "The characters; alnum by default.",
                example: "alnum"),
        ])

    private static let keyType = Field(
        "type", .choice(["ec", "rsa", "ed25519"]), "The kind of key; ec by default.", example: "ec")
    private static let size = Field(
        "size", .integer(128...4096), "The bits of an RSA key, 3072 by default, or of an AES key, 256 by default.")
    private static let curve = Field(
        "curve", .choice(["p256", "p384", "p521"]), "The curve of an EC key; p256 by default.", example: "p256")

    static let key = RecordForm(
        "key", excluding: [("size", "curve")],
        [
            Field("name", .name, required: true, "The name of the key.", example: "signing"),
            formerName,
            Field(
                "type", .choice(["ec", "rsa", "ed25519", "aes"]), "The kind of key; ec by default.", example: "ec"),
            size, curve,
            Field("extractable", .flag, "Whether the key may leave the token; false by default."),
            Field(
                "rotate", .flag,
                "Whether a key of another kind is destroyed and made anew; this also needs the option of apply."),
            protection,
        ])

    static let identityKey = RecordForm(
        "key", excluding: [("size", "curve")],
        [
            keyType, size, curve,
            Field(
                "rotationPolicy", .choice(["keep", "always"]),
                "Whether an apply that renews the certificate makes a new key."),
        ])

    static let identity = RecordForm(
        "identity",
        excluding: [("commonName", "subject"), ("authority", "usages"), ("renewAt", "renewBefore")]
            + [
                "commonName", "subject", "dnsNames", "ips", "emails", "uris", "usages", "authority", "pathLength",
                "lifetime", "key", "issuer", "renewAt", "renewBefore",
            ].map { ("import", $0) },
        [
            Field("name", .name, required: true, "The name of the identity.", example: "web"),
            formerName,
            Field("commonName", .text, "The common name.", example: "www.example.org"),
            Field("subject", .text, "The whole subject, such as CN=web,O=Example."),
            Field("dnsNames", .list(.text), "Host names.", example: "[www.example.org]"),
            Field("ips", .list(.text), "IP addresses."),
            Field("emails", .list(.text), "E-mail addresses."),
            Field("uris", .list(.text), "URIs, such as SPIFFE ids."),
            Field(
                "usages", .list(.choice(CertificateUsage.known.map(\.rawValue))), "The usages; server by default.",
                example: "[server]"),
            Field("authority", .flag, "Whether the identity issues certificates."),
            Field("pathLength", .integer(0...255), "The number of authorities allowed below an authority."),
            Field("lifetime", .duration, "The lifetime of its certificates; the issuer may shorten it."),
        ] + renewalTimes + [
            Field("key", .record(identityKey), "The key; EC P-256 by default."),
            Field(
                "issuer", .text,
                "self, the name of an authority, or a name from issuers. An identity without one must "
                    + "exist already, and is not renewed.", example: "self"),
            Field("import", .record(importedFiles), "Files that the key and the certificates come from."),
            protection,
            Field("outputs", .list(.record(identityOutput)), "Files for programs.", example: ""),
            Field("onChange", .list(.record(hook)), "Programs to run after a change.", example: ""),
        ])

    static let importedFiles = RecordForm(
        "mapping of files", holdsSecret: true, exactlyOneOf: [["pkcs12", "pem"]], excluding: [("pem", "allowLegacy")],
        [
            Field("pkcs12", .path, "A PKCS#12 file. Once it is imported, the file may be removed."),
            Field("pem", .list(.path), "PEM files with one private key and its certificates."),
            Field("passSource", .source(secretSources), "Where the passphrase of the files comes from."),
            Field("allowLegacy", .flag, "Whether a PKCS#12 file may use RC2, RC4, DES or 3DES; false by default."),
            Field("extractable", .flag, "Whether the key may leave the token; false by default."),
        ])

    private static let fileFields = [
        Field("mode", .mode, "The mode of the file: 0600 for a secret, 0644 for everything else by default."),
        Field("owner", .text, "The user that owns the file; only root can give files away."),
        Field("group", .text, "The group of the file."),
    ]

    static let identityOutput = RecordForm(
        "output",
        [
            Field(
                "chain", .path, "A file for the certificate and those above it, without the root.",
                example: "/etc/nginx/tls/web.pem"),
            Field("certificate", .path, "A file for the certificate alone."),
            Field("keyUri", .path, "A file for the PKCS#11 URI of the key."),
        ] + fileFields)

    static let secretOutput = RecordForm(
        "output", [Field("value", .path, required: true, "A file for the value, without a newline.")] + fileFields)

    static let hook = RecordForm(
        "program to run",
        [
            Field(
                "run", .list(.text), required: true, "The program and its arguments, without a shell.",
                example: "[systemctl, reload, nginx]"),
            Field("timeout", .duration, "When the program is killed; 10m by default."),
        ])

    static let certificate = RecordForm(
        "certificate", exactlyOneOf: [["file", "pem"]],
        [
            Field("name", .name, required: true, "The name of the certificate.", example: "corp-ca"),
            Field("file", .path, "A file with one certificate, in PEM or DER.", example: "corp-ca.pem"),
            Field("pem", .text, "The certificate itself, in PEM."),
            protection,
        ])

    static let trust = RecordForm(
        "trusted certificate", excluding: [("scope", "for")],
        [
            Field(
                "certificate", .name, required: true,
                "The name of a certificate or identity of this manifest or of the keychain.", example: "web"),
            Field(
                "scope", .choice(["user", "system"]),
                "user for this keychain, the default; system for all programs of the machine, which needs root."),
            Field(
                "for", .list(.choice(CertificateUsage.known.map(\.rawValue))), "The usages; any by default.",
                example: "[server]"),
        ])

    static let helpers = RecordForm(
        "mapping of helpers",
        [
            Field("git", .flag, "Whether git gets passwords from Keyfob."),
            Field("docker", .list(.text), "The registries for which docker gets passwords from Keyfob."),
            Field("cargo", .flag, "Whether the helper of cargo is linked."),
            Field("keyring", .flag, "Whether the helper of pip is linked as keyring."),
            Field("directory", .path, "The directory of the links; ~/.local/bin by default."),
        ])

    static let issuer = RecordForm(
        "issuer",
        [
            Field("type", .choice(["exec", "acme"]), required: true, "A program, or an ACME server."),
            Field(
                "command", .list(.text),
                "With exec: the program and its arguments. It reads a request and writes "
                    + "certificates, in PEM."),
            Field("directory", .text, "With acme: the URL of the directory."),
            Field("profile", .text, "With acme: the kind of certificate, by the name that the authority gives it."),
            Field("contacts", .list(.text), "With acme: e-mail addresses for the authority."),
            Field("agreeToTerms", .flag, "With acme: whether you agree to the terms of service."),
            Field("webRoot", .path, "With acme: the document root of the web server of the host."),
            Field("listen", .text, "With acme: the port, or address and port, where HTTP-01 challenges are answered."),
            Field(
                "listenTLS", .text,
                "With acme: the port, or address and port, where TLS-ALPN-01 challenges are answered."),
            Field("dnsHook", .list(.text), "With acme: the program that makes and removes DNS records."),
            Field("authorityFile", .path, "With acme: the authority of the directory's own certificate."),
        ])
}

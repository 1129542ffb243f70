import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// NSS: the token as a module of an NSS database.
struct NSS: Program {
    static let name = "nss"
    static let summary = "Mozilla's NSS: its tools, and programs with an NSS database"
    static let usage = CertificateUsage.server

    static func recipe(for use: TokenUse) throws -> Recipe {
        // With an Ed25519 key, NSS 3.87 (Debian 12) fails with SEC_ERROR_UNSUPPORTED_KEYALG, in its tools and in TLS.
        try use.requireNoEdwardsKey("NSS")
        try use.requireNoProxy("NSS", "it is the library of the token itself, and opens the database by its directory")
        let pin = use.pinFile.map { " -f \(ShellWord.quoted($0))" } ?? ""
        let nickname = ShellWord.quoted(use.tokenLabel + ":" + use.certificateLabel)
        func commands(_ database: String) -> [String] {
            let database = ShellWord.quoted("sql:" + database)
            return [
                "modutil -force -dbdir \(database) -add keyfob -libfile \(ShellWord.quoted(use.module))",
                "certutil -K -d \(database) -h \(ShellWord.quoted(use.tokenLabel))\(pin)",
            ]
        }
        let chain = use.fullChain
        let keyID = (use.uri.id ?? []).hexadecimal
        // selfserv fails with RSA keys of SoftHSM, also with keys made by other tools (NSS 3.87, SEC_ERROR_NO_MEMORY).
        var handshake = ""
        if case .ec = use.publicKey.algorithm {
            handshake = """
                # selfserv listens only on IPv6, which not every machine has.
                grep -q . /proc/net/if_inet6 2>/dev/null || exit 0
                port=$(port)
                selfserv -d sql:database -n \(nickname)\(pin) -p "$port" -V tls1.2: </dev/null >server.log 2>&1 &
                server=$!
                await "$port" "$chain" || { cat server.log handshake.log; exit 1; }
                \(Handshake.report)
                """
        }
        let steps = commands("database").map {
            "timeout 30 \($0) >>nss.log 2>&1 </dev/null || { cat nss.log; exit 1; }"
        }
        return Recipe(
            title: "NSS reaches the token as a module of its database; the identity's nickname is \(nickname)",
            files: [chain], environment: use.softHSMConfiguration.map { [("SOFTHSM2_CONF", $0)] } ?? [],
            lines: commands("DATABASE"),
            notes: ["a new database: certutil -N -d sql:DATABASE --empty-password"] + use.pinNotes,
            check: """
                for program in certutil modutil selfserv; do
                    command -v $program >/dev/null || { echo "$program is not installed"; exit 127; }
                done
                \(use.pinFile == nil ? "echo 'the PIN is not in a file, and the check cannot ask for it'; exit 77" : "")
                \(Handshake.functions)
                chain=\(ShellWord.quoted(chain.name))
                mkdir database
                certutil -N -d sql:database --empty-password
                \(steps.joined(separator: "\n"))
                # Without a terminal, certutil reads noise for its generator from a file, although the key exists already.
                head -c 64 /dev/urandom >noise
                timeout 30 certutil -R -d sql:database -h \(ShellWord.quoted(use.tokenLabel)) -k \(keyID)\(pin) -s CN=check -a \\
                    -z noise -o request.pem >>nss.log 2>&1 </dev/null || { cat nss.log; exit 1; }
                openssl req -in request.pem -noout -pubkey -verify >request.pub 2>verify.log || { cat verify.log; exit 1; }
                openssl x509 -in "$chain" -noout -pubkey >certificate.pub
                cmp request.pub certificate.pub
                echo 'signed a request'
                \(handshake)
                """)
    }
}

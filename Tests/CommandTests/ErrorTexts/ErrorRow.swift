import Testing

/// One failure, and the error that the user gets.
struct ErrorRow: CustomTestStringConvertible, Sendable {
    /// The keychain before the failure.
    enum Home: Sendable {
        /// No keychain.
        case empty
        /// A keychain that opens without asking.
        case unattended
        /// A keychain on a token behind the module that can refuse calls. The PIN is 1234, in the variable `CARD_PIN`.
        case card
    }

    let testDescription: String
    var home = Home.unattended
    /// A script of sh that must succeed. It can use the functions of `ErrorTextTests.prelude`. It starts background
    /// processes in a separate session, whose number it writes to the file `job`.
    var before = ""
    /// A script that undoes an attempt, so that it can be repeated.
    var reset = ":"
    /// The refusals of the token during the attempt; see `faulty.c`.
    var refusing = ""
    /// The command that fails.
    let attempt: String
    let status: Int32
    let code: String
    /// Texts that the message must contain.
    let message: [String]
    /// Texts that the hint must contain.
    var hint: [String] = []
    /// The names of details that the error must have.
    var details: [String] = []
    /// Whether the message is the same at the second attempt.
    var isSteady = true
}

extension ErrorRow {
    /// PINs, passphrases and tokens.
    static let tokens = [
        ErrorRow(
            testDescription: "wrong PIN", home: .card, before: "keyfob lock -q; secret 9999 bad",
            reset: "rm -rf home/.local/state/keyfob", attempt: "keyfob get a --pin-source file:bad", status: 5,
            code: "pin.incorrect", message: [#"wrong PIN for token "card""#, "a few tries left before it blocks"],
            hint: ["Check the PIN source (file:bad)", "nothing is retried automatically"],
            details: ["token", "serial", "tries", "ckr", "source"]),
        ErrorRow(
            testDescription: "wrong PIN, the last try comes next", home: .card, before: "keyfob lock -q; secret 9999 bad",
            reset: "rm -rf home/.local/state/keyfob", refusing: "pin-final",
            attempt: "keyfob unlock --allow-final-try --pin-source file:bad", status: 5, code: "pin.incorrect",
            message: ["wrong PIN", "ONE try left before it blocks"],
            hint: ["Stop unless you are sure", "the same command with --allow-final-try"], details: ["tries"]),
        ErrorRow(
            testDescription: "the last try, not taken", home: .card, before: "keyfob lock -q", refusing: "pin-final",
            attempt: "keyfob unlock --pin-source env:CARD_PIN", status: 5, code: "pin.final_try",
            message: ["ONE try left before it blocks", "was not sent"],
            hint: ["the same command with --allow-final-try"], details: ["tries"]),
        ErrorRow(
            testDescription: "the last try, not taken on a token without a keychain", home: .card,
            before: "keyfob keychain rm card -qy", refusing: "pin-final",
            attempt: "env KEYFOB_MODULE=./faulty.so $KEYFOB key ls --token card --pin-source env:CARD_PIN", status: 5,
            code: "pin.final_try", message: ["ONE try left before it blocks", "was not sent"],
            hint: ["the same command with --allow-final-try"], details: ["tries"]),
        ErrorRow(
            testDescription: "the last try, not taken for a new keychain", home: .card, refusing: "pin-final",
            attempt: "keyfob keychain create b --token card --module ./faulty.so --pin-source env:CARD_PIN",
            status: 5, code: "pin.final_try", message: ["ONE try left before it blocks", "was not sent"],
            hint: ["the same command with --allow-final-try"], details: ["tries"]),
        ErrorRow(
            testDescription: "a stored PIN that was refused before", home: .card,
            before: "keyfob lock -q; secret 9999 bad; ! keyfob get a --pin-source file:bad 2>/dev/null",
            attempt: "keyfob get a --pin-source file:bad", status: 5, code: "pin.known_wrong",
            message: ["was refused before", "not sent again"],
            hint: ["(file:bad)", "keyfob unlock card --pin-source prompt"], details: ["source"]),
        ErrorRow(
            testDescription: "PIN blocked", home: .card, before: "keyfob lock -q", refusing: "pin-locked",
            attempt: "keyfob unlock --pin-source env:CARD_PIN", status: 6, code: "pin.locked", message: [#"the PIN of token "card" is blocked"#],
            hint: ["SO PIN (PUK)", "Keys on it are intact", "keyfob token pin unblock card"], details: ["serial"]),
        ErrorRow(
            testDescription: "the device fails at the login", home: .card, before: "keyfob lock -q",
            refusing: "answer=C_Login,48,9", attempt: "keyfob unlock --pin-source env:CARD_PIN", status: 1, code: "failed",
            message: [#"token "card" could not log in: CKR_DEVICE_ERROR from C_Login"#],
            hint: ["Try again", "keyfob token ls"], details: ["ckr", "function", "serial"]),
        ErrorRow(
            testDescription: "no user PIN", home: .card, before: "keyfob lock -q", refusing: "answer=C_Login,258,9",
            attempt: "keyfob unlock --pin-source env:CARD_PIN", status: 6, code: "keychain.locked",
            message: [#"token "card" has no user PIN yet"#], hint: ["SO PIN", "keyfob token pin set card"]),
        ErrorRow(
            testDescription: "PIN to be changed", home: .card, before: "keyfob lock -q",
            refusing: "answer=C_Login,163,9 pin-change", attempt: "keyfob unlock --pin-source env:CARD_PIN", status: 6,
            code: "pin.locked", message: [#"the PIN of token "card" must be changed"#], hint: ["keyfob token pin change card"]),
        ErrorRow(
            testDescription: "no PIN and no way to ask", home: .empty,
            before: "PASS=opensesame keyfob init -q --pin-source env:PASS; keyfob lock -q", attempt: "keyfob get a", status: 6,
            code: "pin.required", message: [#"keychain "login" is locked"#, "no terminal to ask"],
            hint: ["--pin-source file:… | credential:… | env:…", "keyfob unlock login"]),
        ErrorRow(
            testDescription: "wrong passphrase of a keychain", home: .empty,
            before: "PASS=opensesame keyfob init -q --pin-source env:PASS; keyfob lock -q; secret barley bad",
            attempt: "keyfob get a --pin-source file:bad", status: 5, code: "passphrase.incorrect",
            message: [#"wrong passphrase for keychain "login""#], hint: ["(file:bad)", "You can try again"],
            details: ["keychain"]),
        ErrorRow(
            testDescription: "token absent", home: .card, refusing: "absent", attempt: "keyfob key ls", status: 7,
            code: "token.absent", message: [#"token "card" (serial "#, "is not present"],
            hint: ["Insert it", "keyfob token ls"], details: ["token", "serial"]),
        ErrorRow(
            testDescription: "token absent at a check", home: .card,
            before: "keyfob identity create -q web --cn web --self-signed", refusing: "absent",
            attempt: "keyfob identity check web", status: 7, code: "token.absent",
            message: [#"token "card" (serial "#, "is not present"], hint: ["Insert it"], details: ["token", "serial"]),
        ErrorRow(
            testDescription: "token absent at init", attempt: "keyfob init -k other --token hsm1", status: 7,
            code: "token.absent", message: [#"token "hsm1" is not present"#], hint: ["Insert it", "keyfob token ls"],
            details: ["token"]),
        ErrorRow(
            testDescription: "module missing", attempt: "keyfob init -k other --token x --module /no/such.so", status: 7,
            code: "module.not_loaded", message: [#"PKCS#11 module "/no/such.so" cannot be loaded: file not found"#],
            hint: ["Install the package", "correct the path"]),
        ErrorRow(
            testDescription: "the module of a keychain gone", home: .card, before: "mv faulty.so away.so",
            attempt: "keyfob key ls", status: 7, code: "module.not_loaded",
            message: ["PKCS#11 module", "faulty.so", "file not found"], hint: ["Install the package"]),
        ErrorRow(
            testDescription: "the service behind the module does not run", home: .card, refusing: "answer=C_Initialize,5",
            attempt: "keyfob key ls", status: 7, code: "module.not_loaded",
            message: ["cannot be started: CKR_GENERAL_ERROR from C_Initialize"],
            hint: ["Is the service behind it running", "keyfob token ls"], details: ["ckr", "function"]),
        ErrorRow(
            testDescription: "the service behind a named module does not run", home: .card,
            refusing: "answer=C_Initialize,2", attempt: "keyfob init -k other --token card --module ./faulty.so", status: 7,
            code: "module.not_loaded", message: ["faulty.so", "cannot be started: CKR_HOST_MEMORY from C_Initialize"],
            hint: ["Is the service behind it running"], details: ["module"]),
        ErrorRow(
            testDescription: "p11-kit's proxy as a module",
            attempt: "keyfob init -k other --token x --module $(find /usr/lib -name p11-kit-proxy.so | head -n 1)",
            status: 7, code: "module.not_loaded", message: ["as a registered module"],
            hint: ["Name one of the modules behind it: p11-kit list-modules"]),
        ErrorRow(
            testDescription: "no kind of key can be generated", home: .card, refusing: "without=0,4160,4181,4224",
            attempt: "keyfob key generate k", status: 8, code: "mechanism.unsupported",
            message: [#"token "card" cannot generate"#], hint: ["generates no keys of a kind that Keyfob knows"]),
        ErrorRow(
            testDescription: "a write-protected token without the function", home: .card,
            refusing: "write-protected without=4160", attempt: "keyfob key generate k", status: 12,
            code: "token.read_only", message: [#"token "card" is write-protected; nothing was changed"#],
            hint: ["vendor's tool"]),
        ErrorRow(
            testDescription: "passwords in a keychain that takes none", home: .card,
            before: "keyfob init -q -k b --token card --module ./faulty.so --pin-source env:CARD_PIN --no-passwords",
            attempt: "keyfob set x -k b --stdin < /dev/null", status: 8, code: "mechanism.unsupported",
            message: [#"keychain "b" takes no passwords"#, "nothing was stored"],
            hint: ["--keychain NAME", "--wrapping-key URI"], details: ["token"]),
        ErrorRow(
            testDescription: "mechanism unsupported", home: .card, refusing: "without=4181",
            attempt: "keyfob key generate k --type ed25519", status: 8, code: "mechanism.unsupported",
            message: [#"token "card" cannot generate Ed25519 keys"#],
            hint: ["It supports: RSA ", "EC ", "keyfob token mechanisms"], details: ["key", "token"]),
        ErrorRow(
            testDescription: "token full", home: .card, refusing: "full", attempt: "keyfob key generate k", status: 8,
            code: "token.full", message: [#"token "card" has no room for another object"#],
            hint: ["keyfob token show card --objects"], details: ["token"]),
        ErrorRow(
            testDescription: "read-only token", home: .card, refusing: "write-protected", attempt: "keyfob key generate k",
            status: 12, code: "token.read_only", message: [#"token "card" is write-protected; nothing was changed"#],
            hint: ["vendor's tool", "--token"], details: ["token"]),
        ErrorRow(
            testDescription: "wrapping key gone",
            before: """
                SOFTHSM2_CONF=home/.local/share/keyfob/softhsm2.conf pkcs11-tool --module /usr/lib/softhsm/libsofthsm2.so \
                    --login --pin "$(cat home/.local/share/keyfob/keychains/*/pin)" --delete-object --type secrkey \
                    --label keyfob-wrap-1 >/dev/null 2>&1
                keyfob lock -q
                """,
            attempt: "keyfob get a", status: 7, code: "wrapping_key.missing",
            message: [#"keychain "login" needs key "keyfob-wrap-1""#, #"token "login" does not have it"#],
            hint: ["re-initialised", "Restore"], details: ["key"]),
    ]

    /// Secrets and the vault.
    static let secrets = [
        ErrorRow(
            testDescription: "duplicate", before: "printf v | keyfob set -q db/prod --stdin",
            attempt: "printf v | keyfob set db/prod --stdin", status: 4, code: "item.exists",
            message: [#""db/prod" already exists in keychain "login" (updated "#], hint: ["--replace", "--if-missing"]),
        ErrorRow(
            testDescription: "not found", before: "printf v | keyfob set -q db/prod --stdin", attempt: "keyfob get db/prdo",
            status: 3, code: "item.not_found", message: [#"no item "db/prdo" in keychain "login""#],
            hint: [#"Did you mean "db/prod"?"#, "keyfob ls"], details: ["name", "keychain"]),
        ErrorRow(
            testDescription: "a secret among the arguments", attempt: "keyfob set db/prod hunter2", status: 2, code: "usage",
            message: ["secret values are not accepted on the command line"], hint: ["--stdin", "keyfob set db/prod"]),
        ErrorRow(
            testDescription: "database locked",
            before: """
                setsid python3 -c 'import sqlite3, sys, time
                c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute("begin exclusive"); print(flush=True)
                time.sleep(600)' home/.local/share/keyfob/keychains/*/vault.sqlite > locked 2>&1 &
                echo $! > job
                while [ ! -s locked ]; do sleep 0.1; done
                """,
            attempt: "printf v | keyfob set b --stdin --timeout 1s", status: 13, code: "db.busy",
            message: [#"keychain "login" is in use by another process"#], hint: ["--timeout 60s"]),
        ErrorRow(
            testDescription: "token being changed by another command",
            before: """
                lock=home/.local/share/keyfob/keychains/login/lock
                printf 'keyfob rotate-key (pid 1)' > "$lock"
                setsid flock "$lock" sleep 600 > /dev/null 2>&1 &
                echo $! > job
                while flock -n "$lock" true; do sleep 0.1; done
                """,
            attempt: "keyfob key generate k --timeout 1s", status: 13, code: "db.busy",
            message: [#"keychain "login" is in use by keyfob rotate-key (pid 1) for "#],
            hint: ["Waiting was limited to ", "--timeout 60s"], details: ["holder"], isSteady: false),
        ErrorRow(
            testDescription: "database damaged",
            before: damagedItem,
            attempt: "keyfob ls >/dev/null", status: 9, code: "db.damaged",
            message: [#"1 item of keychain "login" is damaged; 2 items are fine"#],
            hint: ["Restore a backup", "keyfob ls --skip-damaged"], details: ["damaged", "keychain"]),
        ErrorRow(
            testDescription: "one item damaged",
            before: damagedItem,
            attempt: "keyfob get b", status: 9, code: "db.damaged", message: ["fails its integrity check"],
            hint: ["The other items are not affected", "keyfob keychain check"], details: ["item", "reference"]),
        ErrorRow(
            testDescription: "no such keychain", attempt: "keyfob get a -k site", status: 3, code: "keychain.not_found",
            message: [#"there is no keychain "site""#], hint: ["login"]),
        ErrorRow(
            testDescription: "no keychain yet", home: .empty, attempt: "keyfob get a", status: 3,
            code: "keychain.not_initialized", message: ["there is no keychain yet"], hint: ["keyfob init"]),
        ErrorRow(
            testDescription: "unsafe file", home: .empty, before: "secret opensesame pass; chmod 644 pass",
            attempt: "keyfob init --pin-source file:pass", status: 12, code: "file.unsafe",
            message: ["pass can be read by other users (mode 0644)"], hint: ["chmod 600 pass", "--insecure-file"],
            details: ["mode", "path"]),
    ]

    /// Keys, certificates and identities.
    static let certificates = [
        ErrorRow(
            testDescription: "ambiguous",
            before: "for name in web api old; do pair $name example; keyfob identity import -q $name.key $name.pem --name $name; done",
            attempt: "keyfob identity show example", status: 4, code: "item.ambiguous",
            message: [#""example" matches 3 identities: "#, "api", "old", "web"], hint: ["Use the full name", "sha256:"]),
        ErrorRow(
            testDescription: "damaged PKCS#12", before: "pkcs12; head -c 200 web.p12 > cut.p12",
            attempt: "keyfob identity import cut.p12 --name web --pass-source file:pass", status: 9, code: "pkcs12.damaged",
            message: ["cut.p12 is damaged: it ends after 200 of "], hint: ["sha256sum cut.p12", "passphrase was not checked"],
            details: ["file"]),
        ErrorRow(
            testDescription: "wrong passphrase", before: "pkcs12; secret wrong wrong",
            attempt: "keyfob identity import web.p12 --name web --pass-source file:wrong", status: 5,
            code: "pkcs12.passphrase", message: ["wrong passphrase for web.p12"],
            hint: ["--pass-source file:wrong (a trailing newline"], details: ["file"]),
        ErrorRow(
            testDescription: "wrong passphrase of a variable", before: "pkcs12",
            attempt: "export WRONG=no; keyfob cert import web.p12 --pass-source env:WRONG", status: 5,
            code: "pkcs12.passphrase", message: ["wrong passphrase for web.p12"], hint: ["--pass-source env:WRONG ("],
            details: ["file"]),
        ErrorRow(
            testDescription: "wrong passphrase of a command", before: "pkcs12",
            attempt: "keyfob identity import web.p12 --pass-source 'cmd:echo no'", status: 5,
            code: "pkcs12.passphrase", message: ["wrong passphrase for web.p12"], hint: ["--pass-source cmd:… ("],
            details: ["file"]),
        ErrorRow(
            testDescription: "MAC fails but content decrypts",
            before: """
                pkcs12
                python3 -c 'd = bytearray(open("web.p12", "rb").read()); d[-30] ^= 1; open("changed.p12", "wb").write(d)'
                """,
            attempt: "keyfob identity import changed.p12 --name web --pass-source file:pass", status: 9,
            code: "pkcs12.tampered",
            message: ["changed.p12 was changed after it was made", "the passphrase opens it", "integrity check fails"],
            hint: ["Ask for a new copy"], details: ["file"]),
        ErrorRow(
            testDescription: "old encryption",
            before: """
                pkcs12
                openssl pkcs12 -export -legacy -certpbe PBE-SHA1-RC2-40 -keypbe PBE-SHA1-3DES -inkey web.key -in web.pem \
                    -passout file:pass -out old.p12
                """,
            attempt: "keyfob identity import old.p12 --name web --pass-source file:pass", status: 8, code: "pkcs12.legacy",
            message: ["old.p12 uses 40-bit RC2"], hint: ["--allow-legacy", "AES-256"], details: ["file"]),
        ErrorRow(
            testDescription: "key/certificate mismatch",
            before: "keyfob key generate -q api; pair api example", attempt: "keyfob identity install api --cert api.pem",
            status: 11, code: "identity.mismatch",
            message: [#"api.pem was not issued for key "api": public keys differ"#],
            hint: [
                "The certificate belongs to key sha256:", "yours is sha256:", "That key is not in the keychain either.",
            ],
            details: ["key", "certificate_key"]),
        ErrorRow(
            testDescription: "key/certificate mismatch of an import", before: "pair a a; pair b b",
            attempt: "keyfob identity import a.key b.pem --name a", status: 11, code: "identity.mismatch",
            message: ["b.pem was not issued for the key of a.key: public keys differ"],
            hint: ["That key is not in the keychain either."]),
        ErrorRow(
            testDescription: "expired certificate", before: "pair old old 20200101000000Z 20200201000000Z",
            attempt: "keyfob identity import old.key old.pem --name old", status: 11, code: "cert.expired",
            message: [#"certificate "old" expired on 2020-02-01 ("#, " ago)"], hint: ["Continue anyway: --allow-expired"],
            details: ["certificate", "not_after"]),
        ErrorRow(
            testDescription: "expired certificate, verified",
            before: """
                pair old old 20200101000000Z 20200201000000Z
                keyfob identity import -q old.key old.pem --name old --allow-expired
                """,
            attempt: "keyfob cert verify old", status: 11, code: "cert.expired",
            message: [#"certificate "old" expired on 2020-02-01"#], hint: ["keyfob identity import FILE --name old --replace", "keyfob identity renew old --self-signed"]),
        ErrorRow(
            testDescription: "not yet valid", before: "pair web web 20990101000000Z 20990201000000Z",
            attempt: "keyfob identity import web.key web.pem --name web", status: 11, code: "cert.not_yet_valid",
            message: [#"certificate "web" is valid only from 2099-01-01T00:00:00Z; this machine's clock says 20"#],
            hint: ["Check the clock (timedatectl) or wait", "--allow-expired"], details: ["certificate"], isSteady: false),
        ErrorRow(
            testDescription: "incomplete chain", before: "chain; keyfob identity import -q web.key web.pem --name web",
            attempt: "keyfob cert verify web", status: 11, code: "cert.chain_incomplete",
            message: [#"no issuer certificate for "web" (issuer CN=R10)"#],
            hint: ["keyfob cert import FILE"], details: ["certificate", "fingerprint"]),
        ErrorRow(
            testDescription: "untrusted",
            before: "chain; keyfob identity import -q web.key web.pem r10.pem --name web",
            attempt: "keyfob cert verify web --untrusted root.pem", status: 11, code: "cert.untrusted",
            message: [#"certificate "web" leads to "Root", which you have not decided to trust"#], hint: ["keyfob trust add"]),
        ErrorRow(
            testDescription: "untrusted for a usage",
            before: "chain; keyfob identity import -q web.key web.pem r10.pem --name web",
            attempt: "keyfob cert verify web --untrusted root.pem --usage server", status: 11, code: "cert.untrusted",
            message: [#"leads to "Root", which you have not decided to trust"#], hint: ["--for server"]),
        ErrorRow(
            testDescription: "wrong host", before: "trusted", attempt: "keyfob cert verify web --host api.example.org",
            status: 11, code: "cert.host_mismatch", message: [#"certificate "web" is not for host "api.example.org""#],
            hint: ["It is for: www.example.org"]),
        ErrorRow(
            testDescription: "wrong address", before: "trusted", attempt: "keyfob cert verify web --host 10.9.9.9",
            status: 11, code: "cert.host_mismatch", message: [#"certificate "web" is not for address "10.9.9.9""#],
            hint: ["It names no address", "It is for: www.example.org"]),
        ErrorRow(
            testDescription: "a URL for a host", before: "trusted",
            attempt: "keyfob cert verify web --host https://www.example.org:443/x", status: 2, code: "usage",
            message: [#""https://www.example.org:443/x" is a URL"#], hint: ["--host www.example.org"]),
        ErrorRow(
            testDescription: "a name too long for a token", home: .empty,
            attempt: "keyfob keychain create the-keychain-of-the-people-next-door --unattended", status: 2,
            code: "argument.invalid", message: ["a name of at most 32 bytes", "this one has 36"],
            hint: ["called like the keychain", "--token NAME"]),
        ErrorRow(
            testDescription: "an option of another command", attempt: "keyfob identity check web --host 10.9.9.9", status: 2,
            code: "usage", message: ["unknown option '--host'."], hint: ["Commands with this option: keyfob cert verify", "--help"]),
        ErrorRow(
            testDescription: "wrong usage", before: "trusted", attempt: "keyfob cert verify web --usage client", status: 11,
            code: "cert.wrong_usage", message: [#"certificate "web" is not for usage "client""#],
            hint: ["It is for: serverAuth"]),
        ErrorRow(
            testDescription: "expired by then", before: "trusted", attempt: "keyfob cert verify web --at 2099-01-01",
            status: 11, code: "cert.expired", message: [#"certificate "web" expired on "#], hint: ["keyfob identity renew web --issuer ISSUER"]),
        ErrorRow(
            testDescription: "not extractable", before: "pair web web; keyfob identity import -q web.key web.pem --name web",
            attempt: "keyfob identity export web --format pkcs12 -o web.p12", status: 8, code: "key.not_extractable",
            message: [#"key "web" cannot leave token "login": it is marked not extractable"#],
            hint: ["keyfob uri web", "keyfob cert export --chain web"]),
        ErrorRow(
            testDescription: "permission", attempt: "unprivileged trust add ca.pem --scope system", status: 12, code: "refused",
            message: ["cannot write the system trust store: needs root"],
            hint: ["sudo", "keyfob trust add ca.pem --scope user"]),
        ErrorRow(
            testDescription: "a program that cannot use tokens",
            before: "pair web web; keyfob identity import -q web.key web.pem --name web",
            attempt: "keyfob uri web --for haproxy", status: 8, code: "mechanism.unsupported",
            message: ["haproxy reads private keys only from PEM files"], hint: ["keyfob uri web --for nginx"]),
        ErrorRow(
            testDescription: "a program with a certificate of another usage",
            before: "keyfob identity create -q srv --dns localhost --self-signed",
            attempt: "keyfob uri srv --for curl --check", status: 11, code: "cert.wrong_usage",
            message: [#"certificate "srv" is not valid for usage "client", which curl needs"#],
            hint: ["It is valid for: serverAuth", "--usage client"], details: ["certificate"]),
        ErrorRow(
            testDescription: "an issuer that is not there",
            attempt: "keyfob identity create web --cn web --issuer corp", status: 3, code: "item.not_found",
            message: [#"no identity "corp""#], hint: ["keyfob identity ls"]),
        ErrorRow(
            testDescription: "an issuing command that fails",
            attempt: "keyfob identity create web --cn web --issuer exec:false", status: 1, code: "issuer.failed",
            message: [#"the command "false" ended with status 1"#], hint: ["Run it by hand to see why: it reads the request on standard input."], details: ["status"]),
    ]
}

/// Stores three items and damages the second in the database.
private let damagedItem = """
    for name in a b c; do printf v | keyfob set -q $name --stdin; done
    python3 -c 'import sqlite3, sys
    c = sqlite3.connect(sys.argv[1])
    c.execute("update item set attributes_ciphertext = ? where id = 2", (b"x",)); c.commit()' \
        home/.local/share/keyfob/keychains/*/vault.sqlite
    """

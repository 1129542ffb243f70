import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// PostgreSQL's client library, which psql and most drivers use.
struct PostgreSQL: Program {
    static let name = "postgresql"
    static let summary = "clients that use libpq; the server reads its key only from a file"
    static let usesEngine = true
    static let usage = CertificateUsage.client

    static func recipe(for use: TokenUse) throws -> Recipe {
        let engine = try OpenSSLEngine.required(by: name)
        let chain = use.fullChain
        // The format of libpq: the engine's name, a colon, and the engine's key identifier.
        func connection(_ chain: String) -> String {
            "sslcert=\(conninfo(chain)) sslkey=\(conninfo("pkcs11:" + use.uri.description))"
        }
        return Recipe(
            title: "libpq (psql, drivers) reaches the token through OpenSSL's engine \(engine)",
            files: [chain], environment: use.environment,
            lines: [
                "psql "
                    + ShellWord.quoted(
                        "host=HOST dbname=DATABASE user=USER sslmode=verify-full " + connection(use.path(chain))),
            ],
            notes: use.pinNotes + [
                "the server's ssl_key_file must be a file: PostgreSQL passes OpenSSL a path, not a URI"
            ],
            check: check(connection(chain.name), chain.name, root: use.root))
    }

    /// A quoted value of a connection string (PostgreSQL's manual, "Keyword/Value Connection Strings").
    private static func conninfo(_ value: String) -> String {
        "'" + value.escaping("\\'") + "'"
    }

    /// Starts a temporary server that requires a client certificate, and logs in with the certificate.
    private static func check(_ connection: String, _ chain: String, root: Certificate?) -> String {
        // The server does not accept partial chains, so only a root can be the anchor.
        guard let root else {
            return "echo \"the check needs the root of the chain: keyfob cert import FILE\"; exit 77\n"
        }
        return """
        command -v psql >/dev/null || { echo 'psql is not installed'; exit 127; }
        programs=$(ls -d /usr/lib/postgresql/*/bin /usr/pgsql-*/bin 2>/dev/null | tail -n 1)
        [ -x "$programs/postgres" ] || { echo "the check needs PostgreSQL's server, which is not installed"; exit 127; }
        [ "$(id -u)" != 0 ] || { echo "PostgreSQL's server does not run as root: run this as the user that owns the keychain"; exit 77; }
        \(Handshake.functions)
        chain=\(ShellWord.quoted(chain))
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout peer.key -out peer.pem -days 2 \\
            -subj /CN=localhost -addext subjectAltName=DNS:localhost >peer.log 2>&1
        # PostgreSQL maps the whole subject of a certificate, quoted, to a role.
        name=$(openssl x509 -in "$chain" -noout -subject -nameopt RFC2253 | sed 's/^subject=//')
        port=$(port)
        "$programs/initdb" -D data -U keyfob -A trust >init.log 2>&1 || { cat init.log; exit 1; }
        cp peer.pem peer.key "$chain" data/
        chmod 600 data/peer.key
        cat >>data/postgresql.conf <<CONFIGURATION
        listen_addresses = '127.0.0.1'
        port = $port
        unix_socket_directories = ''
        ssl = on
        ssl_cert_file = 'peer.pem'
        ssl_key_file = 'peer.key'
        ssl_ca_file = 'authority.pem'
        CONFIGURATION
        cat >data/authority.pem <<CERTIFICATE
        \(root.pem)
        CERTIFICATE
        printf 'hostssl all all 127.0.0.1/32 cert clientname=DN map=m\\n' >data/pg_hba.conf
        printf 'm "%s" keyfob\\n' "$(printf %s "$name" | sed 's/"/""/g')" >data/pg_ident.conf
        "$programs/postgres" -D data >server.log 2>&1 &
        server=$!
        for attempt in $(seq 150); do
            if PGCONNECT_TIMEOUT=10 psql \\
                "host=localhost hostaddr=127.0.0.1 port=$port user=keyfob dbname=postgres sslmode=verify-full sslrootcert=peer.pem "\(ShellWord.quoted(connection)) \\
                -Atc 'select version from pg_stat_ssl where pid = pg_backend_pid()' >answer.log 2>&1
            then
                break
            fi
            kill -0 "$server" 2>/dev/null || { cat server.log; exit 1; }
            sleep 0.2
        done
        grep -q '^TLSv' answer.log || { cat answer.log server.log; exit 1; }
        cat answer.log

        """
    }
}

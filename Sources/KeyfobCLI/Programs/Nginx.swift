import Foundation
import Keyfob
import KeyfobPrimitives
import PKCS11

/// nginx: a server whose key is on the token, through OpenSSL's engine.
struct Nginx: Program {
    static let name = "nginx"
    static let summary = "a web server"
    static let usesEngine = true
    static let forksAfterLogin = true
    static let usage = CertificateUsage.server
    static let reload: String? = "systemctl reload nginx"
    static var workersUser: WorkersUser? { .ofNginx() }
    /// Variables, and the wildcards of `include`.
    static let unspeakable = ["$", "*", "?", "["]

    static func recipe(for use: TokenUse) throws -> Recipe {
        let engine = try OpenSSLEngine.required(by: name)
        _ = try use.requiredPINFile(name)
        let chain = use.fullChain(for: name)
        let openssl = Recipe.File(
            name: use.stem + ".openssl.cnf",
            content: OpenSSLEngine.configuration(engine: engine, module: use.module))
        // nginx clears the environment of its workers; `env` keeps a variable.
        let environment = use.environment + [("OPENSSL_CONF", use.path(openssl))]
        let service = Recipe.File(
            name: use.stem + ".service.conf",
            content: "[Service]\n"
                + environment.map { "Environment=\(setting($0.name + "=" + $0.value))\n" }.joined())
        let key = TokenUse.doubleQuoted("engine:pkcs11:" + use.uri.description)
        let site = [
            "ssl_certificate     \(TokenUse.doubleQuoted(use.path(chain)));",
            "ssl_certificate_key \(key);",
            "ssl_protocols       TLSv1.2 TLSv1.3;",
        ]
        // A file of its own, written after the files that it names. A renewal with a new key changes certificate and
        // key together. nginx sees both or neither, even if it restarts after a power failure in between.
        let own = Recipe.File(name: use.stem + ".nginx.conf", content: site.map { $0 + "\n" }.joined())
        let included = "include \(TokenUse.doubleQuoted(use.path(own)));"
        let main = environment.map { "env \($0.name);" }
        return Recipe(
            title: "nginx reaches the token through OpenSSL's engine \(engine)",
            // The last file is for configurations written by hand or by older versions of keyfob.
            files: [chain, openssl, service, own, use.fullChain], environment: environment,
            lines: ["# at the top of nginx.conf"] + main
                + ["# in the server block; the file names certificate and key, and a renewal replaces it", included],
            notes: [
                "nginx -t and nginx -s reload need the variables too",
            ] + use.ownerNotes("the user that nginx's workers run as") + [
                "under systemd the variables come from \(use.path(service)):",
                "  install it as /etc/systemd/system/nginx.service.d/keyfob.conf",
            ],
            check: check(main, [included], chain.name))
    }

    /// An assignment in systemd's syntax, in which a percent sign starts a specifier.
    private static func setting(_ text: String) -> String {
        TokenUse.doubleQuoted(text).escaping("%", with: "%")
    }

    /// Serves, reloads with `nginx -s reload`, and serves again with the new workers.
    ///
    /// If root runs the check, the workers run as the user in the configuration of the machine's nginx.
    private static func check(_ main: [String], _ site: [String], _ chain: String) -> String {
        """
        PATH=$PATH:/usr/sbin:/usr/local/sbin
        command -v nginx >/dev/null || { echo 'nginx is not installed'; exit 127; }
        \(Handshake.functions)
        chain=\(ShellWord.quoted(chain))
        port=$(port)
        user=
        if [ "$(id -u)" = 0 ]; then user=\(ShellWord.quoted("user \(WorkersUser.ofNginx().name);")); fi
        cat >nginx.conf <<CONFIGURATION
        daemon off;
        $user
        pid $PWD/nginx.pid;
        error_log $PWD/nginx.log info;
        worker_processes 2;
        \(main.joined(separator: "\n"))
        events { worker_connections 64; }
        http {
            access_log off;
            client_body_temp_path $PWD/body; proxy_temp_path $PWD/proxy; fastcgi_temp_path $PWD/fastcgi;
            uwsgi_temp_path $PWD/uwsgi; scgi_temp_path $PWD/scgi;
            server {
                listen 127.0.0.1:$port ssl;
                \(site.joined(separator: "\n        "))
                location / { return 200; }
            }
        }
        CONFIGURATION
        nginx -p "$PWD" -c "$PWD/nginx.conf" >start.log 2>&1 &
        server=$!
        await "$port" "$chain" || { cat start.log nginx.log handshake.log; exit 1; }
        before=$(workers)
        nginx -p "$PWD" -c "$PWD/nginx.conf" -s reload >>start.log 2>&1
        replaced "$before" || { echo 'no new workers after the reload'; cat nginx.log; exit 1; }
        for connection in 1 2 3 4; do
            await "$port" "$chain" || { echo 'no handshake after the reload'; cat nginx.log handshake.log; exit 1; }
        done
        \(Handshake.report)
        """
    }
}

import Keyfob
import PKCS11

/// Apache's httpd: a server whose key is on the token. mod_ssl accepts the URI in place of a file.
struct HTTPD: Program {
    static let name = "httpd"
    static let summary = "Apache's web server"
    static let usesEngine = true
    static let forksAfterLogin = true
    static let usage = CertificateUsage.server
    static let reload: String? = "systemctl reload apache2"
    static var workersUser: WorkersUser? { .ofHTTPD() }
    /// Variables, and the wildcards of `Include`.
    static let unspeakable = ["${", "*", "?", "["]

    static func recipe(for use: TokenUse) throws -> Recipe {
        let engine = try OpenSSLEngine.required(by: name)
        _ = try use.requiredPINFile(name)
        let chain = use.fullChain(for: name)
        let site = [
            "SSLCertificateFile    \(TokenUse.doubleQuoted(use.path(chain)))",
            "SSLCertificateKeyFile \(TokenUse.doubleQuoted(use.uri.description))",
        ]
        // A file of its own, written after the file that it names, as for nginx.
        let own = Recipe.File(name: use.stem + ".httpd.conf", content: site.map { $0 + "\n" }.joined())
        let included = "Include \(TokenUse.doubleQuoted(use.path(own)))"
        return Recipe(
            title: "httpd (2.4.42 or later) reaches the token through OpenSSL's engine \(engine)",
            files: [chain, own, use.fullChain], environment: use.environment,
            lines: ["# in the VirtualHost; the file names certificate and key, and a renewal replaces it", included],
            notes: [
                "Debian: put the export lines into /etc/apache2/envvars"
            ] + use.ownerNotes("the user of the User directive, which httpd's children run as,"),
            check: check([included], chain.name))
    }

    /// Serves, restarts gracefully, and serves again with the new children.
    ///
    /// If root runs the check, the children run as the user in the configuration of the machine's httpd.
    private static func check(_ site: [String], _ chain: String) -> String {
        """
        PATH=$PATH:/usr/sbin:/usr/local/sbin
        httpd=$(command -v apache2 || command -v httpd) || { echo 'httpd is not installed'; exit 127; }
        user=
        if [ "$(id -u)" = 0 ]; then
            name=\(ShellWord.quoted(WorkersUser.ofHTTPD().name))
            [ "$name" != root ] || { echo 'httpd does not serve as root'; exit 77; }
            user="User $name
        Group $(id -gn "$name")"
        fi
        \(Handshake.functions)
        chain=\(ShellWord.quoted(chain))
        port=$(port)
        for root in /usr/lib/apache2 /usr/lib64/httpd /etc/httpd; do
            if [ -e "$root/modules/mod_ssl.so" ]; then break; fi
        done
        # A separate module on some systems, and part of the program on others.
        if [ -e "$root/modules/mod_unixd.so" ]; then
            user="LoadModule unixd_module modules/mod_unixd.so
        $user"
        fi
        cat >httpd.conf <<CONFIGURATION
        ServerRoot $root
        $user
        ServerName localhost
        PidFile $PWD/httpd.pid
        DefaultRuntimeDir $PWD
        Mutex file:$PWD
        LoadModule mpm_event_module modules/mod_mpm_event.so
        LoadModule authz_core_module modules/mod_authz_core.so
        LoadModule socache_shmcb_module modules/mod_socache_shmcb.so
        LoadModule ssl_module modules/mod_ssl.so
        LoadModule alias_module modules/mod_alias.so
        ErrorLog $PWD/httpd.log
        Listen 127.0.0.1:$port
        <VirtualHost *:$port>
            SSLEngine on
            \(site.joined(separator: "\n    "))
            Redirect 204 /
        </VirtualHost>
        CONFIGURATION
        "$httpd" -f "$PWD/httpd.conf" -DFOREGROUND >start.log 2>&1 &
        server=$!
        await "$port" "$chain" || { cat start.log httpd.log handshake.log; exit 1; }
        before=$(workers)
        "$httpd" -f "$PWD/httpd.conf" -k graceful >>start.log 2>&1
        replaced "$before" || { echo 'no new children after the restart'; cat httpd.log; exit 1; }
        for connection in 1 2 3 4; do
            await "$port" "$chain" || { echo 'no handshake after the restart'; cat httpd.log handshake.log; exit 1; }
        done
        \(Handshake.report)
        """
    }
}

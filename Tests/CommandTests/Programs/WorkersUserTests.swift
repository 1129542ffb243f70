import Foundation
import Glibc
import TestSupport
import Testing

@testable import KeyfobCLI

/// nginx and httpd, which root starts and whose workers run as another user.
@Suite(
    "Workers of another user",
    .enabled(
        if: OpenSSLEngine.path != nil && Machine.hasOwnMounts && Machine.hasServers,
        "needs root, OpenSSL's pkcs11 engine, nginx, and Debian's apache2"))
struct WorkersUserTests {
    @Test("a note for root says that workers cannot read its keychain, and the check reports the same", arguments: [
        ("nginx", "www-data"), ("httpd", "www-data"), ("nginx", "daemon"), ("httpd", "daemon"),
    ])
    func unreachable(program: String, user: String) throws {
        let home = try IdentityHome()
        try #require(home.keyfob("identity", "create", "web", "--dns", "localhost", "--self-signed").status == 0)
        func keyfob(_ arguments: String) throws -> Tool.Result { try self.keyfob(arguments, home, workers: user) }
        let sentence = "\(program) cannot serve connections: its workers run as \(user), which cannot read the token"
        let written = try keyfob("uri web --for \(program) --write '\(home.file("tls"))'")
        #expect(written.status == 0, "\(written.error)")
        #expect(written.output.hasPrefix("# " + sentence), "\(written.output)")
        let document = try IdentityHome.json(keyfob("uri web --for \(program) --json"))
        #expect((document["notes"] as? [String])?.first?.hasPrefix(sentence) == true, "\(document)")
        let check = try keyfob("uri web --for \(program) --check")
        #expect(check.status == 1, "\(check)")
        #expect(check.error.contains(sentence), "\(check.error)")
        #expect(check.error.contains("runuser -u \(user)"), "\(check.error)")
        // Another program runs as the user who starts it.
        #expect(try !keyfob("uri web --for curl").output.contains("workers"))
    }

    @Test("the check of nginx passes where its workers run as root")
    func reachable() throws {
        let home = try IdentityHome()
        try #require(home.keyfob("identity", "create", "web", "--dns", "localhost", "--self-signed").status == 0)
        let check = try keyfob("uri web --for nginx --check", home, workers: "root")
        #expect(check.status == 0, "\(check.error)")
        #expect(!check.output.contains("cannot serve connections"), "\(check.output)")
    }

    /// Runs the command with configurations of the machine's servers that name `user`.
    private func keyfob(_ arguments: String, _ home: IdentityHome, workers user: String) throws -> Tool.Result {
        let script = """
            for name in nginx apache2; do
                [ -e "$SCRATCH/$name" ] || cp -a "/etc/$name" "$SCRATCH/$name"
                mount --bind "$SCRATCH/$name" "/etc/$name"
            done
            sed -i 's/^user .*/user  \(user) ;/' /etc/nginx/nginx.conf
            sed -i 's/^export APACHE_RUN_USER=.*/export APACHE_RUN_USER=\(user)/' /etc/apache2/envvars
            exec "$KEYFOB" \(arguments)
            """
        return try Tool(
            "/usr/bin/unshare", ["-m", "--propagation", "private", "sh", "-euc", script],
            environment: home.environment.merging(["KEYFOB": Tool.keyfob([]).path, "SCRATCH": home.directory.path]) { $1 }
        ).run()
    }

    @Test("the recipes of the article Servers, followed literally on a fresh machine, serve and renew")
    func recipes() throws {
        let directory = try TemporaryDirectory()
        for name in ["nginx", "httpd"] {
            let text = try Self.recipe(name)
            #expect(text.contains("$(keyfob-www uri web)"))
            // No authority here would issue a certificate for the name.
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
                line.hasPrefix("name=") ? "name=localhost" : line.hasPrefix("issue=") ? "issue=--self-signed" : line
            }
            try directory.write(lines.joined(separator: "\n").utf8, to: name + ".sh")
        }
        try directory.write(Self.machine.utf8, to: "machine.sh")
        let result = try Tool(
            "/usr/bin/unshare",
            ["-m", "-n", "-p", "-f", "--kill-child", "--mount-proc", "--propagation", "private", "sh",
                directory.file("machine.sh"), directory.path, Tool.keyfob([]).path],
            environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
        ).run()
        #expect(result.status == 0, "\(result.output)\(result.error)")
        let proofs = result.output.split(separator: "\n").filter { $0.contains(" serves") }
        #expect(
            proofs == ["nginx serves", "nginx serves the renewed one", "httpd serves", "httpd serves the renewed one"],
            "\(result.output)\(result.error)")
    }

    /// Returns the commands of a recipe in the article Servers.
    private static func recipe(_ name: String) throws -> String {
        let article = "Sources/Keyfob/Documentation.docc/Servers.md"
        let text = try String(contentsOf: Machine.repository.appendingPathComponent(article), encoding: .utf8)
        let start = try #require(text.range(of: "\n```sh \(name)\n"))
        let end = try #require(text.range(of: "\n```\n", range: start.upperBound..<text.endIndex))
        return String(text[start.upperBound..<end.lowerBound]) + "\n"
    }

    /// A separate machine, as far as servers and their files are concerned: stock configuration, no keychain, and a
    /// systemctl that follows the unit files of Debian's packages.
    private static let machine = """
        set -eu
        scratch=$1 keyfob=$2
        chmod 755 "$scratch"
        cd /
        mkdir -m 755 "$scratch/root" "$scratch/stand-ins"
        own() { # DIRECTORY: an empty one in its place
            mkdir -p -m 755 "$scratch/root$1" "$1"
            mount --bind "$scratch/root$1" "$1"
        }
        copied() { # DIRECTORY: a copy in its place
            mkdir -p -m 755 "$scratch/root$1"
            cp -a "$1/." "$scratch/root$1/"
            mount --bind "$scratch/root$1" "$1"
        }
        copied /etc/nginx
        copied /etc/apache2
        for directory in /var/lib /var/log /run /etc/systemd/system /etc/cron.daily /usr/local/sbin /usr/local/bin; do
            own "$directory"
        done
        mkdir -p /var/lib/nginx /var/lib/apache2 /var/log/nginx /var/log/apache2 /run/lock
        install -m 755 "$keyfob" /usr/local/bin/keyfob
        ip link set lo up
        # Sites of the package listen at IPv6, which a container may not have.
        rm -f /etc/nginx/sites-enabled/default

        echo '#!/bin/sh' >"$scratch/stand-ins/apt-get"
        cat >"$scratch/stand-ins/systemctl" <<'END'
        #!/bin/sh -eu
        nginx() { env $(sed -n 's/^Environment="\\(.*\\)"$/\\1/p' /etc/systemd/system/nginx.service.d/*.conf) nginx "$@"; }
        export APACHE_STARTED_BY_SYSTEMD=true
        case "$*" in
        daemon-reload) ;;
        "restart nginx") nginx -t -q && nginx ;;
        "reload nginx") nginx -s reload ;;
        "restart apache2") apachectl start ;;
        "reload apache2") apachectl graceful ;;
        *) echo "systemctl $*: unexpected" >&2; exit 1 ;;
        esac
        END
        chmod 755 "$scratch/stand-ins/"*
        PATH=$scratch/stand-ins:/usr/local/sbin:/usr/local/bin:$PATH

        # The fingerprint that is served, where the server has proved that it holds the key: it sends the certificate
        # before that, and the status says how the handshake ended.
        served() {
            timeout 10 openssl s_client -connect 127.0.0.1:443 -servername "$name" -CAfile /var/lib/keyfob/web.pem \\
                -partial_chain -verify_return_error </dev/null >"$scratch/handshake.log" 2>&1 || return 1
            openssl x509 -noout -fingerprint -sha256 <"$scratch/handshake.log"
        }
        wanted() { openssl x509 -in /var/lib/keyfob/web.pem -noout -fingerprint -sha256; }
        await() {
            for attempt in $(seq 100); do
                if [ "$(served || :)" = "$(wanted)" ]; then echo "$1"; return 0; fi
                sleep 0.2
            done
            cat "$scratch/handshake.log" /var/log/nginx/error.log /var/log/apache2/error.log
            return 1
        }
        for server in nginx httpd; do
            . "$scratch/$server.sh"
            await "$server serves"
            # It is not due yet.
            sed 's/renew --all/& --force/' /etc/cron.daily/keyfob >"$scratch/renewal"
            before=$(wanted)
            sh -e "$scratch/renewal" >&2
            [ "$before" != "$(wanted)" ]
            await "$server serves the renewed one"
            # Nothing that root reads as configuration is another user's.
            [ -z "$(find /etc/nginx /etc/apache2 /etc/systemd/system /etc/cron.daily -not -user root)" ]
            if [ "$server" = nginx ]; then kill "$(cat /run/nginx.pid)"; fi
        done

        """
}

import Foundation
import TestSupport
import Testing

/// Two processes that renew one identity.
@Suite struct RenewalLockTests {
    /// A keychain with identity `web`, whose first renewal waits before it requests its certificate, until the file
    /// `hold` is removed.
    private struct Bench {
        let home: IdentityHome
        let server: ScriptedACMEServer

        init() throws {
            home = try IdentityHome()
            server = try ScriptedACMEServer(home, fault: "")
            try home.interposeCurl(
                """
                case $url in
                */cert*) [ ! -e hold ] || touch held; while [ -e hold ]; do sleep 0.05; done ;;
                esac
                exec /usr/bin/curl "$@"
                """)
            let made = try home.keyfob(
                "identity", "create", "web", "--dns", "web.example", "--issuer", "acme:" + server.directory,
                "--agree-tos", "--web-root", home.file("www"), "--acme-ca", home.file("acme-ca.pem"))
            try #require(made.status == 0, "\(made.error)")
        }

        /// Runs a script in which `$keyfob` is the command, while a renewal with a new key waits for its certificate;
        /// `$first` is its process.
        ///
        /// - Returns: How the first one ended, and its output.
        func beside(_ script: String) throws -> String {
            try home.shell(
                """
                touch hold
                PATH="$PWD/bin:$PATH" "$keyfob" identity renew web --force --new-key > first 2>&1 &
                first=$!
                for i in $(seq 1200); do [ -e held ] && break; sleep 0.05; done
                [ -e held ] || { cat first; exit 1; }
                {
                \(script)
                } > log 2>&1 || { cat log; rm -f hold; exit 1; }
                rm -f hold
                status=0; wait $first || status=$?
                echo "status $status"; cat first
                """, environment: ["keyfob": Tool.keyfob([]).path])
        }

        /// Adds identity `old`, which is due, and a program that issues its next certificate after `hold` is gone.
        func makeDue() throws {
            try home.shell(
                """
                cat > issue <<'END'
                cd "$(dirname "$0")"
                touch held
                while [ -e hold ]; do sleep 0.05; done
                openssl x509 -req -CA acme-ca.pem -CAkey acme-ca.key -CAcreateserial -days 5 -copy_extensions copy
                END
                """)
            let made = try home.keyfob(
                "identity", "create", "old", "--dns", "old.example", "--self-signed", "--lifetime", "2s")
            try #require(made.status == 0, "\(made.error)")
            usleep(2_000_000)
        }

        func publicKeys() throws -> Set<String> {
            let listed = try home.keyfob("key", "ls", "--format", "tsv").output.split(separator: "\n").dropFirst()
            let labels = listed.compactMap { $0.split(separator: "\t").first.map(String.init) }
            return Set(labels.filter { $0.hasPrefix("web") })
        }
    }

    @Test func `a renewal with the same key does not use the key of another renewal in progress`() throws {
        let bench = try Bench()
        let first = try bench.beside(
            """
            status=0
            "$keyfob" identity renew web --force --same-key --self-signed --timeout 1s > second 2>&1 || status=$?
            echo "status $status" >> second
            """)
        let second = try bench.home.shell("cat second")
        #expect(second.contains("another renewal of identity \"web\" is under way, by keyfob (pid "), "\(second)")
        #expect(second.contains("wait longer: --timeout") && second.contains("status 13"), "\(second)")
        #expect(first.contains("status 0") && first.contains("installed"), "\(first)")
        #expect(try bench.publicKeys().count == 2)
        #expect(try bench.home.keyfob("identity", "check", "web").status == 0)
        let next = try bench.home.keyfob("identity", "renew", "web", "--force", "--same-key", "--self-signed")
        #expect(next.status == 0, "\(next.error)")
    }

    @Test func `a renewal that waited for another does not bring back the replaced key`() throws {
        let bench = try Bench()
        let first = try bench.beside(
            """
            "$keyfob" identity renew web --force --same-key --self-signed --timeout 200s > second 2>&1 &
            second=$!
            until ls -l /proc/$second/fd | grep -q order-locks; do kill -0 $second; sleep 0.05; done
            rm hold
            status=0; wait $second || status=$?
            echo "status $status" >> second
            """)
        #expect(first.contains("status 0"), "\(first)")
        let second = try bench.home.shell("cat second")
        #expect(second.contains("was changed by another process meanwhile; nothing was done"), "\(second)")
        #expect(second.contains("status 13"), "\(second)")
        #expect(try bench.publicKeys().count == 2)
        let current = try bench.home.keyfob("identity", "show", "web")
        #expect(current.status == 0 && !current.output.contains("elf-signed"), "\(current.output)")
    }

    @Test func `a renewal does not undo an import that overtook it, and its order is kept`() throws {
        let bench = try Bench()
        try bench.home.makeSelfSigned("new")
        let first = try bench.beside(#""$keyfob" identity import new.key new.pem --name web --replace"#)
        #expect(first.contains("status 13"), "\(first)")
        #expect(first.contains("meanwhile; the certificate that was issued for the version before is not"), "\(first)")
        #expect(first.contains("The key is kept, and the next attempt uses it"), "\(first)")
        try #require(bench.home.keyfob("cert", "export", "web", "-o", bench.home.file("now.pem")).status == 0)
        try bench.home.shell(
            """
            openssl x509 -in new.pem -outform DER -out new.der; openssl x509 -in now.pem -outform DER | cmp - new.der
            """)
        // Putting the previous version back gives the certificate that was issued for it.
        let imported = try bench.home.shell("cat log")
        let before = try #require(imported.firstMatch(of: /web@[0-9-]+/), "\(imported)").0
        #expect(try bench.home.keyfob("identity", "use", String(before)).status == 0)
        let renewed = try bench.home.keyfob("identity", "renew", "web", "--force")
        #expect(renewed.status == 0 && renewed.output.contains("  order of before found, "), "\(renewed)")
    }

    @Test func `the second of two simultaneous timers has nothing to do`() throws {
        let bench = try Bench()
        try bench.makeDue()
        let output = try bench.home.shell(
            """
            touch hold
            renew() { "$keyfob" identity renew old --issuer "exec:/bin/sh $PWD/issue" --timeout 200s > "$1" 2>&1; }
            (renew first) & first=$!
            for i in $(seq 1200); do [ -e held ] && break; sleep 0.05; done
            (renew second) & second=$!
            until ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c "$PWD.*order-locks" | grep -qx 2; do
                kill -0 $second && kill -0 $first
                sleep 0.05
            done
            rm hold
            wait $first; wait $second; cat first second
            """, environment: ["keyfob": Tool.keyfob([]).path])
        let remark = "no longer needed: identity \"old\" was changed by another process meanwhile"
        #expect(output.contains(remark), "\(output)")
        #expect(output.split(separator: "\n").count { $0.contains("installed") } == 1, "\(output)")
    }

    /// The lifetime of the certificate that `b` gets in the meantime, which decides if it is due again.
    @Test(arguments: [("30d", "status 0"), ("2s", "status 13")])
    func `an identity renewed since the list of all was made keeps its new key`(
        lifetime: String, status: String
    ) throws {
        let bench = try Bench()
        try bench.home.makeLateIssuer("acme-ca")
        try bench.home.shell(
            """
            echo '90 days ago' > begin
            cat > issue <<'END'
            cd "$(dirname "$0")"
            touch held
            while [ -e hold ]; do sleep 0.05; done
            exec ./issue-late
            END
            """)
        for (name, options) in [
            ("a", ["--issuer", "exec:/bin/sh " + bench.home.file("issue")]),
            ("b", ["--self-signed", "--lifetime", "2s"]),
        ] {
            let made = try Tool.keyfob(
                ["identity", "create", name, "--dns", "\(name).example"] + options,
                environment: bench.home.environment
            ).run()
            try #require(made.status == 0, "\(made.error)")
        }
        let all = try bench.home.shell(
            """
            rm held; touch hold
            "$keyfob" identity renew --all > all 2>&1 &
            all=$!
            for i in $(seq 1200); do [ -e held ] && break; sleep 0.05; done
            {
            "$keyfob" identity renew b --force --new-key --lifetime \(lifetime)
            "$keyfob" cert export b -o before.pem
            } > log 2>&1 || { cat log all; rm -f hold; exit 1; }
            rm hold
            status=0; wait $all || status=$?
            "$keyfob" cert export b -o after.pem > log
            cmp before.pem after.pem
            echo "status $status"; cat all
            """, environment: ["keyfob": Tool.keyfob([]).path])
        #expect(all.hasPrefix(status + "\n") && all.contains("installed"), "\(all)")
        let remark = "identity \"b\" was changed by another process meanwhile; nothing was done."
        #expect(all.contains(remark) && all.contains("no longer needed") == (lifetime == "30d"), "\(all)")
    }

    @Test(arguments: ["mkdir \"$f\"", "ln -s /etc/passwd \"$f\""])
    func `an unavailable lock does not prevent a renewal`(place: String) throws {
        let home = try IdentityHome()
        #expect(try home.keyfob("identity", "create", "web", "--dns", "web.example", "--self-signed").status == 0)
        try home.shell("f=$(find home/.local/state -path '*/order-locks/*/*' -type f); rm \"$f\"; \(place)")
        let renewed = try home.keyfob("identity", "renew", "web", "--force")
        #expect(renewed.status == 0, "\(renewed.error)")
    }

    @Test func `a killed renewal leaves nothing that delays the next one`() throws {
        let bench = try Bench()
        // A child of the killed process is still running.
        let first = try bench.beside(
            """
            kill -9 $first
            "$keyfob" identity renew web --force --same-key --self-signed --timeout 200s
            """)
        #expect(first.contains("status 137"), "\(first)")
        #expect(try bench.publicKeys() == ["web"])
        #expect(try bench.home.keyfob("keychain", "rm", "login", "--yes").status == 0)
        #expect(try bench.home.shell("find home/.local/state -path '*/order-locks/*'") == "")
    }
}

/// Parts of the scripts that `--check` runs.
enum Handshake {
    /// Shell functions:
    ///
    /// - `port` prints a free TCP port.
    /// - `handshake PORT CHAIN` makes one TLS connection, and fails unless the server proves that it has the key of the
    ///   first certificate in CHAIN.
    /// - `await PORT CHAIN` repeats that for ten seconds.
    /// - `listening LOG` sets `$port` to the port of the `openssl s_server` that writes LOG.
    /// - `workers` lists the children of the server.
    /// - `replaced WORKERS` waits for a child that is not among them.
    ///
    /// The leaf itself is the trust anchor, because the check is about the key and not about trust.
    static let functions = """
        port() {
            python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])' 2>/dev/null ||
                awk 'BEGIN { srand(); print int(20000 + rand() * 12000) }'
        }
        handshake() {
            timeout 10 env -u OPENSSL_CONF openssl s_client -connect "127.0.0.1:$1" -CAfile "$2" -partial_chain \\
                -verify_return_error -no_ign_eof </dev/null >handshake.log 2>&1 || return 1
            grep -q '^ *Verif.*: *\\(0 (ok)\\|OK\\)' handshake.log
        }
        await() {
            for attempt in $(seq 50); do
                if handshake "$1" "$2"; then return 0; fi
                kill -0 "$server" 2>/dev/null || return 1
                sleep 0.2
            done
            return 1
        }
        listening() {
            for attempt in $(seq 300); do
                port=$(sed -n 's/^ACCEPT .*:\\([0-9][0-9]*\\)$/\\1/p' "$1" | head -n 1)
                if [ -n "$port" ]; then return 0; fi
                sleep 0.1
            done
            cat "$1"
            return 1
        }
        workers() { pgrep -P "$server" | sort | tr '\\n' ' '; }
        replaced() {
            for attempt in $(seq 300); do
                for worker in $(workers); do case " $1 " in *" $worker "*) ;; *) return 0 ;; esac; done
                sleep 0.1
            done
            return 1
        }
        stop() { kill "$server" 2>/dev/null && wait "$server" 2>/dev/null || true; }
        trap stop EXIT
        server=

        """

    /// A script for clients that starts `openssl s_server` on `$port`; the server requires a certificate.
    ///
    /// The server's key is generated for the check, in the directory of the check.
    static let mutualServer = """
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout peer.key -out peer.pem -days 2 \\
            -subj /CN=localhost -addext subjectAltName=DNS:localhost >peer.log 2>&1
        env -u OPENSSL_CONF openssl s_server -key peer.key -cert peer.pem -Verify 5 -CAfile "$chain" -partial_chain \\
            -verify_return_error -www -accept 127.0.0.1:0 </dev/null >server.log 2>&1 &
        server=$!
        listening server.log || exit 1

        """

    /// The end of a check: prints the protocol of the last connection.
    static let report = """
        sed -n 's/^ *Protocol *: *//p; s/^New, \\(TLSv[0-9.]*\\), Cipher is \\(.*\\)/\\1 \\2/p' handshake.log | head -n 1

        """
}

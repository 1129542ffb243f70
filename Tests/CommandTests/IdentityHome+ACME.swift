extension IdentityHome {
    /// Creates the files that an ACME server on this machine needs: its certificate `acme.pem` with `acme.key`, which
    /// `acme-ca.pem` has signed, and the directory `www`.
    func makeFilesOfACMEServer() throws {
        try shell(
            """
            {
            mkdir www
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout acme-ca.key -out acme-ca.pem -days 5 -subj /CN=acme-ca
            openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout acme.key -out acme.csr -subj /CN=acme
            printf 'subjectAltName=IP:127.0.0.1\\n' > acme.ext
            openssl x509 -req -in acme.csr -CA acme-ca.pem -CAkey acme-ca.key -CAcreateserial -days 5 -extfile acme.ext -out acme.pem
            } > openssl.log 2>&1 || { cat openssl.log; exit 1; }
            """)
    }

    /// Puts a program called `curl` into `bin`, for commands whose PATH begins with that.
    ///
    /// - Parameter body: Lines of sh(1), run in the home's directory with the requested URL in `$url`; the real one is
    ///   /usr/bin/curl.
    func interposeCurl(_ body: String) throws {
        try shell(
            """
            mkdir bin
            cat > bin/curl <<'END'
            #!/bin/sh
            cd "$(dirname "$0")/.."
            for url; do :; done
            \(body)
            END
            chmod +x bin/curl
            """)
    }
}

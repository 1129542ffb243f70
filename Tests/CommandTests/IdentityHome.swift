import Foundation
import TestSupport
import Testing

/// A home directory with an unattended keychain and files made by openssl, for one test.
struct IdentityHome {
    let directory: TemporaryDirectory

    /// The environment of every command of the test.
    var environment: [String: String] {
        ["HOME": directory.file("home"), "XDG_RUNTIME_DIR": directory.file("run"), "KEYFOB_NO_INPUT": "1"]
    }

    init() throws {
        directory = try TemporaryDirectory()
        for name in ["home", "run"] {
            try FileManager.default.createDirectory(
                atPath: directory.file(name), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700]
            )
        }
        try directory.write("secret\n".utf8, to: "pass")
        let result = try keyfob("init", "--unattended")
        try #require(result.status == 0, "\(result.error)")
    }

    /// The path of a file of the test.
    func file(_ name: String) -> String { directory.file(name) }

    /// Runs the command under test.
    func keyfob(_ arguments: String...) throws -> Tool.Result {
        try Tool.keyfob(arguments, environment: environment).run()
    }

    /// Runs a script of sh in the test's directory; its failure is a failure of the test.
    @discardableResult
    func shell(_ script: String, environment more: [String: String] = [:]) throws -> String {
        let result = try Tool(
            "/bin/sh", ["-euc", "cd \"$1\"; " + script, "sh", directory.path],
            environment: environment.merging(more) { $1 }
        ).run()
        try #require(result.status == 0, "\(result.output)\(result.error)")
        return result.output
    }

    /// Free ports of this machine, for servers that cannot choose one themselves.
    ///
    /// They are below the ports that the kernel assigns, so no other test gets one in the meantime.
    func freePorts(_ count: Int) throws -> [String] {
        try shell(
            """
            python3 - <<END
            import random, socket
            sockets = []
            while len(sockets) < \(count):
                s = socket.socket()
                try: s.bind(("127.0.0.1", random.randrange(10000, 32000)))
                except OSError: continue
                sockets.append(s)
            print(*(s.getsockname()[1] for s in sockets))
            END
            """
        ).split(whereSeparator: \.isWhitespace).map(String.init)
    }

    /// The code of the error that a command printed as JSON.
    static func code(_ result: Tool.Result) throws -> String? {
        let object = try JSONSerialization.jsonObject(with: Data(result.error.utf8)) as? [String: Any]
        return (object?["error"] as? [String: Any])?["code"] as? String
    }

    /// The document that a command printed, which must have succeeded.
    static func json(_ result: Tool.Result) throws -> [String: Any] {
        try #require(result.status == 0, "\(result.error)")
        return try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
    }

    /// A root and an intermediate of openssl, and a script `sign` that issues a request.
    func makeAuthority() throws {
        try shell(
            """
            {
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout root.key -out root.pem -days 30 -subj /CN=Root
            openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout r10.key -out r10.csr -subj /CN=R10
            printf 'basicConstraints=critical,CA:TRUE\\n' > authority
            openssl x509 -req -in r10.csr -CA root.pem -CAkey root.key -CAcreateserial -days 20 -extfile authority -out r10.pem
            } > openssl.log 2>&1 || { cat openssl.log; exit 1; }
            cat > sign <<END
            #!/bin/sh -e
            openssl x509 -req -CA $PWD/r10.pem -CAkey $PWD/r10.key -CAcreateserial -days \\${1:-10} -copy_extensions copy 2>/dev/null
            cat $PWD/r10.pem
            END
            chmod +x sign
            """)
    }

    /// Creates a script `issue-late`, which issues a request with `NAME.key` and `NAME.pem`. The certificate is valid
    /// from the time in the file `begin`, in the format of date(1); at first, that is tomorrow.
    func makeLateIssuer(_ name: String) throws {
        try shell(
            """
            printf '[ca]\ndefault_ca=d\n[d]\ndatabase=late.index\nrand_serial=yes\nnew_certs_dir=.\n' > late.conf
            printf 'policy=p\ndefault_md=sha256\nunique_subject=no\ncopy_extensions=copy\n' >> late.conf
            printf '[p]\ncommonName=optional\n' >> late.conf
            : > late.index
            echo tomorrow > begin
            cat > issue-late <<END
            #!/bin/sh -e
            cd $PWD
            cat > late.csr
            openssl ca -batch -notext -config late.conf -cert \(name).pem -keyfile \(name).key -in late.csr \
                -startdate "\\$(date -u -d "\\$(cat begin)" +%Y%m%d%H%M%SZ)" \
                -enddate "\\$(date -u -d '9 days' +%Y%m%d%H%M%SZ)" 2>/dev/null
            END
            chmod +x issue-late
            """)
    }

    /// Makes `root.pem`, `r10.pem` (an intermediate), `web.key`, `web.pem` and `web.p12`, encrypted with the passphrase
    /// in `pass`.
    func makeWeb(days: Int = 412) throws {
        try shell(
            """
            {
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout root.key -out root.pem -days 3000 -subj /CN=Root
            openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout r10.key -out r10.csr -subj /CN=R10
            printf 'basicConstraints=critical,CA:TRUE\\n' > authority
            openssl x509 -req -in r10.csr -CA root.pem -CAkey root.key -CAcreateserial -days 2000 -extfile authority -out r10.pem
            openssl req -new -newkey rsa:2048 -nodes -keyout web.key -out web.csr -subj /CN=www.example.org
            printf 'subjectAltName=DNS:www.example.org,DNS:localhost\\nextendedKeyUsage=serverAuth\\nbasicConstraints=critical,CA:FALSE\\n' > leaf
            openssl x509 -req -in web.csr -CA r10.pem -CAkey r10.key -CAcreateserial -days \(days) -extfile leaf -out web.pem
            cat r10.pem root.pem > above.pem
            openssl pkcs12 -export -inkey web.key -in web.pem -certfile above.pem -passout file:pass -out web.p12
            } >openssl.log 2>&1 || { cat openssl.log; exit 1; }
            """)
    }

    /// Makes `NAME.key` and `NAME.pem`, self-signed; `days` may be negative, and `begin` is in openssl's form.
    func makeSelfSigned(
        _ name: String, commonName: String? = nil, begin: String = "20200101000000Z", days: Int = 90
    ) throws {
        try shell(
            """
            {
            openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout \(name).key -out \(name).csr -subj /CN=\(commonName ?? name)
            printf '[ca]\ndefault_ca=d\n[d]\ndatabase=index\nserial=serial\nnew_certs_dir=.\npolicy=p\ndefault_md=sha256\nunique_subject=no\n[p]\ncommonName=supplied\n' > ca.conf
            : > index
            openssl rand -hex 8 > serial
            openssl ca -batch -selfsign -notext -config ca.conf -keyfile \(name).key -in \(name).csr -out \(name).pem \
                -startdate \(begin) -enddate "$(date -u -d '\(days) days' +%Y%m%d%H%M%SZ)"
            } >openssl.log 2>&1 || { cat openssl.log; exit 1; }
            """)
    }
}

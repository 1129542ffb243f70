import Foundation
import Glibc
import TestSupport
import Testing

/// An unattended keychain of a user who is not root, with two identities of one authority: `imported`, whose key came
/// from a file, and `generated`, whose key was made on the token.
///
/// Servers refuse to run as root. So if the tests run as root, everything belongs to `nobody` and runs as that user.
struct ServingHome {
    let directory: TemporaryDirectory
    private let prefix: [String]

    /// - Parameter keepsUser: whether everything runs as the tests do; OpenSSH's server accepts no login as `nobody`.
    init(keyType: String, keepsUser: Bool = false) throws {
        directory = try TemporaryDirectory()
        let isRoot = geteuid() == 0 && !keepsUser
        prefix = isRoot ? ["/usr/bin/setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] : []
        // A copy, because that user may not be able to read the build. A separate program makes it: a child that
        // another test starts could otherwise inherit a descriptor for writing, and the copy could not be executed.
        try #require(
            Tool(
                "/usr/bin/install",
                ["-m", "755", Tool.commandPath, directory.file("keyfob")]
            ).run().status == 0)
        if isRoot {
            try #require(Tool("/bin/chown", ["nobody:nogroup", directory.path]).run().status == 0)
        }
        let (generate, request) =
            keyType == "rsa" ? ("--type rsa --size 2048", "rsa:2048")
                : ("--type ec --curve p256", "ec -pkeyopt ec_paramgen_curve:P-256")
        try shell(
            """
            {
            mkdir -m 700 home run
            ./keyfob init --unattended
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout root.key -out root.pem -days 30 -subj /CN=Root
            printf 'subjectAltName=DNS:localhost\\nbasicConstraints=critical,CA:FALSE\\n' >leaf
            openssl req -new -newkey \(request) -nodes -keyout imported.key -out imported.csr -subj /CN=imported
            ./keyfob key generate generated \(generate)
            (
                eval "$(./keyfob uri generated --env)"
                openssl req -new -engine pkcs11 -keyform engine -key "$(./keyfob uri generated)" -out generated.csr -subj /CN=generated
            )
            for name in imported generated; do
                openssl x509 -req -in $name.csr -CA root.pem -CAkey root.key -CAcreateserial -days 20 -extfile leaf -out $name.pem
            done
            ./keyfob identity import imported.key imported.pem --name imported
            rm imported.key
            ./keyfob cert import generated.pem --name generated
            ./keyfob cert import root.pem --name root
            } >setup.log 2>&1 || { cat setup.log; exit 1; }
            """)
    }

    /// Runs a script of sh as the keychain's user, in the test's directory.
    func run(_ script: String) throws -> Tool.Result {
        let words = prefix + ["/bin/sh", "-euc", "cd \"$1\"; " + script, "sh", directory.path]
        return try Tool(
            words[0], Array(words.dropFirst()),
            environment: [
                "HOME": directory.file("home"), "XDG_RUNTIME_DIR": directory.file("run"), "KEYFOB_NO_INPUT": "1",
                "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": directory.path,
            ]
        ).run()
    }

    /// Runs a script that must succeed, and returns its output.
    @discardableResult
    func shell(_ script: String) throws -> String {
        let result = try run(script)
        try #require(result.status == 0, "\(result.output)\(result.error)")
        return result.output
    }
}

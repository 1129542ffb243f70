import Foundation
import TestSupport
import Testing

@testable import KeyfobCLI

/// Secrets for `LoadCredential=` of systemd.
@Suite struct SystemdCredentialTests {
    private let home: IdentityHome

    init() throws {
        home = try IdentityHome()
        try home.shell("printf hunter2 | \(Tool.keyfob([]).path) set db/prod > /dev/null")
    }

    /// The answer to a client that asks as systemd does: with a connection whose client end has an abstract address.
    ///
    /// - Parameters:
    ///   - address: The client's address after the random number.
    ///   - user: The user that connects.
    private func ask(_ address: String, user: Int = 0, _ options: String...) throws -> Tool.Result {
        try home.directory.write(
            """
            import fcntl, os, secrets, socket, sys
            address, user, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
            listener, client = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
            place = "\\0keyfob-test-" + secrets.token_hex(8)
            listener.bind(place)
            listener.listen()
            if user: os.seteuid(user)
            if address: client.bind("\\0" + secrets.token_hex(8) + address)
            client.connect(place)
            if user: os.seteuid(0)
            client.shutdown(socket.SHUT_WR)
            connection, _ = listener.accept()
            child = os.fork()
            if child == 0:
                copy = fcntl.fcntl(connection.fileno(), fcntl.F_DUPFD, 10)
                os.closerange(3, 10)
                os.dup2(copy, 3)
                os.close(copy)
                os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", LISTEN_FDNAMES="connection")
                os.dup2(2, 1)
                os.execv(command[0], command)
            connection.close()
            while True:
                data = client.recv(65536)
                if not data: break
                sys.stdout.buffer.write(data)
                sys.stdout.flush()
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            """.utf8, to: "ask.py")
        let keyfob = Tool.keyfob([]).path
        return try Tool(
            "/usr/bin/python3",
            [home.file("ask.py"), address, String(user), keyfob, "systemd", "credential"] + options,
            environment: home.environment
        ).run()
    }

    @Test func `a unit gets the secret that is named for it, and only the bytes`() throws {
        let given = try ask(
            "/unit/nginx.service/db-password", "--serve", "nginx.service/db-password=db/prod")
        #expect(given.status == 0, "\(given.error)")
        #expect(given.output == "hunter2")
        #expect(given.error == "nginx.service got db-password.\n")
    }

    @Test(arguments: [
        "/unit/nginx.service/other", "/unit/other.service/db-password", "/unit/nginx.service/db-password/x",
        "/unit//db-password", "/user/nginx.service/db-password", "/unit/nginx@a.service/db-password", "",
    ])
    func `other units, other credentials and clients without an address get nothing`(address: String) throws {
        let refused = try ask(address, "--serve", "nginx.service/db-password=db/prod")
        #expect(refused.status == 12, "\(refused.error)")
        #expect(refused.output.isEmpty)
        #expect(!refused.error.contains("hunter2"))
    }

    @Test(.enabled(if: geteuid() == 0, "only root can connect as another user"))
    func `a client of another user gets nothing`() throws {
        let refused = try ask(
            "/unit/nginx.service/db-password", user: 65534, "--serve", "nginx.service/db-password=db/prod")
        #expect(refused.status == 12)
        #expect(refused.error.contains("user 65534 asks for a credential"), "\(refused.error)")
        #expect(refused.output.isEmpty)
    }

    @Test func `a file names credentials, and the instances of a template share one`() throws {
        let map = home.file("map")
        try home.shell("printf '# secrets\\n\\n app@.service/key=keyfob://db/prod\\n' > map")
        for unit in ["app@one.service", "app@two.service", "app@.service"] {
            let given = try ask("/unit/\(unit)/key", "--map", map)
            #expect(given.output == "hunter2", "\(given.error)")
        }
        #expect(try ask("/unit/app.service/key", "--map", map).status == 12)
        try home.shell("chmod g+w map")
        let unsafe = try ask("/unit/app@one.service/key", "--map", map)
        #expect(unsafe.output.isEmpty)
        #expect(unsafe.error.contains("can be written by other users"), "\(unsafe.error)")
        try home.shell("chmod g-w map; echo nonsense >> map")
        let malformed = try ask("/unit/app@one.service/key", "--map", map)
        #expect(malformed.output.isEmpty)
        #expect(malformed.error.contains("map, line 4: this is not UNIT/CREDENTIAL=ITEM"), "\(malformed.error)")
    }

    @Test func `a credential of the unit itself comes before one of its template`() throws {
        try home.shell("printf special | \(Tool.keyfob([]).path) set special > /dev/null")
        try home.shell("printf '# secrets\\r\\napp@.service/key=db/prod\\r\\napp@one.service/key=special\\r\\n' > map")
        let map = home.file("map")
        #expect(try ask("/unit/app@one.service/key", "--map", map).output == "special")
        #expect(try ask("/unit/app@two.service/key", "--map", map).output == "hunter2")
        try home.shell("echo app@.service/key=special >> map")
        let twice = try ask("/unit/app@one.service/key", "--map", map)
        #expect(twice.output.isEmpty)
        #expect(twice.error.contains("map, line 4: app@.service/key is named twice"), "\(twice.error)")
        let options = try ask("/unit/a.service/b", "--serve", "a.service/b=special", "--serve", "a.service/b=db/prod")
        #expect(options.status == 2 && options.output.isEmpty, "\(options)")
    }

    @Test func `a file that another user can replace names no credentials`() throws {
        try home.shell("mkdir -m 777 open; chmod 777 open; echo a.service/b=db/prod > open/map; chmod 644 open/map")
        let given = try ask("/unit/a.service/b", "--map", home.file("open/map"))
        #expect(given.output.isEmpty)
        #expect(given.error.contains("can be written by other users"), "\(given.error)")
    }

    @Test func `a large secret arrives whole`() throws {
        try home.shell(
            "head -c 900000 /dev/zero | tr '\\0' x > big; \(Tool.keyfob([]).path) set big --from-file big > /dev/null")
        let given = try ask("/unit/a.service/big", "--serve", "a.service/big=big")
        #expect(given.status == 0, "\(given.error)")
        #expect(given.output.utf8.count == 900_000)
    }

    @Test func `without a connection of systemd, or without credentials, nothing is served`() throws {
        let alone = try home.keyfob("systemd", "credential", "--serve", "a.service/b=db/prod")
        #expect(alone.status == 2)
        #expect(alone.error.contains("keyfob systemd unit"), "\(alone.error)")
        #expect(alone.output.isEmpty)
        #expect(try ask("/unit/a.service/b").status == 2)
        let missing = try ask("/unit/a.service/b", "--serve", "a.service/b=nothing")
        #expect(missing.output.isEmpty)
        #expect(missing.status != 0)
    }

    @Test(arguments: ["nginx/a=b", "nginx.service=b", "nginx.service/a", "nginx.service/=b", "a.service/b=", "/a=b", "a b.service/c=d"])
    func `an argument of another form is refused`(text: String) {
        #expect(ServedCredential(argument: text) == nil)
    }

    @Test func `an address of systemd is parsed`() {
        let found = CredentialPeer.names(Array("\0adf9d86b6eda275e/unit/foobar.service/credx".utf8))
        #expect(found?.unit == "foobar.service")
        #expect(found?.credential == "credx")
        #expect(CredentialPeer.names(Array("adf9/unit/foobar.service/credx".utf8)) == nil)
        #expect(CredentialPeer.names(Array("\0adf9/unit/foobar.service/credx\0".utf8)) == nil)
        #expect(CredentialPeer.names([0, 0x61, 0xFF]) == nil)
        #expect(CredentialPeer.names([]) == nil)
    }
}

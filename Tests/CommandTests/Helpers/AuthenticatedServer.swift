import Foundation
import Glibc
import TestSupport
import Testing

/// A web server of this machine that serves the directory `www` of a test, but only to requests whose header
/// `Authorization` is a line of the file `allowed`.
final class AuthenticatedServer {
    /// The host with the port.
    let host: String
    private let process: SpawnedProcess

    /// Starts the server, and waits until it listens.
    ///
    /// - Parameter isSecure: Whether it speaks TLS, with the files `server.pem` and `server.key`.
    init(_ home: HelperHome, isSecure: Bool = false) throws {
        let script = """
            import http.server, os, ssl, sys
            class Handler(http.server.SimpleHTTPRequestHandler):
                def do_GET(self):
                    given = self.headers.get("Authorization", "")
                    with open("../requests", "a") as log: log.write(self.path + " " + given + "\\n")
                    with open("../allowed") as file: allowed = file.read().splitlines()
                    if given and given in allowed: return super().do_GET()
                    self.send_response(401)
                    self.send_header("WWW-Authenticate", 'Basic realm="test"')
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                def log_message(self, *arguments): pass
            os.makedirs("www", exist_ok=True)
            os.chdir("www")
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            if sys.argv[1] == "true":
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain("../server.pem", "../server.key")
                server.socket = context.wrap_socket(server.socket, server_side=True)
            print(server.server_address[1], flush=True)
            server.serve_forever()
            """
        let pipe = try SpawnedProcess.pipe()
        let null = unsafe open("/dev/null", O_RDWR)
        defer {
            close(pipe.writing)
            close(null)
        }
        process = try SpawnedProcess(
            [
                "/bin/sh", "-c", "cd \"$1\" && exec python3 -c \"$2\" \"$3\"", "sh", home.home.directory.path, script,
                "\(isSecure)",
            ],
            environment: ["PATH": "/usr/bin:/bin"], streams: (null, pipe.writing, null))
        var port = ""
        var byte: UInt8 = 0
        while unsafe read(pipe.reading, &byte, 1) == 1, byte != 0x0A { port.append(Character(Unicode.Scalar(byte))) }
        close(pipe.reading)
        try #require(!port.isEmpty, "the server did not start")
        host = "127.0.0.1:" + port
    }

    /// The header of basic authentication.
    static func basic(_ user: String, _ password: String) -> String {
        "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    }

    deinit { process.kill() }
}

import Foundation
import Testing

@testable import Keyfob

@Suite
struct HTTPRequestTests {
    /// A server that sends one answer: with a length, or in chunks without end.
    private static let server = """
        import socket, sys
        s = socket.create_server(("127.0.0.1", 0))
        print(s.getsockname()[1], flush=True)
        while True:
            c = s.accept()[0]
            try:
                c.recv(65536)
                if sys.argv[1] == "endless":
                    c.sendall(b"HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n")
                    while True: c.sendall(b"10000\\r\\n" + b"x" * 65536 + b"\\r\\n")
                n = int(sys.argv[1])
                c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % n + b"x" * n)
            except OSError: pass
            c.close()
        """

    @Test func `an answer of acceptable length is read`() throws {
        let server = try TestServer(Self.server, "100000")
        let response = try HTTPRequest(url: "http://127.0.0.1:\(server.port)/", allowsPlain: true).send()
        #expect(response.status == 200 && response.body.count == 100_000)
    }

    @Test(arguments: ["endless", "5000000"])
    func `an answer that is too long is aborted at once, whether or not its length is announced`(_ answer: String) throws {
        let server = try TestServer(Self.server, answer)
        let begin = Date()
        let error = #expect(throws: KeychainError.self) {
            _ = try HTTPRequest(url: "http://127.0.0.1:\(server.port)/", allowsPlain: true).send()
        }
        #expect(error?.code == .issuerFailed && error?.details["curl"] == "63", "\(error as Any)")
        // The answer is not aborted by curl's time limit.
        #expect(Date().timeIntervalSince(begin) < 50)
    }
}

import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives
import TestSupport
import Testing

@testable import KeyfobACME

@Suite
struct ACMEListenerTests {
    private static let token = "token-of-a-challenge_1"

    /// Returns a listener at a free port below the kernel's ephemeral ports.
    ///
    /// No other process gets such a port while a test closes and reopens it.
    private func listener() throws -> (listener: ACMEListener, port: String) {
        let challenge = try ACMEChallenge(name: "web.example", token: Self.token, keyAuthorization: "the.answer")
        for _ in 0..<20 {
            let port = String(Int.random(in: 10_000...32_000))
            do { return (try ACMEListener(challenge, at: "127.0.0.1:" + port), port) } catch let error as KeychainError
                where error.code == .issuerFailed {}
        }
        throw KeychainError(.failed, "no port is free.")
    }

    private func curl(_ port: String, _ arguments: [String], path: String) throws -> String {
        try run(
            "curl", ["-s", "--max-time", "120", "-w", " %{http_code}"] + arguments + ["http://127.0.0.1:\(port)\(path)"]
        ).stdout
    }

    @Test func `one path is answered, and all others are not found`() throws {
        let (listener, port) = try listener()
        defer { listener.withdraw() }
        let path = "/.well-known/acme-challenge/" + Self.token
        #expect(try curl(port, [], path: path) == "the.answer 200")
        #expect(try curl(port, ["--head"], path: path).hasSuffix(" 200"))
        for other in ["/", path + "2", path + "/", path + "?x", "/.well-known/acme-challenge/", "/../../etc/passwd"] {
            #expect(try curl(port, ["--path-as-is"], path: other) == " 404", "\(other)")
        }
        #expect(try curl(port, ["-d", "x"], path: path) == " 404")
        #expect(try curl(port, ["-X", "DELETE"], path: path) == " 404")
    }

    /// Sends a text over a connection, and returns the answer until the listener closes it.
    private func speak(_ text: String, to port: String) throws -> (answer: String, time: TimeInterval) {
        let begin = Date()
        let result = try run(
            "python3",
            [
                "-c",
                """
                import socket, sys
                s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
                s.settimeout(120)
                try:
                    s.sendall(sys.argv[2].encode())
                    while True:
                        data = s.recv(4096)
                        if not data: break
                        sys.stdout.write(data.decode())
                except ConnectionError: pass
                """, port, text,
            ])
        #expect(result.status == 0, "\(result.stderr)")
        return (result.stdout, Date().timeIntervalSince(begin))
    }

    @Test func `a silent, oversized or malformed request is closed and delays no other client`() throws {
        let (listener, port) = try listener()
        defer { listener.withdraw() }
        let crowd = try (0..<ACMEListener.Limit.connections - 1).map { _ in try Idler(port) }
        defer { for idler in crowd { idler.leave() } }
        #expect(try curl(port, [], path: "/.well-known/acme-challenge/" + Self.token) == "the.answer 200")
        #expect(try speak("nonsense\r\n\r\n", to: port).answer.hasPrefix("HTTP/1.1 400 "))
        let large = "GET / HTTP/1.1\r\nX: " + String(repeating: "x", count: ACMEListener.Limit.requestSize)
        #expect(try speak(large, to: port).answer.isEmpty)
        // The listener closes the connection after ten seconds; the client would wait longer.
        let silent = try speak("GET / HTTP/1.1\r\n", to: port)
        #expect(silent.answer.isEmpty && (8...100).contains(silent.time), "\(silent.time) s")
    }

    @Test func `more clients than the limit wait until earlier connections are closed`() throws {
        let (listener, port) = try listener()
        defer { listener.withdraw() }
        let crowd = try (0..<ACMEListener.Limit.connections + 10).map { _ in try Idler(port) }
        defer { for idler in crowd { idler.leave() } }
        #expect(try curl(port, [], path: "/.well-known/acme-challenge/" + Self.token) == "the.answer 200")
    }

    /// Duplicates the descriptor of the listener at a port, as a child has it between its fork and its exec.
    private func copy(ofListenerAt port: String) throws -> Int32 {
        let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        let descriptor = names.compactMap { Int32($0) }.first { descriptor in
            var address = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = unsafe withUnsafeMutableBytes(of: &address) { bytes in
                unsafe getsockname(descriptor, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, &size)
            }
            return result == 0 && address.sin_family == AF_INET && UInt16(bigEndian: address.sin_port) == UInt16(port)
        }
        return dup(try #require(descriptor))
    }

    @Test func `withdrawing the listener closes all connections and frees the port`() throws {
        let (listener, port) = try listener()
        let copy = try copy(ofListenerAt: port)
        defer { close(copy) }
        let idler = try Idler(port)
        defer { idler.leave() }
        let challenge = try ACMEChallenge(name: "web.example", token: Self.token, keyAuthorization: "another")
        #expect(code { _ = try ACMEListener(challenge, at: "127.0.0.1:" + port) } == .issuerFailed)
        listener.withdraw()
        let again = try ACMEListener(challenge, at: "127.0.0.1:" + port)
        #expect(try curl(port, [], path: "/.well-known/acme-challenge/" + Self.token) == "another 200")
        again.withdraw()
    }

    @Test func `withdrawing the listener does not wait for a child that has a copy of its descriptors`() throws {
        let (listener, _) = try listener()
        let copy = dup(listener.ending.writing)
        let hasEnded = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            listener.withdraw()
            hasEnded.signal()
        }
        let result = hasEnded.wait(timeout: .now() + 60)
        #expect(result == .success)
        close(copy)
    }

    @Test(arguments: [
        ("80", nil, 80), ("192.0.2.1:80", "192.0.2.1", 80), ("[2001:db8::1]:8080", "2001:db8::1", 8080), (":80", nil, 80),
        ("[::]:1", "::", 1),
    ] as [(String, String?, UInt16)])
    func `an address has a port, and brackets around a host with colons`(text: String, host: String?, port: UInt16) {
        let address = ACMEListener.Address(text)
        #expect(address?.host == host && address?.port == port)
    }

    @Test(arguments: ["", ":", "0", "65536", "-1", "+1", "80 ", "2001:db8::1", "::1:80", "[::1]", "http"])
    func `an invalid address is refused`(text: String) { #expect(ACMEListener.Address(text) == nil) }

    @Test(arguments: ["", "short", "../../../../etc/passwd", "with/slash-with/slash", "sixteen bytes ok", String(repeating: "x", count: 257)])
    func `a token that could leave its directory is refused`(token: String) {
        #expect(code { _ = try ACMEChallenge(name: "x", token: token, keyAuthorization: "x") } == .issuerFailed)
    }

    @Test(arguments: [
        ("", []), ("QQ", [0x41]), ("QQ==", [0x41]), ("QUI", [0x41, 0x42]), ("QUJD", [0x41, 0x42, 0x43]),
        ("-_8", [0xFB, 0xFF]), ("+/8=", [0xFB, 0xFF]),
    ] as [(String, [UInt8])])
    func `both forms of base64 are decoded`(text: String, bytes: [UInt8]) {
        #expect(Base64URL.decode(SecretBytes(utf8: text))?.copyBytes() == bytes)
    }

    @Test(arguments: ["A", "QQ===", "Q Q", "Q\u{E9}", "QQ=Q", "AAAAA"])
    func `invalid base64 is refused`(text: String) { #expect(Base64URL.decode(SecretBytes(utf8: text)) == nil) }
}

/// A connection that sends nothing.
struct Idler {
    private let descriptor: Int32

    init(_ port: String) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = (UInt16(port) ?? 0).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(result == 0, "errno \(errno)")
    }

    func leave() { close(descriptor) }
}

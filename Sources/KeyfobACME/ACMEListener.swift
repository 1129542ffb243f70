import CLinux
import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// One side of a connection that a listener has accepted.
protocol ListenerConversation {
    /// Takes what the client sent.
    ///
    /// - Returns: What to send, and whether the connection ends after that.
    mutating func take(_ bytes: [UInt8]) -> (answer: [UInt8], isOver: Bool)
}

/// A server for one challenge, for machines without one. It stops with the challenge.
///
/// It is reachable from the network, so it limits each client: 8 KiB, ten seconds per connection, 64 connections at
/// once. It never reads a file, and its answers are public.
final class ACMEListener: ACMEAnswer, Sendable {
    /// Where to listen.
    struct Address: Equatable {
        /// A numeric address; `nil` for all addresses.
        let host: String?
        let port: UInt16

        /// Parses `PORT`, `ADDRESS:PORT` or `[ADDRESS]:PORT`; `nil` for any other text.
        init?(_ text: String) {
            let colon = text.lastIndex(of: ":")
            var host = colon.map { String(text[..<$0]) } ?? ""
            let port = colon.map { String(text[text.index(after: $0)...]) } ?? text
            if host.hasPrefix("["), host.hasSuffix("]") {
                host = String(host.dropFirst().dropLast())
            } else if host.contains(":") {
                // Without brackets the end of an IPv6 address is ambiguous.
                return nil
            }
            guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(port), number > 0 else {
                return nil
            }
            self.host = host.isEmpty ? nil : host
            self.port = number
        }
    }

    /// The limits of a client.
    enum Limit {
        static let requestSize = 8 << 10
        static let time: Duration = .seconds(10)
        static let connections = 64
    }

    /// Pause between accept attempts when the process or the system is out of descriptors or memory, in microseconds.
    private static let shortage: UInt32 = 50_000

    private struct Client {
        let descriptor: Int32
        let deadline = Deadline.after(Limit.time)
        var conversation: any ListenerConversation
        /// How much the client has sent.
        var size = 0
        /// Whether the client was answered or has disconnected.
        var isDone = false
    }

    private let listening: Int32
    /// The pipe that tells the server thread to end.
    let ending: (reading: Int32, writing: Int32)
    private let converse: @Sendable () throws -> any ListenerConversation
    private let hasEnded = Lock(false)

    /// Answers an HTTP-01 challenge until `withdraw()`.
    ///
    /// - Throws: `KeychainError`; the errors of `init(at:_:)`.
    convenience init(_ challenge: ACMEChallenge, at text: String) throws {
        let conversation = ACMEHTTPConversation(path: challenge.path, content: challenge.keyAuthorization)
        try self.init(at: text) { conversation }
    }

    /// Starts to listen, on a thread of its own, until `withdraw()`.
    ///
    /// - Parameter converse: Called for each connection; the connection is closed if it throws an error.
    /// - Throws: `KeychainError`; `invalidArgument` for an invalid address, `refused` if this user may not listen
    ///   there, `issuerFailed` if another program does, `failed` if no descriptor or thread is left.
    init(at text: String, _ converse: @escaping @Sendable () throws -> any ListenerConversation) throws {
        guard let address = Address(text) else { throw Self.noAddress(text) }
        self.converse = converse
        var ends: (reading: Int32, writing: Int32) = (-1, -1)
        guard unsafe keyfob_pipe(&ends.reading, &ends.writing) == 0 else {
            throw KeychainError(.failed, "there is no descriptor left to listen with.")
        }
        do { listening = try Self.listen(address, text) } catch {
            close(ends.reading)
            close(ends.writing)
            throw error
        }
        ending = ends
        let isStarted = POSIXThread.startDetached("keyfob-acme") { [self] in
            serve()
            hasEnded.withLock { $0 = true }
            hasEnded.broadcast()
        }
        guard isStarted else {
            for descriptor in [listening, ending.reading, ending.writing] { close(descriptor) }
            throw KeychainError(.failed, "the system has no thread left to answer a challenge.")
        }
    }

    /// Stops the server; the port is free afterwards. Call it once.
    func withdraw() {
        // Write a byte: closing the pipe is not noticed while a child process has a copy of the descriptor.
        var end: UInt8 = 0
        _ = unsafe write(ending.writing, &end, 1)
        _ = hasEnded.wait(until: .never) { $0 ? true : nil }
        // Close only now: writing to a pipe without a reader raises SIGPIPE.
        close(ending.reading)
        close(ending.writing)
    }

    /// The error for an invalid address.
    static func noAddress(_ text: String) -> KeychainError {
        KeychainError(
            .invalidArgument, "\"\(text)\" is not an address to listen at.",
            hint: "A port, such as 80; or a numeric address and a port, such as 192.0.2.1:80 or [2001:db8::1]:80")
    }

    // MARK: Listening

    private static func listen(_ address: Address, _ text: String) throws -> Int32 {
        var hints = unsafe addrinfo()
        unsafe hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(address.host, String(address.port), &hints, &list) == 0 else { throw noAddress(text) }
        defer { unsafe freeaddrinfo(list) }
        var reason: Int32 = EADDRNOTAVAIL
        // IPv6 first: a socket for all IPv6 addresses also serves IPv4.
        for family in [AF_INET6, AF_INET] {
            var next = unsafe list
            while let entry = unsafe next {
                unsafe next = entry.pointee.ai_next
                guard unsafe entry.pointee.ai_family == family else { continue }
                if let socket = unsafe open(entry.pointee) { return socket }
                reason = errno
            }
        }
        let why = unsafe String(cString: strerror(reason))
        switch reason {
        case EACCES, EPERM:
            throw KeychainError(
                .refused, "this user may not listen at \(text): \(why).",
                hint: "Ports below 1024 are for root and for CAP_NET_BIND_SERVICE; in a unit: "
                    + "AmbientCapabilities=CAP_NET_BIND_SERVICE", details: ["address": text])
        default:
            throw KeychainError(
                .issuerFailed, "nothing can listen at \(text): \(why).",
                remedies: reason == EADDRINUSE
                    ? [Remedy("Is it a web server? Let that answer", .change(.webRoot))] : [],
                details: ["address": text])
        }
    }

    /// Opens a listening socket; `nil` with `errno` set.
    private static func open(_ entry: addrinfo) -> Int32? {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = unsafe socket(entry.ai_family, kind, 0)
        guard descriptor >= 0 else { return nil }
        var (on, off): (Int32, Int32) = (1, 0)
        let size = socklen_t(MemoryLayout<Int32>.size)
        // Connections of the previous challenge may linger in TIME_WAIT.
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, size)
        if unsafe entry.ai_family == AF_INET6 {
            unsafe setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &off, size)
        }
        if unsafe bind(descriptor, entry.ai_addr, entry.ai_addrlen) == 0, Glibc.listen(descriptor, 64) == 0 {
            return descriptor
        }
        let reason = errno
        close(descriptor)
        errno = reason
        return nil
    }

    // MARK: Serving

    private func serve() {
        var clients: [Client] = []
        defer {
            for client in clients { close(client.descriptor) }
            // A child process that another thread has just forked has a copy of the descriptor until it calls exec(2).
            shutdown(listening, Int32(SHUT_RDWR))
            close(listening)
        }
        while true {
            var polled = [pollfd(fd: ending.reading, events: Int16(POLLIN), revents: 0)]
            // Further clients wait in the kernel's queue while all places are taken.
            let hasRoom = clients.count < Limit.connections
            polled.append(pollfd(fd: listening, events: hasRoom ? Int16(POLLIN) : 0, revents: 0))
            polled += clients.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            let result = unsafe poll(&polled, nfds_t(polled.count), clients.isEmpty ? -1 : 500)
            guard result >= 0 || errno == EINTR else { return }
            guard result >= 0 else { continue }
            if polled[0].revents != 0 { return }
            for (place, entry) in zip(clients.indices, polled.dropFirst(2)) where entry.revents != 0 {
                if !receive(&clients[place]) { clients[place].isDone = true }
            }
            clients = clients.filter { client in
                let stays = !client.isDone && !client.deadline.hasPassed
                if !stays { close(client.descriptor) }
                return stays
            }
            if hasRoom, polled[1].revents != 0 {
                let descriptor = keyfob_accept(listening)
                let reason = errno
                if descriptor >= 0 {
                    do { clients.append(Client(descriptor: descriptor, conversation: try converse())) } catch {
                        close(descriptor)
                    }
                } else if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(reason) {
                    // The client stays in the queue, so that poll(2) would return at once, again and again.
                    usleep(Self.shortage)
                }
            }
        }
    }

    /// Reads more from a client, and answers.
    ///
    /// - Returns: Whether the connection stays open.
    private func receive(_ client: inout Client) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 2048)
        let count = unsafe recv(client.descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
        client.size += count
        guard client.size <= Limit.requestSize else { return false }
        let (answer, isOver) = client.conversation.take(Array(buffer.prefix(count)))
        guard !answer.isEmpty else { return !isOver }
        // Short enough for the empty send buffer of a new connection.
        let sent = unsafe send(client.descriptor, answer, answer.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
        return sent == answer.count && !isOver
    }
}

/// The server's side of an HTTP connection that answers one challenge.
struct ACMEHTTPConversation: ListenerConversation {
    let path: String
    let content: String
    private var request: [UInt8] = []

    init(path: String, content: String) { (self.path, self.content) = (path, content) }

    mutating func take(_ bytes: [UInt8]) -> (answer: [UInt8], isOver: Bool) {
        request += bytes
        guard Data(request).firstRange(of: Data("\r\n\r\n".utf8)) != nil else { return ([], false) }
        return (Array(Self.answer(to: request, path: path, content: content).utf8), true)
    }

    /// The complete answer to a request (RFC 9112); only one path and two methods are served.
    static func answer(to request: [UInt8], path: String, content: String) -> String {
        let line = String(decoding: request.prefix { $0 != 0x0D }, as: UTF8.self).split(
            separator: " ", omittingEmptySubsequences: false)
        let isRequest = line.count == 3 && line[2].hasPrefix("HTTP/1.")
        let isKnown = isRequest && ["GET", "HEAD"].contains(line[0]) && line[1] == path
        let status = isKnown ? "200 OK" : isRequest ? "404 Not Found" : "400 Bad Request"
        let body = isKnown ? content : ""
        return "HTTP/1.1 \(status)\r\nContent-Type: application/octet-stream\r\nContent-Length: \(body.utf8.count)\r\n"
            + "Connection: close\r\n\r\n" + (line[0] == "HEAD" ? "" : body)
    }
}

import CLinux
import Foundation
import KeyfobPrimitives

/// The connections of a server. Only the server's thread uses it.
struct SSHAgentConnections {
    /// A client and what it is doing.
    private struct Client {
        let number: UInt64
        let descriptor: Int32
        /// Bytes that were received and belong to no request yet.
        var input: [UInt8] = []
        /// The rest of an answer that is being sent.
        var output: ArraySlice<UInt8> = []
        /// The request that is being carried out.
        var task: Task<Void, Never>?
        /// The number of requests so far.
        var turn: UInt64 = 0
        /// Until when the request, the answer or the rest of a message may take; `nil` between requests.
        var deadline: Deadline?
        /// When it became idle, as a number that grows.
        var idleSince: UInt64
        /// Whether it is to be disconnected.
        var isOver = false

        var isIdle: Bool { task == nil && output.isEmpty && input.isEmpty }

        /// The events to wait for. While a request is carried out, only the end of the connection.
        var events: Int32 { task != nil ? 0 : output.isEmpty ? POLLIN : POLLOUT }
    }

    /// The pause between attempts to accept while the process or the system is out of descriptors or memory, in
    /// microseconds.
    private static let shortage: UInt32 = 50_000

    private unowned let server: SSHAgentServer
    private var clients: [Client] = []
    private var lastNumber: UInt64 = 0
    private var clock: UInt64 = 0
    /// The buffer for received bytes, which is wiped after each use.
    private var chunk = [UInt8](repeating: 0, count: 16 << 10)

    init(server: SSHAgentServer) { self.server = server }

    /// Serves until the server is stopped.
    mutating func serve() {
        defer {
            for client in clients {
                client.task?.cancel()
                close(client.descriptor)
            }
        }
        while true {
            var polled = [pollfd(fd: server.wakening.reading, events: Int16(POLLIN), revents: 0)]
            // Further clients wait in the kernel's queue while all places are taken and busy.
            let hasRoom = clients.count < SSHAgentServer.Limit.connections || clients.contains(where: \.isIdle)
            polled.append(pollfd(fd: server.listener.descriptor, events: hasRoom ? Int16(POLLIN) : 0, revents: 0))
            polled += clients.map { pollfd(fd: $0.descriptor, events: Int16($0.events), revents: 0) }
            guard unsafe poll(&polled, nfds_t(polled.count), pause) >= 0 || errno == EINTR else { return }
            guard takeAnswers() else { return }
            for (place, entry) in zip(clients.indices, polled.dropFirst(2)) where entry.revents != 0 {
                handle(Int32(entry.revents), of: place)
            }
            for place in clients.indices { checkDeadline(of: place) }
            disconnect()
            if hasRoom, polled[1].revents != 0 { accept() }
        }
    }

    /// The time until the next deadline in milliseconds, for poll(2); -1 if there is none.
    private var pause: Int32 {
        guard let next = clients.lazy.compactMap({ $0.deadline?.remaining }).min() else { return -1 }
        return Int32(clamping: Int((next / .milliseconds(1)).rounded(.up)))
    }

    /// Takes the answers from the inbox.
    ///
    /// - Returns: Whether to go on serving.
    private mutating func takeAnswers() -> Bool {
        while unsafe read(server.wakening.reading, &chunk, chunk.count) > 0 {}
        let inbox = server.inbox.withLock { inbox in
            defer { inbox.answers = [] }
            return inbox
        }
        for answer in inbox.answers {
            // The client may have gone, or the request may have taken too long.
            guard let place = clients.firstIndex(where: { $0.number == answer.client }), clients[place].task != nil,
                clients[place].turn == answer.turn
            else { continue }
            send(answer.message, to: place)
        }
        return !inbox.isStopped
    }

    private mutating func accept() {
        let idle = clients.indices.filter { clients[$0].isIdle }
        let isFull = clients.count >= SSHAgentServer.Limit.connections
        // An idle client may have sent a request since poll(2). The new client stays in the kernel's queue.
        guard !isFull || !idle.isEmpty else { return }
        guard let descriptor = server.listener.accept() else {
            // The client stays in the queue, so that poll(2) would return at once, again and again.
            if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) { usleep(Self.shortage) }
            return
        }
        if isFull, let oldest = idle.min(by: { clients[$0].idleSince < clients[$1].idleSince }) {
            clients[oldest].isOver = true
            disconnect()
        }
        lastNumber += 1
        clock += 1
        clients.append(Client(number: lastNumber, descriptor: descriptor, idleSince: clock))
    }

    private mutating func disconnect() {
        for client in clients where client.isOver {
            client.task?.cancel()
            close(client.descriptor)
        }
        clients.removeAll(where: \.isOver)
    }

    private mutating func handle(_ events: Int32, of place: Int) {
        if clients[place].task != nil {
            clients[place].isOver = events & (POLLHUP | POLLERR | POLLNVAL) != 0
        } else if !clients[place].output.isEmpty {
            sendRest(to: place)
        } else {
            receive(from: place)
        }
    }

    private mutating func checkDeadline(of place: Int) {
        guard !clients[place].isOver, let deadline = clients[place].deadline, deadline.hasPassed else { return }
        guard let task = clients[place].task else {
            clients[place].isOver = true
            return
        }
        task.cancel()
        send(SSHAgentAnswer.failure.message, to: place)
    }

    private mutating func receive(from place: Int) {
        let count = unsafe recv(clients[place].descriptor, &chunk, chunk.count, Int32(MSG_DONTWAIT))
        guard count > 0 else {
            clients[place].isOver = count == 0 || (errno != EAGAIN && errno != EINTR)
            return
        }
        // At once, so that a short message with a passphrase is never copied to a larger array.
        if clients[place].input.isEmpty { clients[place].input.reserveCapacity(chunk.count) }
        clients[place].input += chunk.prefix(count)
        Self.wipe(count, of: &chunk)
        begin(place)
    }

    /// Starts the next request of a client if all of it has been received.
    private mutating func begin(_ place: Int) {
        if let length = Self.length(clients[place].input) {
            guard (1...UInt32(SSHAgentServer.Limit.message)).contains(length) else {
                clients[place].isOver = true
                return
            }
            let end = 4 + Int(length)
            if clients[place].input.count >= end {
                let request = SSHAgentRequest(clients[place].input[4..<end])
                Self.wipe(end, of: &clients[place].input)
                clients[place].input.removeFirst(end)
                return start(request, of: place)
            }
        }
        guard clients[place].deadline == nil, !clients[place].input.isEmpty else { return }
        clients[place].deadline = .after(SSHAgentServer.Limit.transfer)
    }

    /// The length of the first message; `nil` if it was not received yet.
    private static func length(_ input: [UInt8]) -> UInt32? {
        var reader = SSHReader(input.prefix(4))
        return try? reader.number()
    }

    private static func wipe(_ count: Int, of bytes: inout [UInt8]) {
        unsafe bytes.withUnsafeMutableBytes { bytes in
            if let base = bytes.baseAddress { unsafe keyfob_wipe(base, count) }
        }
    }

    private mutating func start(_ request: SSHAgentRequest, of place: Int) {
        clients[place].turn += 1
        clients[place].deadline = .after(server.answerLimit)
        let (number, turn) = (clients[place].number, clients[place].turn)
        clients[place].task = Task { [server] in
            server.deliver(await server.agent.answer(request).message, to: number, turn: turn)
        }
    }

    private mutating func send(_ message: [UInt8], to place: Int) {
        clients[place].task = nil
        clients[place].output = message[...]
        clients[place].deadline = .after(SSHAgentServer.Limit.transfer)
        sendRest(to: place)
    }

    private mutating func sendRest(to place: Int) {
        let descriptor = clients[place].descriptor
        let count = unsafe clients[place].output.withUnsafeBytes { bytes in
            unsafe Foundation.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
        }
        guard count >= 0 else {
            clients[place].isOver = errno != EAGAIN && errno != EINTR
            return
        }
        clients[place].output = clients[place].output.dropFirst(count)
        guard clients[place].output.isEmpty else { return }
        clients[place].deadline = nil
        clock += 1
        clients[place].idleSince = clock
        begin(place)
    }
}

import CLinux
import Foundation
import KeyfobPrimitives

/// Serves an agent at a socket, on a thread of its own.
///
/// One client cannot keep others waiting. Requests are carried out at the same time, one for each client. A client that
/// sends half a message or does not read its answer is disconnected. If all places are taken, the connection that has
/// been idle longest gives way to a new one.
package final class SSHAgentServer: Sendable {
    /// The limits of a client.
    package enum Limit {
        /// The size of a message in bytes, as in OpenSSH.
        package static let message = 256 << 10
        /// The number of connections.
        package static let connections = 64
        /// How long a message or an answer may take on its way.
        package static let transfer: Duration = .seconds(10)
    }

    /// Answers for the thread, and whether it is to end.
    struct Inbox {
        var answers: [(client: UInt64, turn: UInt64, message: [UInt8])] = []
        var isStopped = false
    }

    let agent: SSHAgent
    let listener: LocalListener
    let answerLimit: Duration
    let inbox = Lock(Inbox())
    /// The pipe that wakes the thread.
    let wakening: (reading: Int32, writing: Int32)
    private let thread = Lock(POSIXThread.Joinable?.none)

    /// Creates a server, which does not serve before `start()`.
    ///
    /// - Parameters:
    ///   - agent: The agent.
    ///   - listener: The socket, which the server closes.
    ///   - answerLimit: How long a request may take, with questions to a person. After that it has failed.
    /// - Throws: `KeychainError.failed` if too many files are open.
    package init(
        _ agent: SSHAgent, at listener: LocalListener, answerLimit: Duration
    ) throws(KeychainError) {
        var (reading, writing): (Int32, Int32) = (-1, -1)
        guard unsafe keyfob_pipe(&reading, &writing) == 0 else {
            throw KeychainError(.failed, "cannot serve clients: too many files are open (errno \(errno)).")
        }
        for end in [reading, writing] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        wakening = (reading, writing)
        self.agent = agent
        self.listener = listener
        self.answerLimit = answerLimit
    }

    deinit {
        close(wakening.reading)
        close(wakening.writing)
    }

    /// Starts to serve. Call it once.
    ///
    /// - Throws: `KeychainError.failed` if the system has no thread left.
    package func start() throws(KeychainError) {
        let thread = POSIXThread.start("keyfob-agent") { [self] in
            var connections = SSHAgentConnections(server: self)
            connections.serve()
        }
        guard let thread else { throw KeychainError(.failed, "the system has no thread left to serve clients.") }
        self.thread.withLock { $0 = thread }
    }

    /// Disconnects all clients and removes the socket.
    ///
    /// Blocks until the thread has ended, which waits for nothing. Signatures in progress are abandoned.
    package func stop() {
        inbox.withLock { $0.isStopped = true }
        wake()
        thread.withLock { $0 }?.join()
        listener.close()
    }

    /// Passes an answer to the thread.
    func deliver(_ message: [UInt8], to client: UInt64, turn: UInt64) {
        inbox.withLock { $0.answers.append((client, turn, message)) }
        wake()
    }

    private func wake() {
        var byte: UInt8 = 0
        // Fails only if the pipe is full, and then the thread wakes anyway.
        _ = unsafe write(wakening.writing, &byte, 1)
    }
}

import CLinux
import Glibc
import Keyfob
import KeyfobPrimitives

/// A program that this process started and waits for, because it wipes files or masks output.
struct WaitedProgram {
    /// How a program ended.
    enum End: Equatable {
        case exited(Int32)
        case signalled(Int32)

        /// Ends this process in the same way, unless the program ended with status 0.
        ///
        /// A shell treats a command that SIGINT ended differently from one that exits with status 130.
        ///
        /// - Throws: `ExitCode`.
        func imitate() throws {
            switch self {
            case .exited(0): return
            case .exited(let status): throw ExitStatus(rawValue: status).code
            case .signalled(let number):
                signal(number, SIG_DFL)
                var signals = sigset_t()
                unsafe sigemptyset(&signals)
                unsafe sigaddset(&signals, number)
                unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
                raise(number)
                // Reached by the first process of a container, which no signal ends.
                throw ExitStatus.signalled(number).code
            }
        }
    }

    /// An output of the program that is copied through a mask.
    private struct Copy {
        let source: Int32
        let destination: Int32
        var mask: OutputMask
        var isOpen = true
        var failure: KeychainError?
    }

    private let identifier: Int32
    private let changes: Int32
    private var copies: [Copy] = []

    /// Starts the program. `PassedSignals.begin()` was called before.
    ///
    /// - Parameters:
    ///   - masked: The secrets to mask in its output; `nil` for an output that is not captured.
    ///   - lock: A descriptor that the program inherits.
    ///   - changes: The result of `PassedSignals.begin()`.
    /// - Throws: `ProgramFailure`; `KeychainError.failed` if too many files are open.
    init(
        _ program: UserProgram, environment: ProgramEnvironment, masking masked: [SecretBytes]?, keeping lock: Int32?,
        changes: Int32
    ) throws {
        self.changes = changes
        var (output, error): (Int32?, Int32?) = (nil, nil)
        if let masked {
            output = try Self.copy(to: STDOUT_FILENO, masked, &copies)
            // One pipe for one file, so that the order of what the program writes stays.
            error = Self.areOneFile(STDOUT_FILENO, StandardError.descriptor)
                ? output : try Self.copy(to: StandardError.descriptor, masked, &copies)
        }
        defer {
            // As long as this process has the writing ends too, no stream ends.
            if let output { close(output) }
            if let error, error != output { close(error) }
        }
        switch program.start(environment: environment, output: output, error: error, keeping: lock) {
        case .success(let identifier): self.identifier = identifier
        case .failure(let number): throw ProgramFailure(program.file, number.value)
        }
        PassedSignals.pass(to: identifier)
    }

    private static func copy(to destination: Int32, _ masked: [SecretBytes], _ copies: inout [Copy]) throws -> Int32 {
        var (reading, writing): (Int32, Int32) = (-1, -1)
        guard unsafe keyfob_pipe(&reading, &writing) == 0 else {
            throw KeychainError(.failed, "cannot capture the output: too many files are open (errno \(errno)).")
        }
        copies.append(Copy(source: reading, destination: destination, mask: OutputMask(masked)))
        return writing
    }

    private static func areOneFile(_ one: Int32, _ other: Int32) -> Bool {
        var (first, second) = (stat(), stat())
        guard unsafe fstat(one, &first) == 0, unsafe fstat(other, &second) == 0 else { return false }
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }

    /// Waits for the end of the program, and of its output if that is captured.
    ///
    /// Blocks without a limit, as the program decides when it ends. If the program is stopped, so is this process.
    ///
    /// - Throws: `KeychainError.fileUnavailable` or `diskFull` if its output could not be written.
    mutating func wait() throws -> End {
        var end: End?
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        defer { buffer.wipe() }
        while end == nil || copies.contains(where: \.isOpen) {
            var entries = [pollfd(fd: changes, events: Int16(POLLIN), revents: 0)]
            // poll(2) ignores entries with a negative descriptor.
            entries += copies.map { pollfd(fd: $0.isOpen ? $0.source : -1, events: Int16(POLLIN), revents: 0) }
            // At most a second: the caller may have blocked or ignored SIGCHLD.
            let count = unsafe poll(&entries, nfds_t(entries.count), 1000)
            while unsafe read(changes, &buffer, buffer.count) > 0 {}
            end = end ?? state()
            // Programs in the background may keep the output open.
            if end != nil, PassedSignals.isToEnd { break }
            guard count > 0 else { continue }
            for index in copies.indices where entries[index + 1].revents != 0 { pass(&copies[index], &buffer) }
        }
        if let failure = copies.lazy.compactMap(\.failure).first { throw failure }
        return end ?? .exited(0)
    }

    /// Returns how the program ended; `nil` if it has not. Stops with it if it was stopped.
    private func state() -> End? {
        switch keyfob_child_state(identifier) {
        case 1:
            // SIGCONT, which the shell sends to continue the job, is passed on.
            if Self.isJob { raise(SIGSTOP) }
            return state()
        case 2:
            PassedSignals.end()
            var status: Int32 = 0
            var reaped: Int32
            repeat { reaped = unsafe waitpid(identifier, &status, 0) } while reaped < 0 && errno == EINTR
            // Another part of the process, such as a module, took the status.
            guard reaped == identifier else { return .exited(ExitStatus.ownFailure.rawValue) }
            return status & 0x7F == 0 ? .exited((status >> 8) & 0xFF) : .signalled(status & 0x7F)
        default: return nil
        }
    }

    /// Whether a shell with job control may have started this process and can continue it.
    private static var isJob: Bool {
        let parent = getppid()
        guard parent > 0, getsid(parent) == getsid(0) else { return false }
        let terminal = unsafe keyfob_open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC, 0)
        if terminal >= 0 { close(terminal) }
        return terminal >= 0
    }

    /// Copies what can be read at once.
    private func pass(_ copy: inout Copy, _ buffer: inout [UInt8]) {
        let count = unsafe read(copy.source, &buffer, buffer.count)
        if count < 0, errno == EINTR || errno == EAGAIN { return }
        let shown = copy.mask.show(buffer[..<max(0, count)], isLast: count <= 0)
        do throws(OutputFailure) {
            try Self.write(shown, to: copy.destination)
        } catch {
            // The program gets SIGPIPE or an error at its next output, as if it wrote there itself.
            copy.isOpen = false
            // A reader that has gone needs no message.
            if error.number != EPIPE { copy.failure = error.asKeychainError }
        }
        if count <= 0 { copy.isOpen = false }
        if !copy.isOpen { close(copy.source) }
    }

    /// The error number of a write to an output.
    private struct OutputFailure: Error {
        let number: Int32

        var asKeychainError: KeychainError {
            KeychainError(
                [ENOSPC, EDQUOT].contains(number) ? .diskFull : .fileUnavailable,
                "the output of the program could not be written: \(FileArgument.reason(number)).",
                hint: "Its output from there on is lost.")
        }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) throws(OutputFailure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // The output may be shared with a program that made it non-blocking.
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&entry, 1, -1)
            } else if errno != EINTR {
                throw OutputFailure(number: errno)
            }
        }
    }
}

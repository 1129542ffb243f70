import Foundation
import Glibc

/// What a child process left behind.
public struct RunResult: Sendable {
    /// The exit status; for a child that a signal ended, 128 plus the signal.
    public let status: Int32
    /// What it wrote to standard output.
    public let output: [UInt8]
    /// What it wrote to standard error.
    public let errorOutput: [UInt8]

    /// Standard output as text; bytes that are not UTF-8 are replaced.
    public var stdout: String { String(decoding: output, as: UTF8.self) }
    /// Standard error as text; bytes that are not UTF-8 are replaced.
    public var stderr: String { String(decoding: errorOutput, as: UTF8.self) }
}

/// Why a child process gave no result.
public enum RunError: Error, CustomStringConvertible {
    /// It could not be started.
    case notStarted(executable: String, reason: String)
    /// It was still running when its time was up, and was killed with its process group.
    case timedOut(executable: String, output: String)

    /// One sentence.
    public var description: String {
        switch self {
        case .notStarted(let executable, let reason): "cannot start \(executable): \(reason)"
        case .timedOut(let executable, let output): "\(executable) did not end in time; it wrote: \(output)"
        }
    }
}

/// Runs `executable` (looked up in `PATH`) to its end and returns what it wrote.
///
/// Blocks, but never longer than `timeout` seconds: then the child's process group is killed. Input and output
/// go through unlinked files, so that no amount of either can stall the child or us.
///
/// - Parameters:
///   - environment: added to the environment of this process; an entry here wins.
///   - directory: the child's working directory; this process' own when `nil`.
/// - Throws: `RunError`. A status other than 0 is a result, not an error.
@discardableResult
public func run(
    _ executable: String, _ arguments: [String] = [], stdin: [UInt8] = [], environment: [String: String] = [:],
    directory: String? = nil, timeout: Double = 30
) throws -> RunResult {
    let input = try scratchFile(executable)
    defer { close(input) }
    let output = try scratchFile(executable)
    defer { close(output) }
    let errorOutput = try scratchFile(executable)
    defer { close(errorOutput) }
    try FileHandle(fileDescriptor: input).write(contentsOf: stdin)
    lseek(input, 0, SEEK_SET)

    let merged = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
    // The spawn attribute for a working directory is not visible to Swift; env(1) has the same.
    let command = (directory.map { ["env", "-C", $0] } ?? []) + [executable] + arguments
    let child = try spawn(command, environment: merged, descriptors: [input, output, errorOutput])

    let status = waitForExit(of: child, timeout: timeout)
    // A grandchild that outlives the child must not outlive the test.
    kill(-child, SIGKILL)
    let result = RunResult(
        status: status ?? -1, output: try content(of: output), errorOutput: try content(of: errorOutput))
    guard status != nil else {
        throw RunError.timedOut(executable: executable, output: result.stdout + result.stderr)
    }
    return result
}

private func scratchFile(_ executable: String) throws -> Int32 {
    var template = Array((NSTemporaryDirectory() + "keyfob-run-XXXXXX").utf8CString)
    let descriptor = unsafe mkstemp(&template)
    guard descriptor >= 0 else {
        throw RunError.notStarted(executable: executable, reason: "no temporary file, errno \(errno)")
    }
    unsafe unlink(template)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    return descriptor
}

private func content(of descriptor: Int32) throws -> [UInt8] {
    lseek(descriptor, 0, SEEK_SET)
    return [UInt8](try FileHandle(fileDescriptor: descriptor).readToEnd() ?? Data())
}

private func spawn(
    _ command: [String], environment: [String: String], descriptors: [Int32]
) throws -> pid_t {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for (target, descriptor) in descriptors.enumerated() {
        unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(target))
    }

    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    // A process group of its own, so that a time-out takes the grandchildren too.
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
    unsafe posix_spawnattr_setpgroup(&attributes, 0)

    var argumentPointers = unsafe command.map { unsafe strdup($0) } + [nil]
    var environmentPointers = unsafe environment.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
    defer {
        for unsafe pointer in unsafe argumentPointers { unsafe free(pointer) }
        for unsafe pointer in unsafe environmentPointers { unsafe free(pointer) }
    }
    var child = pid_t()
    let code = unsafe posix_spawnp(
        &child, command[0], &actions, &attributes, &argumentPointers, &environmentPointers)
    guard code == 0 else {
        throw RunError.notStarted(executable: command[0], reason: unsafe String(cString: strerror(code)))
    }
    return child
}

/// The exit status, or `nil` when the child had to be killed.
private func waitForExit(of child: pid_t, timeout: Double) -> Int32? {
    let end = Date().addingTimeInterval(timeout)
    var pause: UInt32 = 500
    var status: Int32 = 0
    while unsafe waitpid(child, &status, WNOHANG) == 0 {
        guard Date() < end else {
            kill(-child, SIGKILL)
            unsafe waitpid(child, &status, 0)
            return nil
        }
        usleep(pause)
        pause = min(pause * 2, 10_000)
    }
    let signal = status & 0x7f
    return signal == 0 ? (status >> 8) & 0xff : 128 + signal
}

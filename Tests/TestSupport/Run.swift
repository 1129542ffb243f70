import Foundation
import Glibc

/// The result of a child process.
public struct RunResult: Sendable {
    /// The exit status; 128 plus the signal for a child that a signal ended.
    public let status: Int32
    /// The bytes written to standard output.
    public let output: [UInt8]
    /// The bytes written to standard error.
    public let errorOutput: [UInt8]

    /// Standard output as text; bytes that are not UTF-8 are replaced.
    public var stdout: String { String(decoding: output, as: UTF8.self) }
    /// Standard error as text; bytes that are not UTF-8 are replaced.
    public var stderr: String { String(decoding: errorOutput, as: UTF8.self) }
}

/// The reason why a child process gave no result.
public enum RunError: Error, CustomStringConvertible {
    /// The child could not be started.
    case notStarted(executable: String, reason: String)
    /// The child was still running at the timeout, and was killed with its process group.
    case timedOut(executable: String, output: String)

    /// A description in one sentence.
    public var description: String {
        switch self {
        case .notStarted(let executable, let reason): "cannot start \(executable): \(reason)"
        case .timedOut(let executable, let output): "\(executable) did not end in time; it wrote: \(output)"
        }
    }
}

/// Runs `executable`, looked up in the child's `PATH`, to its end and returns its output.
///
/// Blocks for `timeout` seconds at most; then the child's process group is killed. The timeout only guards against
/// hanging, and is not a measure of speed, since machines may be slow and busy. Input and output use unlinked files, so
/// that no amount of either can stall the child or this process.
///
/// - Parameters:
///   - environment: Added to the environment of this process; these entries take precedence.
///   - isWhole: Whether `environment` is the child's entire environment.
///   - directory: The child's working directory; that of this process if `nil`.
/// - Throws: `RunError`. A status other than 0 is a result, not an error.
@discardableResult
public func run(
    _ executable: String, _ arguments: [String] = [], stdin: [UInt8] = [], environment: [String: String] = [:],
    isWhole: Bool = false, directory: String? = nil, timeout: Double = 240
) throws -> RunResult {
    let input = try scratchFile(executable)
    defer { close(input) }
    let output = try scratchFile(executable)
    defer { close(output) }
    let errorOutput = try scratchFile(executable)
    defer { close(errorOutput) }
    try FileHandle(fileDescriptor: input).write(contentsOf: stdin)
    lseek(input, 0, SEEK_SET)

    let merged = isWhole ? environment : ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
    // The spawn attribute for a working directory is not visible to Swift, so use env(1).
    let command = (directory.map { ["env", "-C", $0] } ?? []) + [executable] + arguments
    let child = try SpawnedProcess(command, environment: merged, streams: (input, output, errorOutput))
    let status = child.wait(timeout: timeout)
    // Kill the group, so that a grandchild does not outlive the test.
    child.kill()
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

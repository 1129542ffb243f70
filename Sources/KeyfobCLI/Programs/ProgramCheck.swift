import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// Starts a program with its recipe in a temporary directory, and makes it use the key.
struct ProgramCheck: ~Copyable {
    /// The directory with the recipe's files.
    let directory: String

    /// Creates the directory.
    ///
    /// - Throws: `KeychainError.fileUnavailable`.
    init() throws {
        directory = try TemporaryDirectory.make(in: Self.place)
    }

    /// The parent directory. Its path must be short and plain, because programs have different quoting rules in their
    /// configurations, and the path of a socket has at most 107 bytes.
    private static var place: String {
        guard let wanted = Environment.nonEmpty("TMPDIR"), wanted.utf8.count <= 80 else { return "/tmp" }
        let isPlain = wanted.unicodeScalars.allSatisfy { scalar in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "/", ".", "_", "-": true
            default: false
            }
        }
        return isPlain ? wanted : "/tmp"
    }

    deinit {
        // Agents and servers that are ending may still remove their sockets or write a file.
        let deadline = Deadline.after(.seconds(2))
        while !removeDirectory() {
            guard !deadline.hasPassed else {
                // The directory contains no secrets except keys made for the check.
                return StandardError.write("keyfob: \(directory) could not be removed.\n")
            }
            usleep(20_000)
        }
    }

    /// Removes the directory, and returns false if anything is left.
    private func removeDirectory() -> Bool {
        // The error does not matter, because removal is retried.
        try? FileManager.default.removeItem(atPath: directory)
        return !FileManager.default.fileExists(atPath: directory)
    }

    /// Runs the check and returns the last line of its output. Blocks until it has ended.
    ///
    /// - Throws: `KeychainError.failed` with the program's output if it did not use the key; `refused` if it cannot be
    ///   started here; `timedOut`.
    func run(_ recipe: Recipe, program: String, deadline: Deadline) throws -> String {
        try RecipeFiles.write(recipe.files, to: directory)
        let exports = recipe.environment.map { "export \($0.name)=\(ShellWord.quoted($0.value))\n" }.joined()
        // A signal that ends this process also ends the script. The script then removes the directory, because `deinit`
        // does not run.
        let removal = "for attempt in 1 2 3 4 5; do rm -rf \(directory) && break; sleep 0.1; done"
        let end = "trap 'cd /; \(removal); exit 143' TERM\n"
        // Otherwise a missing openssl would look like a failure of the program.
        let tool = "command -v openssl >/dev/null || { echo 'openssl cannot be started'; exit 77; }\n"
        let script = "cd \(ShellWord.quoted(directory))\nexec 2>&1\n" + end + exports
            + (recipe.checksByOpenSSL ? tool : "") + recipe.check
        try RecipeFiles.write([.init(name: "check.sh", content: script)], to: directory)
        let log = directory + "/check.log"
        let status = try Self.status(of: directory + "/check.sh", log: log, deadline: deadline)
        let output = String(decoding: FileManager.default.contents(atPath: log) ?? Data(), as: UTF8.self)
        let lines = output.split(separator: "\n").map { TerminalSafe.text(String($0)) }
        switch status {
        case 0: return lines.last ?? ""
        case nil:
            throw KeychainError(.timedOut, "the check of \(program) did not end in time and was stopped.")
        case 77, 127:
            throw KeychainError(
                .refused, "\(program) cannot be checked here: \(lines.last ?? "it cannot be started").",
                hint: "Without --check, the configuration is printed anyway.")
        default:
            throw KeychainError(
                .failed, "\(program) did not use the key.",
                hint: "It said:\n" + lines.suffix(12).map { "      " + $0 }.joined(separator: "\n"))
        }
    }

    private static func status(of script: String, log: String, deadline: Deadline) throws -> Int32? {
        guard let input = OpenFile(path: "/dev/null", flags: O_RDONLY),
            let output = OpenFile(path: log, flags: O_WRONLY | O_CREAT | O_TRUNC)
        else {
            throw KeychainError(
                .fileUnavailable, "cannot write \(log): \(unsafe String(cString: strerror(errno))).")
        }
        var child = try ChildProcess(
            ["/bin/sh", "-eu", script], input: input.descriptor, output: output.descriptor, inOwnGroup: true)
        return child.exitStatus(by: deadline)
    }
}

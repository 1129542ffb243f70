import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// Starts a program with what its recipe says, in a directory that is removed afterwards, and makes it use the key.
struct ProgramCheck: ~Copyable {
    /// The directory in which the program finds the recipe's files.
    let directory: String

    /// Makes the directory.
    ///
    /// - Throws: `KeychainError.fileUnavailable`.
    init() throws {
        directory = try TemporaryDirectory.make(in: Self.place)
    }

    /// Where files of any program can be: each has its own rules for quotes in its configuration, and names of sockets
    /// have room for 107 bytes.
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
        // Agents and servers that were told to end may still be removing their sockets, or writing a last file.
        let deadline = Deadline.after(.seconds(2))
        while !removeDirectory() {
            guard !deadline.hasPassed else {
                // Nothing secret is in it but keys that were made for the check; what stays is /tmp's to clean.
                return StandardError.write("keyfob: \(directory) could not be removed.\n")
            }
            usleep(20_000)
        }
    }

    /// Removes the directory; false where something is left of it.
    private func removeDirectory() -> Bool {
        // Why not does not matter: it is tried again.
        try? FileManager.default.removeItem(atPath: directory)
        return !FileManager.default.fileExists(atPath: directory)
    }

    /// Runs the check and returns what the program showed, one line. Blocks until it has ended.
    ///
    /// - Throws: `KeychainError`; `failed` with the program's own words where it did not use the key, `refused`
    ///   where it cannot be started here, `timedOut`.
    func run(_ recipe: Recipe, program: String, deadline: Deadline) throws -> String {
        try RecipeFiles.write(recipe.files, to: directory)
        let exports = recipe.environment.map { "export \($0.name)=\(ShellWord.quoted($0.value))\n" }.joined()
        // Who is told to end does not come back to remove the directory.
        let removal = "for attempt in 1 2 3 4 5; do rm -rf \(directory) && break; sleep 0.1; done"
        let end = "trap 'cd /; \(removal); exit 143' TERM\n"
        // The program would be blamed for its absence.
        let tool = "command -v openssl >/dev/null || { echo 'openssl cannot be started'; exit 77; }\n"
        let script = "cd \(ShellWord.quoted(directory))\nexec 2>&1\n" + end + exports
            + (recipe.checksByOpenSSL ? tool : "") + recipe.check
        try RecipeFiles.write([.init(name: "check.sh", content: script)], to: directory)
        let log = directory + "/check.log"
        let status = try Self.status(of: directory + "/check.sh", log: log, deadline: deadline)
        let output = String(decoding: FileManager.default.contents(atPath: log) ?? Data(), as: UTF8.self)
        let lines = output.split(separator: "\n").map { Visible.text(String($0)) }
        switch status {
        case 0: return lines.last ?? ""
        case nil:
            throw KeychainError(.timedOut, "the check of \(program) did not end in time and was stopped.")
        case 77, 127:
            throw KeychainError(
                .refused, "\(program) cannot be checked here: \(lines.last ?? "it cannot be started").",
                hint: "Without --check the configuration is printed all the same.")
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

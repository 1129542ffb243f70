import Foundation

/// A program run as a user runs it.
struct Tool {
    let path: String
    let arguments: [String]
    var environment: [String: String] = [:]
    var input = Data()

    struct Result {
        let status: Int32
        let output: String
        let error: String
    }

    init(_ path: String, _ arguments: [String], environment: [String: String] = [:], input: Data = Data()) {
        self.path = path
        self.arguments = arguments
        self.environment = environment
        self.input = input
    }

    /// The command under test, from the directory of the test program.
    static func keyfob(_ arguments: [String], environment: [String: String] = [:], input: Data = Data()) -> Tool {
        let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        return Tool(products.appendingPathComponent("keyfob").path, arguments, environment: environment, input: input)
    }

    /// Runs the program to its end with an environment of `PATH` and what was given.
    func run() throws -> Result {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.environment = ["PATH": "/usr/bin:/bin"].merging(environment) { $1 }
        let (output, error, standardInput) = (Pipe(), Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = error
        process.standardInput = standardInput
        try process.run()
        try standardInput.fileHandleForWriting.write(contentsOf: input)
        try standardInput.fileHandleForWriting.close()
        // Small outputs only: neither pipe fills before the other is read.
        let outputData = try output.fileHandleForReading.readToEnd() ?? Data()
        let errorData = try error.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return Result(
            status: process.terminationStatus, output: String(decoding: outputData, as: UTF8.self),
            error: String(decoding: errorData, as: UTF8.self))
    }
}

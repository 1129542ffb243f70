import Foundation
import TestSupport

/// What the machine that runs the tests has.
enum Machine {
    /// Whether a program can listen at `::1`: in containers it often cannot.
    static let hasIPv6 = FileManager.default.contents(atPath: "/proc/net/if_inet6").map { !$0.isEmpty } ?? false

    /// Whether there is strace(1), and it may trace what it starts.
    static let canTrace: Bool = {
        // Where it is not installed it cannot be started.
        let result = try? Tool("/usr/bin/env", ["strace", "-f", "-o", "/dev/null", "true"]).run()
        return result?.status == 0
    }()
}

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
    ///
    /// - Throws: `RunError`, also for a program that has not ended after four minutes; it is killed.
    func run() throws -> Result {
        let result = try TestSupport.run(
            path, arguments, stdin: [UInt8](input),
            environment: ["PATH": "/usr/bin:/bin"].merging(environment) { $1 }, isWhole: true)
        return Result(status: result.status, output: result.stdout, error: result.stderr)
    }
}

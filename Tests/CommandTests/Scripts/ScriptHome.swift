import TestSupport
import Testing

/// A home in which tests run scripts of sh with the command and other programs.
protocol ScriptHome {
    var home: TestHome { get }
    /// The environment of the scripts.
    var environment: [String: String] { get }
}

extension ScriptHome {
    /// Runs a script of sh in the test's directory.
    func run(_ script: String, environment more: [String: String] = [:]) throws -> Tool.Result {
        try Tool(
            "/bin/sh", ["-euc", "cd \"$1\"; " + script, "sh", home.directory.path],
            environment: environment.merging(more) { $1 }
        ).run()
    }

    /// Runs a script of sh in the test's directory; its failure is a failure of the test.
    @discardableResult
    func shell(_ script: String, environment more: [String: String] = [:]) throws -> String {
        let result = try run(script, environment: more)
        try #require(result.status == 0, "\(result.output)\(result.error)")
        return result.output
    }
}

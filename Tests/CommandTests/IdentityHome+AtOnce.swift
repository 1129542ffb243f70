import Foundation

extension IdentityHome {
    /// Runs commands at once and returns their results. Each waits for the others as long as a busy machine needs.
    func atOnce(_ commands: [[String]], input: String = "") async throws -> [Tool.Result] {
        try await withThrowingTaskGroup(of: Tool.Result.self) { group in
            for command in commands {
                let tool = Tool.keyfob(
                    command + ["--timeout", "120s"], environment: environment, input: Data(input.utf8))
                group.addTask { try await onThread { try tool.run() } }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}

/// Runs blocking work on a new thread, so that many tests at once do not starve each other.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        Thread { continuation.resume(with: Swift.Result { try body() }) }.start()
    }
}

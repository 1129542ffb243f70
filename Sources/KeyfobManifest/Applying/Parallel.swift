import KeyfobPrimitives

/// Work on several entries at once.
enum Parallel {
    /// The number of threads. More would wait for the token, which has few sessions and one lock for writers.
    private static let limit = 4

    private struct Progress {
        var next = 0
        var failure: (any Error)?
    }

    /// Runs `body` for each element, on several threads. After an error, no further element is begun.
    ///
    /// Blocks until all threads have ended.
    ///
    /// - Throws: The first error of `body`.
    static func forEach<Element: Sendable>(
        _ elements: [Element], _ body: @escaping @Sendable (Element) throws -> Void
    ) throws {
        let progress = Lock(Progress())
        let work: @Sendable () -> Void = {
            while true {
                let index = progress.withLock { progress -> Int? in
                    guard progress.failure == nil, progress.next < elements.count else { return nil }
                    progress.next += 1
                    return progress.next - 1
                }
                guard let index else { return }
                do { try body(elements[index]) } catch {
                    progress.withLock { if $0.failure == nil { $0.failure = error } }
                }
            }
        }
        // The caller is one of the threads, so the work is done even if the system has no other.
        let threads = (1..<max(1, min(limit, elements.count))).compactMap { _ in POSIXThread.start("apply", work) }
        work()
        for thread in threads { thread.join() }
        if let failure = progress.withLock({ $0.failure }) { throw failure }
    }
}

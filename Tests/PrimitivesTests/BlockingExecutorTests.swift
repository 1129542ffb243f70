import Foundation
import KeyfobPrimitives
import TestSupport
import Testing

struct BlockingExecutorTests {
    @Test func `a forked child has threads of its own, and does nothing that waited in its parent`() async {
        // Of this process the child could inherit a lock that another test's thread holds, for ever.
        await #expect(processExitsWith: .success) { BlockingExecutorTests.startInChild() }
    }

    private static func startInChild() {
        let executor = BlockingExecutor(width: 1)
        let isOver = Lock(false)
        // The only thread is busy, and what waits behind it is the parent's.
        let hasBegun = Lock(false)
        executor.start {
            hasBegun.withLock { $0 = true }
            hasBegun.broadcast()
            _ = isOver.wait(until: .never) { $0 ? true : nil }
        }
        _ = hasBegun.wait(until: .never) { $0 ? true : nil }
        let process = getpid()
        let waited = Lock<Int32?>(nil)
        executor.start {
            waited.withLock { $0 = getpid() }
            waited.broadcast()
        }
        let status = ForkedChild.run {
            executor.start { _exit(getpid() == process ? 1 : 0) }
        }
        #expect(status == 0)
        isOver.withLock { $0 = true }
        isOver.broadcast()
        #expect(waited.wait(until: .never) { $0 } == process)
    }
}

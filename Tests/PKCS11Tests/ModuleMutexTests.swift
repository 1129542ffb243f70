import CP11Kit
import KeyfobPrimitives
import Testing

@testable import PKCS11

/// The mutexes that Keyfob gives to modules.
@Suite struct ModuleMutexTests {
    /// Runs `body` with the address of a mutex.
    private func withMutex(_ body: (UInt) throws -> Void) throws {
        var pointer: UnsafeMutableRawPointer?
        try #require(unsafe ModuleMutex.create(&pointer) == CKR_OK)
        let address = UInt(bitPattern: pointer)
        try #require(address != 0)
        try body(address)
        #expect(unsafe ModuleMutex.destroy(UnsafeMutableRawPointer(bitPattern: address)) == CKR_OK)
    }

    private func lock(_ address: UInt) -> UInt { unsafe ModuleMutex.lock(UnsafeMutableRawPointer(bitPattern: address)) }

    private func unlock(_ address: UInt) -> UInt {
        unsafe ModuleMutex.unlock(UnsafeMutableRawPointer(bitPattern: address))
    }

    /// The answer of `body` on another thread; `nil` if it does not return in a minute.
    private func elsewhere(_ body: @escaping @Sendable () -> UInt) -> UInt? {
        let answer = Lock<UInt?>(nil)
        let thread = POSIXThread.start("mutex") {
            let result = body()
            answer.withLock { $0 = result }
            answer.broadcast()
        }
        let result = answer.wait(until: .after(.seconds(60))) { $0 }
        if result != nil { thread?.join() }
        return result
    }

    /// The answer to another thread that locks a mutex and unlocks it.
    private func use(_ mutex: UInt) -> UInt? {
        elsewhere {
            let locked = self.lock(mutex)
            return locked == CKR_OK ? self.unlock(mutex) : locked
        }
    }

    @Test func `one thread locks a mutex twice, and another gets it after two releases`() throws {
        try withMutex { mutex in
            let answers = [lock(mutex), lock(mutex)]
            #expect(answers == [CKR_OK, CKR_OK])
            let foreign = elsewhere { self.unlock(mutex) }
            #expect(foreign == CKR_MUTEX_NOT_LOCKED)
            let releases = [unlock(mutex), unlock(mutex), unlock(mutex)]
            #expect(releases == [CKR_OK, CKR_OK, CKR_MUTEX_NOT_LOCKED])
            let later = use(mutex)
            #expect(later == CKR_OK)
        }
    }

    @Test func `a call that returns with mutexes locked leaves none locked`() throws {
        try withMutex { first in
            try withMutex { second in
                let answer = PendingCalls.during(.getInfo, of: "module") {
                    lock(first) | lock(second) | lock(first) | lock(second)
                }
                #expect(answer == CKR_OK)
                let later = [use(first), use(second)]
                #expect(later == [CKR_OK, CKR_OK])
            }
        }
    }

    @Test func `a pointer that is missing is refused`() {
        #expect(unsafe ModuleMutex.create(nil) == CKR_ARGUMENTS_BAD)
        #expect(unsafe ModuleMutex.lock(nil) == CKR_MUTEX_BAD)
        #expect(unsafe ModuleMutex.unlock(nil) == CKR_MUTEX_BAD)
        #expect(unsafe ModuleMutex.destroy(nil) == CKR_MUTEX_BAD)
    }
}

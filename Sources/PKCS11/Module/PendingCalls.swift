import Glibc
import KeyfobPrimitives

/// A call into a module that has not returned yet.
package struct PendingCall: Sendable {
    /// Different for each call of the process.
    package let number: UInt64
    /// The function that was called.
    package let function: PKCS11Function
    /// The path or the name of the module.
    package let module: String
    /// The thread that made the call.
    package let thread: UInt
    /// Whether a person types the PIN at the reader while the call lasts.
    package let awaitsPerson: Bool

    /// Whether the call may last for minutes although the module works: it makes a key, a token, or waits for a person.
    package var mayTakeMinutes: Bool {
        awaitsPerson || [.generateKeyPair, .generateKey, .initializeToken].contains(function)
    }
}

/// The calls into modules that have not returned yet, for a thread that watches how long they take.
///
/// A call inside a module cannot be cancelled: the watching thread ends the process, or gives the caller an error.
package enum PendingCalls {
    private struct State {
        var last: UInt64 = 0
        // A process has few at a time.
        var calls: [PendingCall] = []
    }

    private static let state = Lock(State())

    /// All of them, the oldest first.
    package static var all: [PendingCall] { state.withLock { $0.calls } }

    /// Notes the call of a function for as long as `body` runs, which makes it.
    @inline(__always)
    static func during<Result>(
        _ function: PKCS11Function, of module: String, awaitsPerson: Bool = false, _ body: () -> Result
    ) -> Result {
        let number = begin(function, module, awaitsPerson)
        defer {
            ModuleMutex.releaseHeld()
            end(number)
        }
        return body()
    }

    private static func begin(_ function: PKCS11Function, _ module: String, _ awaitsPerson: Bool) -> UInt64 {
        let thread = UInt(pthread_self())
        return state.withLock { state in
            state.last += 1
            state.calls.append(
                PendingCall(
                    number: state.last, function: function, module: module, thread: thread, awaitsPerson: awaitsPerson))
            return state.last
        }
    }

    private static func end(_ number: UInt64) {
        state.withLock { state in
            guard let index = state.calls.lastIndex(where: { $0.number == number }) else { return }
            state.calls.remove(at: index)
        }
    }
}

/// How long each pending call has been seen, and for how much of that the process did nothing.
///
/// Counted by looks, not by the clock: the time for which the process was stopped is not the module's.
package struct CallAges {
    /// A pending call and its age.
    package struct Age {
        /// The call.
        package let call: PendingCall
        /// How long it has been pending.
        package fileprivate(set) var total = Duration.zero
        /// For how much of that, at the end, no other thread of the process ran on a processor.
        package fileprivate(set) var idle = Duration.zero
    }

    private var ages: [UInt64: Age] = [:]
    private var work = Duration.zero

    /// Makes an empty record.
    package init() {}

    /// Takes note of the calls that are pending now.
    ///
    /// - Parameter interval: How long ago the last look was.
    /// - Returns: All pending calls, the oldest first.
    package mutating func look(after interval: Duration) -> [Age] {
        let done = Self.workOfOthers
        let isIdle = done - work < .milliseconds(2)
        work = done
        var seen: [UInt64: Age] = [:]
        let result = PendingCalls.all.map { call in
            var age = Age(call: call)
            if let former = ages[call.number] {
                age.total = former.total + interval
                age.idle = isIdle ? former.idle + interval : .zero
            }
            seen[call.number] = age
            return age
        }
        ages = seen
        return result
    }

    /// How long the other threads of this process have run on a processor.
    private static var workOfOthers: Duration { time(CLOCK_PROCESS_CPUTIME_ID) - time(CLOCK_THREAD_CPUTIME_ID) }

    private static func time(_ clock: clockid_t) -> Duration {
        var now = timespec()
        // Both clocks are those of the caller: they are always there.
        _ = unsafe clock_gettime(clock, &now)
        return .seconds(now.tv_sec) + .nanoseconds(now.tv_nsec)
    }
}

import KeyfobPrimitives

extension SessionPool {
    /// Who may use which session: pure decisions, made under the pool's lock and carried out outside it.
    ///
    /// Waiters are served in the order of their coming. A thread that comes back at once may overtake one
    /// that has waited for less than a millisecond ("is not ripe"): to hand a session over at every signature
    /// would cost a switch of threads each time. A waiter that is ripe gets the next session that comes
    /// free. It follows that no session lies idle while a ripe waiter waits.
    struct StateMachine<Lease: Sendable>: Sendable {
        /// What a request for a session comes to.
        enum Request: Sendable {
            case use(Lease)
            /// Open a session, and call `openFailed()` if that does not work.
            case open
            /// Wait under this number.
            case wait(Int)
            case closed
        }

        /// What is to be done when a session comes back.
        enum Release: Sendable {
            case nothing
            /// Give the session to this waiter.
            case handOver(Int, Lease)
            /// Close the session.
            case discard(Lease)
            /// Close the session, and let this waiter open another.
            case discardAndLetOpen(Lease, Int)
        }

        private struct Waiter {
            let number: Int
            var isRipe = false
        }

        /// How many sessions there may be; falls when the token turns out to have room for fewer.
        private(set) var limit: Int
        /// How many sessions there are: idle, leased, or about to be opened.
        private(set) var sessionCount = 0
        /// Most recently used last; they are taken from there, for what they touched is still in the caches.
        private(set) var idle: [Lease] = []
        private var waiters: [Waiter] = []
        private var lastNumber = 0
        private(set) var isClosed = false

        init(limit: Int) {
            precondition(limit > 0, "a pool without sessions serves nobody")
            self.limit = limit
            idle.reserveCapacity(limit)
        }

        /// How many threads wait.
        var waiterCount: Int { waiters.count }

        /// An idle session, where there is one.
        mutating func takeIdle() -> Lease? { idle.popLast() }

        /// A thread wants a session.
        mutating func request() -> Request {
            if isClosed { return .closed }
            if let lease = idle.popLast() { return .use(lease) }
            if sessionCount < limit {
                sessionCount += 1
                return .open
            }
            lastNumber += 1
            waiters.append(Waiter(number: lastNumber))
            return .wait(lastNumber)
        }

        /// A thread has waited for a millisecond. `nil` means that it waits on, and will be called.
        mutating func ripen(_ number: Int) -> Request? {
            guard let index = waiters.firstIndex(where: { $0.number == number }) else { return nil }
            // Earlier waiters ripen earlier, and so have had their choice.
            if let lease = idle.popLast() {
                waiters.remove(at: index)
                return .use(lease)
            }
            if sessionCount < limit {
                waiters.remove(at: index)
                sessionCount += 1
                return .open
            }
            waiters[index].isRipe = true
            return nil
        }

        /// A thread's patience is at its end. False when it has just been served: it must take what it got.
        mutating func abandon(_ number: Int) -> Bool {
            guard let index = waiters.firstIndex(where: { $0.number == number }) else { return false }
            waiters.remove(at: index)
            return true
        }

        /// A session comes back, for further use or to be closed.
        mutating func release(_ lease: Lease, isUsable: Bool) -> Release {
            if isClosed {
                sessionCount -= 1
                return .discard(lease)
            }
            guard isUsable else {
                sessionCount -= 1
                if let number = nextOpener() { return .discardAndLetOpen(lease, number) }
                return .discard(lease)
            }
            if let first = waiters.first, first.isRipe {
                waiters.removeFirst()
                return .handOver(first.number, lease)
            }
            idle.append(lease)
            return .nothing
        }

        /// A session that was to be opened could not be. Returns the waiter that may try next.
        ///
        /// - Parameter isFull: the token has no room for another session; where some are open, the pool makes
        ///   do with them from now on.
        mutating func openFailed(isFull: Bool) -> Int? {
            sessionCount -= 1
            if isClosed { return nil }
            if isFull && sessionCount > 0 { limit = sessionCount }
            return nextOpener()
        }

        /// Takes all idle sessions away, because they are dead or suspected to be. Returns those, and the
        /// waiters that may open new ones.
        mutating func discardIdle() -> (leases: [Lease], openers: [Int]) {
            let leases = idle
            idle.removeAll(keepingCapacity: true)
            sessionCount -= leases.count
            var openers: [Int] = []
            while let number = nextOpener() { openers.append(number) }
            return (leases, openers)
        }

        /// No more sessions. Returns what is to be closed and who is to be told.
        mutating func close() -> (leases: [Lease], waiters: [Int]) {
            isClosed = true
            let result = (idle, waiters.map(\.number))
            sessionCount -= idle.count
            idle.removeAll()
            waiters.removeAll()
            return result
        }

        private mutating func nextOpener() -> Int? {
            guard sessionCount < limit, let first = waiters.first else { return nil }
            waiters.removeFirst()
            sessionCount += 1
            return first.number
        }
    }
}

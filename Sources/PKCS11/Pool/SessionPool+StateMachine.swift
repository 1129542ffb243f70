import KeyfobPrimitives

extension SessionPool {
    /// Decides which thread may use which session. Decisions are made under the pool's lock and carried out outside it.
    ///
    /// Waiters are served in order of arrival. A thread whose turn lasts (see `ThreadTurn`) leaves its session idle
    /// rather than handing it over, and usually takes it again at once. Waiters look for an idle session from time to
    /// time, in case it does not.
    struct StateMachine<Lease: Sendable>: Sendable {
        /// The answer to a request for a session.
        enum Request: Sendable {
            case use(Lease)
            /// Open a session, and call `openFailed()` if that does not work.
            case open
            /// Wait under this number.
            case wait(Int)
            case closed
        }

        /// The action to take when a session is returned.
        enum Release: Sendable {
            case nothing
            /// Give the session to this waiter.
            case handOver(Int, Lease)
            /// Close the session.
            case discard(Lease)
            /// Close the session, and let this waiter open another.
            case discardAndLetOpen(Lease, Int)
        }

        /// The maximum number of sessions; reduced if the token turns out to have room for fewer.
        private(set) var limit: Int
        /// The number of sessions: idle, leased, or about to be opened.
        private(set) var sessionCount = 0
        /// The most recently used session is last, and is taken first, since its data are still in the CPU caches.
        private(set) var idle: [Lease] = []
        private var waiters: [Int] = []
        private var lastNumber = 0
        private(set) var isClosed = false

        init(limit: Int) {
            precondition(limit > 0, "a pool needs at least one session")
            self.limit = limit
            idle.reserveCapacity(limit)
        }

        /// The number of waiting threads.
        var waiterCount: Int { waiters.count }

        /// Takes an idle session, if there is one.
        mutating func takeIdle() -> Lease? { idle.popLast() }

        /// Requests a session for a thread.
        mutating func request() -> Request {
            if isClosed { return .closed }
            if let lease = idle.popLast() { return .use(lease) }
            if sessionCount < limit {
                sessionCount += 1
                return .open
            }
            lastNumber += 1
            waiters.append(lastNumber)
            return .wait(lastNumber)
        }

        /// The number of threads that are served before this waiter; `nil` if it is being served.
        func place(of number: Int) -> Int? { waiters.firstIndex(of: number) }

        /// Serves a waiter if a session is idle or may be opened; `nil` means that it goes on waiting for a grant.
        mutating func retry(_ number: Int) -> Request? {
            guard let index = place(of: number), !idle.isEmpty || sessionCount < limit else { return nil }
            waiters.remove(at: index)
            return request()
        }

        /// Removes a waiter whose deadline has passed. Returns false if it has just been served and must take its
        /// grant.
        mutating func abandon(_ number: Int) -> Bool {
            guard let index = place(of: number) else { return false }
            waiters.remove(at: index)
            return true
        }

        /// Returns a session, for further use or to be closed.
        ///
        /// - Parameter keepsTurn: Whether the session is left idle even if threads wait.
        mutating func release(_ lease: Lease, isUsable: Bool, keepsTurn: Bool = false) -> Release {
            if isClosed {
                sessionCount -= 1
                return .discard(lease)
            }
            guard isUsable else {
                sessionCount -= 1
                if let number = nextOpener() { return .discardAndLetOpen(lease, number) }
                return .discard(lease)
            }
            if !keepsTurn, !waiters.isEmpty { return .handOver(waiters.removeFirst(), lease) }
            idle.append(lease)
            return .nothing
        }

        /// Records that a session could not be opened. Returns the waiter that may try next.
        ///
        /// - Parameter isFull: Whether the token has no room for another session. If some are open, their number is the
        ///   limit from now on.
        mutating func openFailed(isFull: Bool) -> Int? {
            sessionCount -= 1
            if isClosed { return nil }
            if isFull && sessionCount > 0 { limit = sessionCount }
            return nextOpener()
        }

        /// Removes all idle sessions, because they are invalid or suspected to be. Returns them, and the waiters that
        /// may open new ones.
        mutating func discardIdle() -> (leases: [Lease], openers: [Int]) {
            let leases = idle
            idle.removeAll(keepingCapacity: true)
            sessionCount -= leases.count
            var openers: [Int] = []
            while let number = nextOpener() { openers.append(number) }
            return (leases, openers)
        }

        /// Closes the pool. Returns the sessions to close and the waiters to notify.
        mutating func close() -> (leases: [Lease], waiters: [Int]) {
            isClosed = true
            let result = (idle, waiters)
            sessionCount -= idle.count
            idle.removeAll()
            waiters.removeAll()
            return result
        }

        private mutating func nextOpener() -> Int? {
            guard sessionCount < limit, !waiters.isEmpty else { return nil }
            sessionCount += 1
            return waiters.removeFirst()
        }
    }
}

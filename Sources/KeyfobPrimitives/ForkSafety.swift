import Glibc

/// What comes to rest for the moment of a fork(2), so that a child inherits nothing that is half done.
package protocol ForkParticipant: AnyObject, Sendable {
    /// Turns new work away and waits for what is under way; whether it has ended in time. Runs in the thread that
    /// forks.
    func rest(until deadline: Deadline) -> Bool

    /// Goes on, in the parent and in the child.
    func resume()
}

/// Sees to it that no ``Lock`` is held by another thread in the moment of a fork(2).
///
/// A child has one thread, and memory as it was: a lock that another thread of the parent held is held in the child
/// for ever (seen at five of 900 forks beside three threads that sign). So the thread that forks waits for calls under
/// way, takes all locks, and both sides release them; that costs some microseconds, and a second where something does
/// not come to rest. The fork happens then all the same, and what did not rest is up to the participant.
///
/// posix_spawn(3) calls no such handlers, and does not need them.
package enum ForkSafety {
    /// A lock in the list of all.
    @unsafe struct Node {
        let mutex: UnsafeMutablePointer<pthread_mutex_t>
        let condition: UnsafeMutablePointer<pthread_cond_t>
        var previous: UnsafeMutablePointer<Node>?
        var next: UnsafeMutablePointer<Node>?
        /// Whether the thread that forks has it.
        var isHeld = false
        /// Whether it has it for a participant, until that resumes.
        var isPinned = false
    }

    private struct Entry: Sendable {
        weak var participant: (any ForkParticipant)?
    }

    // All of it under `registry`, which the thread that forks has while it does.
    nonisolated(unsafe) private static var first: UnsafeMutablePointer<Node>?
    nonisolated(unsafe) private static var participants: [Entry] = []
    nonisolated(unsafe) private static var resting: [(participant: any ForkParticipant, isAtRest: Bool)] = []
    nonisolated(unsafe) private static let registry: UnsafeMutablePointer<pthread_mutex_t> = {
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        unsafe initialize(mutex)
        // Fails for want of memory only; a fork is then what it is without.
        pthread_atfork(
            { ForkSafety.prepare() }, { ForkSafety.finish(isChild: false) }, { ForkSafety.finish(isChild: true) })
        return unsafe mutex
    }()

    /// Held from before a fork to after it: two threads may fork at once.
    nonisolated(unsafe) private static let turn: UnsafeMutablePointer<pthread_mutex_t> = {
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        return unsafe mutex
    }()

    /// Recursive: a participant that is looked at may go in that moment, and its locks with it.
    private static func initialize(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) {
        unsafe mutex.initialize(to: pthread_mutex_t())
        var attributes = pthread_mutexattr_t()
        unsafe pthread_mutexattr_init(&attributes)
        unsafe pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_RECURSIVE))
        unsafe pthread_mutex_init(mutex, &attributes)
        unsafe pthread_mutexattr_destroy(&attributes)
    }

    private static let patience = Duration.seconds(1)

    /// Has a participant come to rest at every fork for as long as it lives.
    package static func register(_ participant: some ForkParticipant) {
        let entry = Entry(participant: participant)
        unsafe pthread_mutex_lock(registry)
        defer { unsafe pthread_mutex_unlock(registry) }
        unsafe participants.removeAll { $0.participant == nil }
        unsafe participants.append(entry)
    }

    static func insert(_ node: UnsafeMutablePointer<Node>) {
        unsafe pthread_mutex_lock(registry)
        defer { unsafe pthread_mutex_unlock(registry) }
        unsafe node.pointee.next = first
        unsafe first?.pointee.previous = node
        unsafe first = node
    }

    static func remove(_ node: UnsafeMutablePointer<Node>) {
        unsafe pthread_mutex_lock(registry)
        defer { unsafe pthread_mutex_unlock(registry) }
        let (previous, next) = unsafe (node.pointee.previous, node.pointee.next)
        unsafe next?.pointee.previous = previous
        if let previous = unsafe previous { unsafe previous.pointee.next = next } else { unsafe first = next }
    }

    /// Takes a lock for the time of the fork, unless that takes too long.
    static func hold(_ node: UnsafeMutablePointer<Node>, until deadline: Deadline) -> Bool {
        while unsafe !node.pointee.isHeld {
            if unsafe pthread_mutex_trylock(node.pointee.mutex) == 0 {
                unsafe node.pointee.isHeld = true
            } else if deadline.hasPassed {
                return false
            } else {
                usleep(20)
            }
        }
        return true
    }

    /// Takes a lock for a participant, which releases it itself.
    static func pin(_ node: UnsafeMutablePointer<Node>, until deadline: Deadline) -> Bool {
        guard unsafe hold(node, until: deadline) else { return false }
        unsafe node.pointee.isPinned = true
        return true
    }

    static func release(_ node: UnsafeMutablePointer<Node>) {
        guard unsafe node.pointee.isHeld else { return }
        unsafe (node.pointee.isHeld, node.pointee.isPinned) = (false, false)
        unsafe pthread_mutex_unlock(node.pointee.mutex)
    }

    private static func prepare() {
        unsafe pthread_mutex_lock(turn)
        unsafe pthread_mutex_lock(registry)
        let deadline = Deadline.after(patience)
        // Before the locks, which the calls under way may need to end.
        for entry in unsafe participants {
            guard let participant = entry.participant else { continue }
            unsafe resting.append((participant, participant.rest(until: deadline)))
        }
        while !holdAll(), !deadline.hasPassed {
            releaseAll()
            // Who has a lock may be making another.
            unsafe pthread_mutex_unlock(registry)
            usleep(50)
            unsafe pthread_mutex_lock(registry)
        }
    }

    /// One try; a thread that has one of the locks may be waiting for another.
    private static func holdAll() -> Bool {
        var isComplete = true
        var node = unsafe first
        while let current = unsafe node {
            if unsafe !hold(current, until: .after(.zero)) { isComplete = false }
            unsafe node = current.pointee.next
        }
        return isComplete
    }

    private static func releaseAll() {
        var node = unsafe first
        while let current = unsafe node {
            if unsafe !current.pointee.isPinned { unsafe release(current) }
            unsafe node = current.pointee.next
        }
    }

    private static func finish(isChild: Bool) {
        if isChild {
            var node = unsafe first
            while let current = unsafe node {
                // Nobody waits here, and who destroys a condition would wait for those that the parent has.
                unsafe Lock<Void>.initialize(current.pointee.condition)
                unsafe node = current.pointee.next
            }
        }
        let rested = unsafe resting
        unsafe resting = []
        for (participant, isAtRest) in rested where isAtRest { participant.resume() }
        releaseAll()
        // A recursive mutex knows its thread by a number that is another one in the child.
        if isChild { unsafe initialize(registry) } else { unsafe pthread_mutex_unlock(registry) }
        unsafe pthread_mutex_unlock(turn)
        withExtendedLifetime(rested) {}
    }
}

import Glibc

/// An object that pauses its work during fork(2), so that the child inherits no work in progress.
package protocol ForkParticipant: AnyObject, Sendable {
    /// Turns new work away and waits for work in progress.
    ///
    /// Runs in the thread that forks.
    ///
    /// - Returns: Whether the work in progress has ended in time.
    func rest(until deadline: Deadline) -> Bool

    /// Resumes work, in the parent and in the child.
    func resume()
}

/// Ensures that no other thread holds a ``Lock`` during fork(2).
///
/// A child has one thread and a copy of the parent's memory: a lock held by another thread of the parent stays held in
/// the child for ever (seen at five of 900 forks beside three signing threads). So the forking thread waits for calls
/// in progress and takes all locks, and both sides release them. That takes some microseconds, and a second if a
/// participant does not pause or a lock is not released. The fork then happens all the same, and the participant has to
/// deal with its unfinished work.
///
/// posix_spawn(3) does not call these handlers and does not need them.
package enum ForkSafety {
    /// An entry in the list of all locks.
    @unsafe struct Node {
        let mutex: UnsafeMutablePointer<pthread_mutex_t>
        let condition: UnsafeMutablePointer<pthread_cond_t>
        var previous: UnsafeMutablePointer<Node>?
        var next: UnsafeMutablePointer<Node>?
        /// Whether the forking thread holds the lock.
        var isHeld = false
        /// Whether it holds the lock for a participant, until that resumes.
        var isPinned = false
    }

    private struct Entry: Sendable {
        weak var participant: (any ForkParticipant)?
    }

    // Protected by `registry`, which the forking thread holds during the fork.
    nonisolated(unsafe) private static var first: UnsafeMutablePointer<Node>?
    nonisolated(unsafe) private static var participants: [Entry] = []
    nonisolated(unsafe) private static var resting: [(participant: any ForkParticipant, isAtRest: Bool)] = []
    nonisolated(unsafe) private static let registry: UnsafeMutablePointer<pthread_mutex_t> = {
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        unsafe initialize(mutex)
        // Fails only for lack of memory; forks then happen without this protection.
        pthread_atfork(
            { ForkSafety.prepare() }, { ForkSafety.finish(isChild: false) }, { ForkSafety.finish(isChild: true) })
        return unsafe mutex
    }()

    /// Held from before a fork until after it, because two threads may fork at once.
    nonisolated(unsafe) private static let turn: UnsafeMutablePointer<pthread_mutex_t> = {
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        return unsafe mutex
    }()

    /// Recursive: a participant that is being visited may be deinitialised at that moment, and its locks with it.
    private static func initialize(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) {
        unsafe mutex.initialize(to: pthread_mutex_t())
        var attributes = pthread_mutexattr_t()
        unsafe pthread_mutexattr_init(&attributes)
        unsafe pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_RECURSIVE))
        unsafe pthread_mutex_init(mutex, &attributes)
        unsafe pthread_mutexattr_destroy(&attributes)
    }

    private static let patience = Duration.seconds(1)

    /// Registers a participant that pauses at every fork for as long as it lives.
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

    /// Takes a lock for the duration of the fork; returns false if that takes too long.
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
        // Pause participants before taking the locks, which the calls in progress may need in order to end.
        for entry in unsafe participants {
            guard let participant = entry.participant else { continue }
            unsafe resting.append((participant, participant.rest(until: deadline)))
        }
        while !holdAll(), !deadline.hasPassed {
            releaseAll()
            // A thread that holds a lock may be creating another, which needs the registry.
            unsafe pthread_mutex_unlock(registry)
            usleep(50)
            unsafe pthread_mutex_lock(registry)
        }
    }

    /// Tries once to take all locks. A thread that holds one of them may be waiting for another.
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
                // No thread waits in the child, but destroying the condition would wait for the parent's waiting
                // threads.
                unsafe Lock<Void>.initialize(current.pointee.condition)
                unsafe node = current.pointee.next
            }
        }
        let rested = unsafe resting
        unsafe resting = []
        for (participant, isAtRest) in rested where isAtRest { participant.resume() }
        releaseAll()
        // A recursive mutex stores its owner's thread number, which is different in the child.
        if isChild { unsafe initialize(registry) } else { unsafe pthread_mutex_unlock(registry) }
        unsafe pthread_mutex_unlock(turn)
        withExtendedLifetime(rested) {}
    }
}

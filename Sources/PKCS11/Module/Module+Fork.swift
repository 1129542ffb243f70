import Glibc
package import KeyfobPrimitives
import Synchronization

/// A child of fork(2) has the parent's memory and none of its other threads.
extension Module {
    /// Refuses to go on in a child that was forked while another thread of its parent was inside of the library.
    ///
    /// That thread may have held one of the library's own locks, which nobody in the child will ever release: calls
    /// into SoftHSM then wait for ever.
    func checkFork() throws(PKCS11Error) {
        let identifier = getpid()
        while true {
            let seen = caller.load(ordering: .acquiring)
            if seen == identifier { break }
            guard seen != 0,
                caller.compareExchange(expected: seen, desired: 0, ordering: .acquiringAndReleasing).exchanged
            else {
                usleep(100)
                continue
            }
            // No call of this process has been counted yet.
            isCutOff.store(!gate.isQuiet, ordering: .relaxed)
            caller.store(identifier, ordering: .releasing)
        }
        guard !isCutOff.load(ordering: .relaxed) else {
            throw PKCS11Error(
                function: .initialize, returnValue: .cantLock,
                detail: "this process was forked while its parent was using the module")
        }
    }
}

/// A fork waits for the calls under way: the library's own locks are then free, and the child can use it.
extension Module: ForkParticipant {
    package func rest(until deadline: Deadline) -> Bool {
        guard !isForked, lifecycle.holdForFork(until: deadline) else { return false }
        gate.shut()
        while !gate.isQuiet {
            guard !deadline.hasPassed else {
                resume()
                return false
            }
            usleep(20)
        }
        return true
    }

    package func resume() {
        gate.open(newGeneration: false)
        lifecycle.releaseAfterFork()
    }
}

import Glibc
package import KeyfobPrimitives
import Synchronization

/// Fork handling: a child of fork(2) has the parent's memory but none of its other threads.
extension Module {
    /// Throws if this process was forked while another thread of its parent was inside the library.
    ///
    /// That thread may have held one of the library's own locks, which is never released in the child: calls into
    /// SoftHSM would then wait for ever.
    ///
    /// - Throws: `ReturnValue.cantLock` of `PKCS11Function.initialize`.
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
            // This process has not counted any call yet, so a count above zero comes from the parent.
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

/// fork(2) waits for the calls in progress, so that the library's own locks are free and the child can use it.
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

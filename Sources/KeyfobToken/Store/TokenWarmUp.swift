import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// Opens a token ahead of its first use.
///
/// Relocating SoftHSM and listing libcrypto's algorithms, with which SoftHSM starts, take most of the time of a command
/// that reads one secret. So both start before the keychain is known, with the module that most keychains have. The
/// module is mapped on the calling thread; libcrypto is initialized on a second thread, which then waits for work on
/// the token. A third thread would not help: on two cores it waits for one of them, and every change to the address
/// space interrupts both cores.
package final class TokenWarmUp: Sendable {
    private enum Work {
        case unknown
        case known(@Sendable () -> Void)
        case none
    }

    /// The module that is mapped.
    package let module: ModuleLocation
    private let work: Lock<Work>
    private let thread: POSIXThread.Joinable?
    /// The SoftHSM directory that the process was bound to by this warm-up.
    private let claim: SoftHSMDirectory?

    /// Starts with the module of a keychain. Blocks for about a millisecond while the module is mapped.
    ///
    /// Modules and libcrypto read the environment when they are loaded, so the environment must not change until
    /// `join()` has returned. For SoftHSM it is changed here, before there is a second thread.
    ///
    /// - Throws: `KeychainError` with code `refused` if this process uses another SoftHSM directory.
    package init(_ module: ModuleLocation, softHSM: SoftHSMDirectory) throws(KeychainError) {
        let work = Lock(Work.unknown)
        self.module = module
        self.work = work
        claim = module == .softHSM ? try softHSM.claimProcess() ? softHSM : nil : nil
        // If no thread can be started, the first call that needs the token does the work.
        thread = POSIXThread.start("keyfob-token", elsewhere: true) {
            LibCrypto.initialize()
            let next = work.wait(until: .never) { work -> Work? in
                if case .unknown = work { return nil }
                // Release what the closure captures.
                defer { work = .none }
                return work
            }
            if case .known(let body) = next { body() }
        }
        // Only now: glibc does not start a thread while it relocates a library.
        Self.map(module)
    }

    deinit { proceed(.none) }

    /// Starts with SoftHSM if there are tokens created by Keyfob, since the keychain is likely on one of them.
    package convenience init?(expecting softHSM: SoftHSMDirectory) {
        guard softHSM.isPrepared else { return nil }
        // The keychain on such a token reports the error.
        do { try self.init(.softHSM, softHSM: softHSM) } catch { return nil }
    }

    /// Makes the thread run `next` when it is ready. Returns at once; only the first call has an effect.
    package func proceed(_ next: @escaping @Sendable () -> Void) { proceed(.known(next)) }

    private func proceed(_ next: Work) {
        work.withLock { work in
            if case .unknown = work { work = next }
        }
        work.broadcast()
    }

    /// Waits for the thread, including the closure passed to `proceed`.
    package func join() {
        proceed(.none)
        thread?.join()
        // Release a closure that was not run.
        work.withLock { $0 = .none }
    }

    /// Waits for the thread and restores the environment, if another module is needed after all.
    package func takeBack() {
        join()
        claim?.disclaimProcess()
    }

    private static func map(_ location: ModuleLocation) {
        switch location {
        case .softHSM: SoftHSMDirectory.mapModule()
        case .path(let path, _): Module.map(path: path)
        // p11-kit finds the module after it has read its configuration.
        case .registered: break
        }
    }
}

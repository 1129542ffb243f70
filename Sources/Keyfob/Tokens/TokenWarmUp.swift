import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// What opens a token ahead of its first use.
///
/// Relocating SoftHSM, and listing libcrypto's algorithms, with which SoftHSM begins, is most of what a command that
/// reads one secret does. So both begin before anybody has read which keychain is meant, with the module that most
/// keychains have: the one here, the other on a thread, which then waits for what to do with the token. One thread and
/// no more: on two cores a third waits for one of them, and each has every change to the address space interrupt both.
final class TokenWarmUp: Sendable {
    private enum Work {
        case unknown
        case known(@Sendable () -> Void)
        case none
    }

    /// The module that is mapped.
    let module: KeychainConfiguration.ModuleLocation
    private let work: Lock<Work>
    private let thread: POSIXThread.Joinable?
    /// Whose the process became by this.
    private let claim: SoftHSMDirectory?

    /// Begins with the module of a keychain. Blocks for a millisecond, while that is mapped.
    ///
    /// Modules and libcrypto read the environment when they are loaded: nobody may change it before `join()` has
    /// returned. For SoftHSM it is changed here, before there is a second thread.
    ///
    /// - Throws: `refused` where this process uses another SoftHSM directory.
    init(_ module: KeychainConfiguration.ModuleLocation, softHSM: SoftHSMDirectory) throws(KeychainError) {
        let work = Lock(Work.unknown)
        self.module = module
        self.work = work
        claim = module == .softHSM ? try softHSM.claimProcess() ? softHSM : nil : nil
        // What no thread is to be had for is done by the first call that needs it.
        thread = POSIXThread.start("keyfob-token", elsewhere: true) {
            LibCrypto.initialize()
            let next = work.wait(until: .never) { work -> Work? in
                if case .unknown = work { return nil }
                // What it holds on to ends with it.
                defer { work = .none }
                return work
            }
            if case .known(let body) = next { body() }
        }
        // After that: glibc begins no thread while it relocates a library.
        Self.map(module)
    }

    deinit { proceed(.none) }

    /// Begins with SoftHSM where there are tokens of ours, whose keychain is likely to be the one that is meant.
    convenience init?(expecting softHSM: SoftHSMDirectory) {
        guard softHSM.isPrepared else { return nil }
        // Why it cannot be is said by the keychain that is on such a token.
        do { try self.init(.softHSM, softHSM: softHSM) } catch { return nil }
    }

    /// Has the thread do `next` when it comes to it. Returns at once; only the first call counts.
    func proceed(_ next: @escaping @Sendable () -> Void) { proceed(.known(next)) }

    private func proceed(_ next: Work) {
        work.withLock { work in
            if case .unknown = work { work = next }
        }
        work.broadcast()
    }

    /// Waits for the thread, also for what `proceed` was called with.
    func join() {
        proceed(.none)
        thread?.join()
        // What nobody has taken.
        work.withLock { $0 = .none }
    }

    /// Waits for the thread, and leaves the environment as it was: it was to be another module.
    func takeBack() {
        join()
        claim?.disclaimProcess()
    }

    private static func map(_ location: KeychainConfiguration.ModuleLocation) {
        switch location {
        case .softHSM: SoftHSMDirectory.mapModule()
        case .path(let path): Module.map(path: path)
        // p11-kit knows where it is when it has read its configuration.
        case .registered: break
        }
    }
}

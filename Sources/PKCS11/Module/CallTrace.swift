import KeyfobPrimitives
import Synchronization

/// Tells of every C call that ended: which function, and what it returned. Never of what went in or came out.
package enum CallTrace {
    private static let isOn = Atomic<Bool>(false)
    private static let observer = Lock<@Sendable (PKCS11Function, ReturnValue) -> Void>({ _, _ in })

    /// Calls `body` after each C call from now on, on whatever thread makes it.
    package static func observe(_ body: @escaping @Sendable (PKCS11Function, ReturnValue) -> Void) {
        observer.withLock { $0 = body }
        isOn.store(true, ordering: .releasing)
    }

    /// Takes note of a call. Costs one load where nobody observes.
    @inline(__always)
    static func note(_ function: @autoclosure () -> PKCS11Function, _ returnValue: UInt) {
        if isOn.load(ordering: .relaxed) { tell(function(), returnValue) }
    }

    private static func tell(_ function: PKCS11Function, _ returnValue: UInt) {
        let body = observer.withLock { $0 }
        body(function, ReturnValue(rawValue: returnValue))
    }
}

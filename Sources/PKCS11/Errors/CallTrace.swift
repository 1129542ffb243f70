import KeyfobPrimitives
import Synchronization

/// Reports the function and return value of every C call that ended, but never its arguments or results.
package enum CallTrace {
    private static let isOn = Atomic<Bool>(false)
    private static let observer = Lock<@Sendable (PKCS11Function, ReturnValue) -> Void>({ _, _ in })

    /// Sets `body` to be called after each C call, on the thread that made the call.
    package static func observe(_ body: @escaping @Sendable (PKCS11Function, ReturnValue) -> Void) {
        observer.withLock { $0 = body }
        isOn.store(true, ordering: .releasing)
    }

    /// Reports a call. Without an observer it costs one load.
    @inline(__always)
    static func note(_ function: @autoclosure () -> PKCS11Function, _ returnValue: UInt) {
        if isOn.load(ordering: .relaxed) { tell(function(), returnValue) }
    }

    private static func tell(_ function: PKCS11Function, _ returnValue: UInt) {
        let body = observer.withLock { $0 }
        body(function, ReturnValue(rawValue: returnValue))
    }
}

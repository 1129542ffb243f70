import Foundation
import KeyfobPrimitives

/// Descriptors that somebody else has opened and tells of by their numbers.
///
/// A descriptor that was taken is closed, and the next file that the process opens may have its number. What names
/// it, such as a configuration, still means the former one.
package enum NamedDescriptor {
    /// The numbers that were taken, and that nobody has named anew since.
    private static let taken = Lock<[Int32]>([])

    /// Notes that `number` means what is open under it from now on.
    package static func nameAnew(_ number: Int32) {
        taken.withLock { taken in taken.removeAll { $0 == number } }
    }

    /// Whether the number was taken, and not named anew since.
    package static func isTaken(_ number: Int32) -> Bool { taken.withLock { $0.contains(number) } }

    /// Keeps the descriptor from every later child.
    package static func withhold(_ number: Int32) {
        taken.withLock { taken in
            guard !taken.contains(number) else { return }
            // One that is not open is for whoever reads it to report.
            _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        }
    }

    /// A copy of the descriptor, for the caller to close; its own number is then free, and is never taken again.
    ///
    /// In one step, so that of two threads one has it, and nobody closes what a third has opened meanwhile.
    ///
    /// - Parameter name: What messages call it.
    /// - Throws: `fileUnavailable` where it is not open, or was taken already.
    package static func take(_ number: Int32, named name: String) throws(KeychainError) -> Int32 {
        try taken.withLock { (taken) throws(KeychainError) -> Int32 in
            guard !taken.contains(number) else {
                throw KeychainError(
                    .fileUnavailable, "cannot read \(name): it was read already, and then closed.",
                    hint: "Give another PIN source.", details: ["path": name])
            }
            let isOthers = number == 0 || InheritedDescriptors.wasOpen(number)
            let copy = isOthers ? fcntl(number, F_DUPFD_CLOEXEC, 3) : -1
            guard copy >= 0 else { throw unavailable(number, named: name, isOthers ? errno : EBADF) }
            // The standard input stays: without it the next file would have its number.
            if number != 0 {
                close(number)
                taken.append(number)
            }
            return copy
        }
    }

    /// The error for one that cannot be read.
    package static func unavailable(_ number: Int32, named name: String, _ reason: Int32) -> KeychainError {
        let error = KeychainError.file("read", name, reason)
        let hint = reason == EBADF ? "Let the shell open it: \(number)< FILE" : nil
        return KeychainError(error.code, error.message, hint: hint, details: error.details)
    }
}

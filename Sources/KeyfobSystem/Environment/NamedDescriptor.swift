import Foundation
import KeyfobPrimitives

/// Descriptors that the caller of the process has opened and names by number.
///
/// Taking a descriptor closes it, and the next file that the process opens may get its number. A configuration that
/// names the number still means the descriptor that was taken.
package enum NamedDescriptor {
    /// The numbers that were taken and not named again since.
    private static let taken = Lock<[Int32]>([])

    /// Lets `number` mean what is open under it from now on.
    package static func nameAnew(_ number: Int32) {
        taken.withLock { taken in taken.removeAll { $0 == number } }
    }

    /// Whether the number was taken and not named again since.
    package static func isTaken(_ number: Int32) -> Bool { taken.withLock { $0.contains(number) } }

    /// Withholds the descriptor from every later child.
    package static func withhold(_ number: Int32) {
        taken.withLock { taken in
            guard !taken.contains(number) else { return }
            // The code that reads the descriptor reports one that is not open.
            _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        }
    }

    /// Takes the descriptor: duplicates it and closes the original, whose number is never taken again.
    ///
    /// Atomic: one of two threads gets it, and no thread closes a file that another has opened under the number.
    ///
    /// - Parameter name: The name for messages.
    /// - Returns: The duplicate, for the caller to close.
    /// - Throws: `fileUnavailable` if the descriptor is not open or was taken already.
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
            // Standard input stays open: otherwise the next file would get the number 0.
            if number != 0 {
                close(number)
                taken.append(number)
            }
            return copy
        }
    }

    /// The error for a descriptor that cannot be read.
    package static func unavailable(_ number: Int32, named name: String, _ reason: Int32) -> KeychainError {
        let error = KeychainError.file("read", name, reason)
        let hint = reason == EBADF ? "Let the shell open it: \(number)< FILE" : nil
        return KeychainError(error.code, error.message, hint: hint, details: error.details)
    }
}

import Foundation
import Synchronization

/// The descriptors that this process was started with.
///
/// A number, or a path such as `/dev/fd/3`, means what the caller of the process opened. It never means a file of this
/// process, such as its vault, that got the number since.
package enum InheritedDescriptors {
    /// Whether they were recorded. In a library they are not: the program may pass on what it opened itself.
    private static let areNoted = Atomic(false)
    /// The descriptors that were open at the start; `nil` if the system does not tell.
    private static let numbers: [Int32]? = openNumbers()

    /// Records which descriptors are open. A command calls it before it opens anything.
    package static func note() {
        _ = numbers
        areNoted.store(true, ordering: .sequentiallyConsistent)
    }

    /// Whether a descriptor is open and, if they were recorded, was open at the start.
    ///
    /// A descriptor that a PIN was taken from does not count: its number may belong to another file.
    package static func contains(_ number: Int32) -> Bool {
        wasOpen(number) && !NamedDescriptor.isTaken(number)
    }

    /// Like `contains(_:)`, but also true for a descriptor that a PIN was taken from.
    package static func wasOpen(_ number: Int32) -> Bool {
        guard fcntl(number, F_GETFD) >= 0 else { return false }
        guard areNoted.load(ordering: .sequentiallyConsistent), let numbers else { return true }
        return numbers.contains(number)
    }

    /// Marks all descriptors that were not open at the start, so that exec(3) closes them.
    ///
    /// Libraries open some without the mark. Does nothing if the descriptors at the start are unknown.
    package static func closeOthersOnExec() {
        guard let numbers, let current = openNumbers() else { return }
        for number in current where !numbers.contains(number) { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
    }

    /// Closes the descriptors that were open at the start, except the standard streams.
    package static func closeAll() {
        for number in numbers ?? [] where number > STDERR_FILENO && contains(number) { close(number) }
    }

    /// The number in `/dev/fd/N` and its equivalents; `nil` for other paths.
    package static func number(at path: String) -> Int32? {
        for folder in ["/dev/fd/", "/proc/self/fd/", "/proc/\(getpid())/fd/"] where path.hasPrefix(folder) {
            return Int32(path.dropFirst(folder.count))
        }
        return nil
    }

    private static func openNumbers() -> [Int32]? {
        guard let directory = OpenDirectory(path: "/proc/self/fd") else { return nil }
        // Open only while the directory is read.
        let own = directory.descriptor
        var numbers: [Int32] = []
        do {
            try unsafe directory.forEachName { name in
                guard let number = unsafe Int32(String(decoding: name, as: UTF8.self)), number != own else { return }
                numbers.append(number)
            }
        } catch {
            return nil
        }
        return numbers
    }
}

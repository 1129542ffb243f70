import Foundation
import Synchronization

/// The descriptors that this process was started with.
///
/// Whoever names one by its number, or by a path such as `/dev/fd/3`, means what its caller has opened, never a file of
/// this process itself, such as its vault, that got the number meanwhile.
package enum InheritedDescriptors {
    /// Whether they were noted. In a library they are not: the program around it may give it what it opens itself.
    private static let areNoted = Atomic(false)
    /// Those that were open at the start; `nil` where the system does not tell.
    private static let numbers: [Int32]? = openNumbers()

    /// Notes which descriptors are open. A command calls it before it opens anything.
    package static func note() {
        _ = numbers
        areNoted.store(true, ordering: .sequentiallyConsistent)
    }

    /// Whether a descriptor is open and, where they were noted, one of those that were it from the start. One that a
    /// PIN was taken from is none of them any more: its number may be another file's.
    package static func contains(_ number: Int32) -> Bool {
        wasOpen(number) && !NamedDescriptor.isTaken(number)
    }

    /// As `contains(_:)`, also of one that a PIN was taken from.
    package static func wasOpen(_ number: Int32) -> Bool {
        guard fcntl(number, F_GETFD) >= 0 else { return false }
        guard areNoted.load(ordering: .sequentiallyConsistent), let numbers else { return true }
        return numbers.contains(number)
    }

    /// The number of `/dev/fd/N` and of what it stands for; links below it lead where their text does not.
    package static func number(at path: String) -> Int32? {
        for folder in ["/dev/fd/", "/proc/self/fd/", "/proc/\(getpid())/fd/"] where path.hasPrefix(folder) {
            return Int32(path.dropFirst(folder.count))
        }
        return nil
    }

    private static func openNumbers() -> [Int32]? {
        guard let directory = OpenDirectory(path: "/proc/self/fd") else { return nil }
        // Open for as long as it is read, and no longer.
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

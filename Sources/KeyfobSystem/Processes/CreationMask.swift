import Glibc
import Synchronization

/// The file mode creation mask (umask(2)) of a process that takes a stricter one for itself, and what it was before.
///
/// Programs that the user has run for him, such as one that issues certificates, make files that others must be able
/// to read: their mask is the one that the user's own programs have.
package enum CreationMask {
    // No lock, whose making would be the longest part of a command's first steps.
    private static let ofCaller = Atomic(unknown)
    /// No mask has so many bits.
    private static let unknown = mode_t.max

    /// From now on no file that this process makes can be read by others.
    package static func restrict() {
        // The first one is the caller's.
        _ = ofCaller.compareExchange(expected: unknown, desired: umask(0o077), ordering: .relaxed)
    }

    /// Restores the caller's mask, for a program that takes the place of this process or is the last that it starts.
    package static func restore() {
        let mask = ofCaller.load(ordering: .relaxed)
        if mask != unknown { umask(mask) }
    }

    /// The caller's mask, as umask(1) takes it; `nil` where this process has changed nothing.
    package static var callersText: String? {
        let mask = ofCaller.load(ordering: .relaxed)
        guard mask != unknown else { return nil }
        let digits = String(mask, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    /// A command that begins with the caller's mask. The words stay as they are: the shell reads none of them.
    ///
    /// A mask belongs to a whole process: changed around a start it would be that of what other threads make meanwhile.
    ///
    /// - Throws: As starting it does, where there is no such program: a shell would only print so.
    package static func restored(for command: [String]) throws(KeychainError) -> [String] {
        guard let callersText else { return command }
        let program = command.first ?? ""
        let reason = ProgramLookup.failure(of: program)
        guard reason == 0 else { throw .file("start", program, reason) }
        return ["/bin/sh", "-c", "umask \(callersText); exec \"$@\"", "sh"] + command
    }
}

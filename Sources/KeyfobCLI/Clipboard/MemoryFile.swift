import CLinux
import Glibc
import Keyfob
import KeyfobPrimitives

/// A file in memory without a name, to exchange secrets of any size with a program.
///
/// It is closed with the last reference. A caller that only passes the descriptor on extends its lifetime.
final class MemoryFile {
    let descriptor: Int32

    /// Creates a file whose reader starts at its beginning.
    ///
    /// - Throws: `KeychainError.failed` if the system has no room.
    init(_ contents: SecretBytes = SecretBytes([])) throws {
        descriptor = keyfob_memory_file()
        guard descriptor >= 0 else {
            throw KeychainError(.failed, "a file in memory cannot be made: \(FileArgument.reason(errno)).")
        }
        try unsafe contents.withUnsafeBytes { try unsafe FileDescriptor.writeAll($0, to: descriptor) }
        lseek(descriptor, 0, SEEK_SET)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The contents; a program that still writes may add more.
    func contents() -> SecretBytes {
        let end = lseek(descriptor, 0, SEEK_END)
        guard end > 0 else { return SecretBytes([]) }
        var count = 0
        let bytes = unsafe SecretBytes(count: Int(end)) { buffer in
            while count < buffer.count {
                let more = unsafe pread(
                    descriptor, buffer.baseAddress.map { unsafe $0 + count }, buffer.count - count, off_t(count))
                guard more > 0 else { return }
                count += more
            }
        }
        return bytes.prefix(count)
    }
}

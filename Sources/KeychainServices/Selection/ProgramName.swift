import Foundation

/// The name of this program, by which it recognises what it stored itself among the items without an access group.
enum ProgramName {
    /// The file name of the executable.
    static let current = of(executable: link ?? CommandLine.arguments.first ?? "")

    /// What the kernel says that the process runs; a process can set its arguments to anything.
    private static var link: String? {
        // Without /proc, as in a chroot, the first argument must do.
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }

    /// The file name in the path of an executable.
    static func of(executable path: String) -> String {
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        // The kernel appends this once an update has replaced the file of a program that runs.
        let mark = " (deleted)"
        return name.hasSuffix(mark) ? String(name.dropLast(mark.count)) : name
    }
}

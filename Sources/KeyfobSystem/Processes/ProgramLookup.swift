import Glibc

/// Whether programs can be started.
package enum ProgramLookup {
    /// 0, or the error number with which a program cannot be started, looked up as execvp(3) does.
    package static func failure(of program: String) -> Int32 {
        guard !program.contains("/") else { return unsafe access(program, X_OK) == 0 ? 0 : errno }
        var reason = ENOENT
        let path = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? "/bin:/usr/bin"
        for directory in path.split(separator: ":", omittingEmptySubsequences: false) {
            if unsafe access((directory.isEmpty ? "." : directory) + "/" + program, X_OK) == 0 { return 0 }
            if errno == EACCES { reason = EACCES }
        }
        return reason
    }
}

import Glibc

/// Where programs are, looked up as execvp(3) does.
package enum ProgramLookup {
    /// The file of a program, or the reason why it cannot be started.
    package enum Result: Equatable {
        /// The path of the file.
        case found(String)
        /// The error number of the failure: `ENOENT` if there is no such file.
        case failed(Int32)
    }

    /// Looks a program up.
    ///
    /// - Parameter path: The value of `PATH`; `nil` for that of this process.
    package static func find(_ program: String, path: String? = nil) -> Result {
        guard !program.contains("/") else { return failure(at: program).map(Result.failed) ?? .found(program) }
        guard !program.isEmpty else { return .failed(ENOENT) }
        var reason = ENOENT
        let path = path ?? EnvironmentVariable.value("PATH") ?? "/bin:/usr/bin"
        for directory in path.split(separator: ":", omittingEmptySubsequences: false) {
            let file = (directory.isEmpty ? "." : directory) + "/" + program
            guard let number = failure(at: file) else { return .found(file) }
            if number == EACCES { reason = EACCES }
        }
        return .failed(reason)
    }

    /// 0, or the error number with which a program cannot be started.
    package static func failure(of program: String) -> Int32 {
        if case .failed(let number) = find(program) { number } else { 0 }
    }

    private static func failure(at file: String) -> Int32? {
        guard unsafe access(file, X_OK) == 0 else { return errno }
        var status = stat()
        guard unsafe stat(file, &status) == 0 else { return errno }
        // A directory may be searched, which access(2) reports as executable.
        return status.st_mode & S_IFMT == S_IFREG ? nil : EACCES
    }
}

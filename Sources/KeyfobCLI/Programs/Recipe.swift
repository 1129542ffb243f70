import Keyfob

/// The configuration with which a program uses a key on a token: files, variables, lines of configuration, and a check.
struct Recipe {
    /// A file for the program's configuration. It never contains a secret.
    struct File: Equatable {
        /// The name in the directory of `--write`.
        let name: String
        let content: String
        var isExecutable = false
        /// The common prefix of all versions, for a file whose name depends on its content; `nil` for a file that keeps
        /// its name and is replaced.
        var series: String?
    }

    /// How the program reaches the token, with version numbers where they matter.
    let title: String
    /// The required files, in the order in which they are written: a file comes after the files that it names.
    var files: [File] = []
    /// Variables of the program's environment.
    var environment: [(name: String, value: String)] = []
    /// Commands to run, or lines of the program's configuration.
    let lines: [String]
    /// Notes for the user; printed as comments.
    var notes: [String] = []
    /// A shell script that starts the program with these files and makes it use the key, or fails.
    ///
    /// It runs in the directory of the files with `environment`, and stops the processes that it started.
    let check: String
    /// Whether the script also runs openssl.
    var checksByOpenSSL = true

    /// The recipe without `files`, as text for a shell or a configuration.
    ///
    /// Each note is one line. A second line would not be a comment, and names in notes may come from untrusted files.
    var text: String {
        let exports = environment.map { "export \($0.name)=\(ShellWord.quoted($0.value))" }
        let comments = notes.map { "# " + TerminalSafe.text($0) }
        return (["# " + TerminalSafe.text(title)] + exports + lines + comments).map { $0 + "\n" }.joined()
    }
}

import Keyfob

/// What a program needs to use a key on a token: files, variables, lines of configuration, and a proof.
struct Recipe {
    /// A file beside the program's own configuration. None holds a secret.
    struct File: Equatable {
        /// Its name in the directory of `--write`.
        let name: String
        let content: String
        var isExecutable = false
        /// How the names of all its versions begin, for a file whose name tells its content; `nil` for one that keeps
        /// its name and is replaced.
        var series: String?
    }

    /// How the program reaches the token, with versions.
    let title: String
    /// Files that must be there, in the order in which they are written: one that names another comes after it.
    var files: [File] = []
    /// Variables of the program's environment.
    var environment: [(name: String, value: String)] = []
    /// Commands to type, or lines of the program's configuration.
    let lines: [String]
    /// What one must know; printed as comments.
    var notes: [String] = []
    /// A script for sh that starts the program with these files and makes it use the key, or fails.
    ///
    /// It runs in the directory of the files with `environment`, and stops what it started.
    let check: String
    /// Whether that script calls openssl, besides the program.
    var checksByOpenSSL = true

    /// All of it as text that a shell or a configuration takes, apart from `files`.
    ///
    /// A note is one line: what stands on a further one would be no comment, and a name may come from anybody's file.
    var text: String {
        let exports = environment.map { "export \($0.name)=\(ShellWord.quoted($0.value))" }
        let comments = notes.map { "# " + Visible.text($0) }
        return (["# " + Visible.text(title)] + exports + lines + comments).map { $0 + "\n" }.joined()
    }
}

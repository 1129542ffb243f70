import Keyfob

extension UserProgram {
    /// The program of a command line.
    ///
    /// - Parameters:
    ///   - command: The program and its arguments.
    ///   - path: The value of `PATH` in which it is looked up; `nil` for that of this process.
    /// - Throws: `ProgramFailure` if it does not exist or cannot be executed.
    init(_ command: [String], path: String?) throws {
        // ArgumentParser requires at least one word.
        let name = command.first ?? ""
        switch ProgramLookup.find(name, path: path) {
        case .found(let file): self.init(file: file, arguments: command)
        case .failed(let number): throw ProgramFailure(name, number)
        }
    }
}

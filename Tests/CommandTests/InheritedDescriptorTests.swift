import Foundation
import TestSupport
import Testing

/// Descriptors named on a command line are the caller's, never those of keyfob's own open files.
@Suite struct InheritedDescriptorTests {
    /// Runs the command with no descriptor but the standard streams.
    private func keyfob(_ words: String, in household: TestHome) throws -> Tool.Result {
        let script = "exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-; exec \"$0\" \(words)"
        return try Tool(
            "/bin/sh", ["-c", script, Tool.keyfob([]).path],
            environment: household.environment.merging(["KEYFOB_NO_INPUT": "1"]) { $1 }
        ).run()
    }

    @Test(arguments: ["--from-fd N", "--from-file /dev/fd/N", "--from-file /proc/self/fd/N"])
    func `no file of the keychain is stored as a value`(source: String) throws {
        let household = try TestHome.unattended()
        try household.set("a", "one")
        // When the value is read, some of these numbers belong to the vault and the token's files.
        for number in 3...9 {
            let words = source.replacing("N", with: String(number))
            let result = try keyfob("set a --replace \(words)", in: household)
            #expect(result.status == 1, "\(words): \(result.output)")
            #expect(result.error.contains("Let the shell open it"), "\(words): \(result.error)")
        }
        #expect(try household.keyfob(["get", "a"]).output == "one\n")
    }

    @Test(arguments: [
        "get a --pin-source fd:N", "get a --pin-source file:/dev/fd/N --insecure-file", "cert import /dev/fd/N",
    ])
    func `no file of the keychain is read as a PIN or a certificate`(command: String) throws {
        let household = try TestHome()
        let made = try household.keyfob(["init", "--pin-source", "env:P"], environment: ["P": "opensesame"])
        #expect(made.status == 0, "\(made.error)")
        try household.set("a", "one")
        #expect(try household.keyfob(["lock"]).status == 0)
        for number in 3...9 {
            let words = command.replacing("N", with: String(number))
            let result = try keyfob(words, in: household)
            #expect(result.status == 1, "\(words): \(result.output)")
            #expect(result.error.contains("Let the shell open it: \(number)< FILE"), "\(words): \(result.error)")
        }
    }

    @Test func `one descriptor cannot give both the PIN and the value`() throws {
        let household = try TestHome.unattended()
        try household.directory.write(Array("value\n".utf8), to: "value")
        let file = household.directory.file("value")
        let both = try keyfob("set a --pin-source fd:3 --from-fd 3 3< \(file)", in: household)
        #expect(both.status == 2 && both.error.contains("both the PIN and the value"), "\(both.error)")
        for source in ["--from-fd 3", "--from-file /dev/fd/3"] {
            let result = try keyfob("set a --replace \(source) 3< \(file)", in: household)
            #expect(result.status == 0, "\(source): \(result.error)")
            #expect(try household.keyfob(["get", "a"]).output == "value\n")
        }
    }
}

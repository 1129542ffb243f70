import Foundation
import KeyfobPrimitives
import PKCS11

/// SoftHSM behind the module of `Tests/FaultyModule`, which refuses calls on demand.
///
/// Each test has its own library and its own SoftHSM, so that removing the token affects no other test. That SoftHSM
/// knows the tokens that existed when it was first used.
public final class FaultyModule: Sendable {
    private struct Library {
        var number = 0
        var serial = 0
        var words: String
    }

    private let directory: TemporaryDirectory
    private let library: Lock<Library>
    private let known = Lock<Module?>(nil)

    /// The path of the library.
    public var path: String { library.withLock { directory.file("faulty\($0.number == 0 ? "" : "-\($0.number)").so") } }

    /// Builds the library in a directory, with the initial words; see `faulty.c`.
    ///
    /// - Throws: `RunError`, also if the compiler fails; the error of writing a file.
    public init(in directory: TemporaryDirectory, saying words: String = "") throws {
        self.directory = directory
        library = Lock(Library(words: words))
        try make()
    }

    private func make() throws {
        try FileManager.default.copyItem(atPath: Self.built.get().file("faulty.so"), toPath: path)
        // Copy the file behind the link, since the link may be invalid in another directory.
        try FileManager.default.copyItem(
            at: URL(fileURLWithPath: TestToken.modulePath).resolvingSymlinksInPath(),
            to: URL(fileURLWithPath: path + ".target"))
        try say(library.withLock { $0.words })
    }

    /// Switches to a new library, whose SoftHSM knows the tokens that exist now.
    ///
    /// - Throws: `RunError`, also if the compiler fails; the error of writing a file.
    func startAnew() throws {
        library.withLock { $0.number += 1 }
        try make()
    }

    /// Keeps the library loaded as long as this object lives. A later load then gets a SoftHSM that knows the token.
    func keep(_ module: Module) { known.withLock { $0 = module } }

    /// The library, built once for all tests of the process, in a directory that lives as long.
    private static let built = Result {
        let directory = try TemporaryDirectory()
        try build(directory.file("faulty.so"))
        return directory
    }

    /// Builds only the library, for programs that control it through their environment.
    ///
    /// - Throws: `RunError`, also if the compiler fails.
    public static func build(_ path: String) throws {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../FaultyModule/faulty.c").standardized.path
        let built = try run(
            "sh",
            ["-c", "cc -shared -fPIC $(pkg-config --cflags p11-kit-1) \"$1\" -ldl -o \"$2\"", "sh", source, path])
        guard built.status == 0 else { throw RunError.notStarted(executable: "cc", reason: built.stderr) }
    }

    /// Replaces the words that control the library.
    public func say(_ words: String) throws {
        let serial = library.withLock { library in
            library.words = words
            library.serial += 1
            return library.serial
        }
        // With another serial number the library counts anew, even if the other words are the same.
        try Data("target=\(path).target serial=\(serial) \(words)\n".utf8).write(
            to: URL(fileURLWithPath: path + ".control"), options: .atomic)
    }

    /// The number of calls of a function while a word that names it was in effect.
    public func calls(of function: String) throws -> Int { try count(function) }

    /// The number of signatures that have begun to wait.
    public var heldSignatures: Int { get throws { try calls(of: "C_Sign") } }

    /// The number of logins while a word for `C_Login` was in effect.
    public var logins: Int { get throws { try calls(of: "C_Login") } }

    /// The number of logins for one use of a key while the word `context-login` was in effect.
    public var authentications: Int { get throws { try count("authentications") } }

    /// The number of calls that began during another call while the word `remote` was in effect.
    public var callsTogether: Int { get throws { try count("together") } }

    private func count(_ what: String) throws -> Int {
        guard FileManager.default.fileExists(atPath: "\(path).\(what)") else { return 0 }
        return try Data(contentsOf: URL(fileURLWithPath: "\(path).\(what)")).count
    }
}

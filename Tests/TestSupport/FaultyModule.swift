import Foundation
import KeyfobPrimitives
import PKCS11

/// SoftHSM behind the module of `Tests/FaultyModule`, which refuses what it is told to: a library of its own for each
/// test, and a SoftHSM of its own, so that taking its token away takes no other test's.
///
/// The SoftHSM behind it knows the tokens that were there when it was first used.
public final class FaultyModule: Sendable {
    private struct Library {
        var number = 0
        var words: String
    }

    private let directory: TemporaryDirectory
    private let library: Lock<Library>
    private let known = Lock<Module?>(nil)

    /// The library.
    public var path: String { library.withLock { directory.file("faulty\($0.number == 0 ? "" : "-\($0.number)").so") } }

    /// Builds it in a directory, with the words that count from the beginning; see `faulty.c`.
    ///
    /// - Throws: `RunError`, or what writing a file throws; a compiler that refuses is a failure, too.
    public init(in directory: TemporaryDirectory, saying words: String = "") throws {
        self.directory = directory
        library = Lock(Library(words: words))
        try make()
    }

    private func make() throws {
        try Self.build(path)
        // What a link leads to, and not the link: it need not lead there from another directory.
        try FileManager.default.copyItem(
            at: URL(fileURLWithPath: TestToken.modulePath).resolvingSymlinksInPath(),
            to: URL(fileURLWithPath: path + ".target"))
        try say(library.withLock { $0.words })
    }

    /// Takes another library from now on, with another SoftHSM behind it, which knows what tokens there are now.
    ///
    /// - Throws: as the initialiser.
    func startAnew() throws {
        library.withLock { $0.number += 1 }
        try make()
    }

    /// Keeps the library loaded as long as this lives, for whoever loads it later: its SoftHSM knows the token.
    func keep(_ module: Module) { known.withLock { $0 = module } }

    /// Builds the library alone, for programs that are told by their environment what it does.
    ///
    /// - Throws: `RunError`; a compiler that refuses is a failure, too.
    public static func build(_ path: String, from name: String = "faulty.c") throws {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../FaultyModule/\(name)").standardized.path
        let built = try run(
            "sh",
            ["-c", "cc -shared -fPIC $(pkg-config --cflags p11-kit-1) \"$1\" -ldl -o \"$2\"", "sh", source, path])
        guard built.status == 0 else { throw RunError.notStarted(executable: "cc", reason: built.stderr) }
    }

    /// What counts from now on, in place of what counted before.
    public func say(_ words: String) throws {
        library.withLock { $0.words = words }
        try Data("target=\(path).target \(words)\n".utf8).write(
            to: URL(fileURLWithPath: path + ".control"), options: .atomic)
    }

    /// How many signatures have begun to wait since it was told to `hold` them.
    public var heldSignatures: Int { get throws { try count("signing") } }

    /// How many calls of `C_GetTokenInfo` have begun to wait since it was told to hold them (`hold-info`).
    public var heldQuestions: Int { get throws { try count("asking") } }

    /// How many calls of `C_Initialize` have begun to wait since it was told to hold them (`hold-init`).
    public var heldStarts: Int { get throws { try count("initializing") } }

    /// How many logins there were while it was told of its answer to a `login`.
    public var logins: Int { get throws { try count("logins") } }

    /// How many logins there were for one use of a key while it was told of its answer to a `context-login`.
    public var authentications: Int { get throws { try count("authentications") } }

    private func count(_ what: String) throws -> Int {
        guard FileManager.default.fileExists(atPath: "\(path).\(what)") else { return 0 }
        return try Data(contentsOf: URL(fileURLWithPath: "\(path).\(what)")).count
    }
}

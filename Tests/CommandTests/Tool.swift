import Foundation
import Glibc
import TestSupport

/// The features of the machine that runs the tests.
enum Machine {
    /// Whether a program can listen at `::1`: in containers this often fails.
    static let hasIPv6 = FileManager.default.contents(atPath: "/proc/net/if_inet6").map { !$0.isEmpty } ?? false

    /// A program in the directory `Scripts`.
    static func script(_ name: String) -> String { repository.appendingPathComponent("Scripts/" + name).path }

    /// The directory of the package.
    static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../..").standardizedFileURL

    /// Whether a test may mount its own directories over those of the machine, where only its processes see them.
    static let hasOwnMounts: Bool = {
        guard geteuid() == 0 else { return false }
        // If it is not installed it cannot be started.
        let result = try? Tool("/usr/bin/unshare", ["-m", "-n", "-p", "-f", "--kill-child", "--mount-proc", "true"]).run()
        return result?.status == 0
    }()

    /// Whether Debian's nginx and apache2 are installed, with their configurations.
    static let hasServers = ["/usr/sbin/nginx", "/etc/nginx/nginx.conf", "/usr/sbin/apachectl", "/etc/apache2/envvars"]
        .allSatisfy { FileManager.default.fileExists(atPath: $0) }

    /// Variables that hide the machine's tokens from programs: those of its SoftHSM, which p11-kit knows, and cards in
    /// its readers.
    static let withoutTokens = ["SOFTHSM2_CONF": emptySoftHSM + "/softhsm2.conf", "PCSCLITE_CSOCK_NAME": "/nonexistent"]

    /// A SoftHSM directory without a token, for the lifetime of the process.
    private static let emptySoftHSM: String = {
        let path = emptySoftHSMPath
        do {
            // Programs of other users read it.
            try FileManager.default.createDirectory(
                atPath: path + "/tokens", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
            try Data("directories.tokendir = \(path)/tokens\n".utf8)
                .write(to: URL(fileURLWithPath: path + "/softhsm2.conf"))
        } catch {
            preconditionFailure("tests need a temporary directory: \(error)")
        }
        atexit {
            // A failure cannot be handled here.
            do { try FileManager.default.removeItem(atPath: Machine.emptySoftHSMPath) } catch {}
        }
        return path
    }()
    private static let emptySoftHSMPath = NSTemporaryDirectory() + "keyfob-no-tokens-\(getpid())"

    /// Whether strace(1) is installed and may trace its children.
    static let canTrace: Bool = {
        // If it is not installed it cannot be started.
        let result = try? Tool("/usr/bin/env", ["strace", "-f", "-o", "/dev/null", "true"]).run()
        return result?.status == 0
    }()
}

/// A program run as a user runs it.
struct Tool {
    let path: String
    let arguments: [String]
    var environment: [String: String] = [:]
    var input = Data()

    struct Result {
        let status: Int32
        let output: String
        let error: String
    }

    init(_ path: String, _ arguments: [String], environment: [String: String] = [:], input: Data = Data()) {
        self.path = path
        self.arguments = arguments
        self.environment = environment
        self.input = input
    }

    /// The directory of the test program and of the programs that it uses.
    static let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()

    /// The path of the command under test: `KEYFOB_TEST_COMMAND`, or the one beside the test program.
    static let commandPath = ProcessInfo.processInfo.environment["KEYFOB_TEST_COMMAND"]
        ?? products.appendingPathComponent("keyfob").path

    /// The command under test.
    static func keyfob(_ arguments: [String], environment: [String: String] = [:], input: Data = Data()) -> Tool {
        Tool(commandPath, arguments, environment: environment, input: input)
    }

    /// Runs the program to its end with an environment of `PATH`, the variables that hide the machine's tokens, and the
    /// given ones.
    ///
    /// - Throws: `RunError`, also for a program that has not ended after four minutes; it is killed.
    func run() throws -> Result {
        let result = try TestSupport.run(
            path, arguments, stdin: [UInt8](input),
            environment: ["PATH": "/usr/bin:/bin"].merging(Machine.withoutTokens) { $1 }.merging(environment) { $1 },
            isWhole: true)
        return Result(status: result.status, output: result.stdout, error: result.stderr)
    }
}

import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// Keyfob's side of `Scripts/bench`: measures one case and prints "name value unit" lines, as its C peers do.
@main
struct KeyfobBench {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let numbers = arguments.dropFirst().compactMap(Double.init)
        switch arguments.first {
        case "sign" where numbers.count >= 2: try sign(seconds: numbers[0], threads: numbers.dropFirst().map { Int($0) })
        case "store" where numbers.count >= 3: try store(samples: Int(numbers[0]), counts: numbers.dropFirst(2).map { Int($0) })
        case "fill" where arguments.count == 3: try fill(arguments[1], count: Int(arguments[2]) ?? 0)
        case "services" where numbers.count == 2: try services(samples: Int(numbers[0]), count: Int(numbers[1]))
        case "pool" where numbers.count == 1: try pool(seconds: numbers[0])
        case "read" where arguments.count == 3: try read(root: arguments[1], seconds: Double(arguments[2]) ?? 1)
        case "certificates" where numbers.count == 1: try certificates(count: Int(numbers[0]))
        default:
            FileHandle.standardError.write(
                Data("usage: keyfob-bench sign SECONDS THREADS… | store SAMPLES LIMIT COUNT… | services SAMPLES COUNT | pool SECONDS | read DIRECTORY SECONDS | certificates COUNT | fill KEYCHAIN COUNT\n".utf8))
            exit(2)
        }
    }

    static func print(_ name: String, _ value: Double, _ unit: String) {
        // Not `print`, whose buffer is lost when a time limit ends the process.
        FileHandle.standardOutput.write(Data("\(name) \(String(format: "%.6f", value)) \(unit)\n".utf8))
    }

    static func milliseconds(_ body: () throws -> Void) rethrows -> Double {
        let elapsed = try ContinuousClock().measure(body)
        return elapsed / .milliseconds(1)
    }

    static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    /// Runs `body` with directories of its own that are removed afterwards.
    static func withDirectories(_ body: (Directories) throws -> Void) throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("keyfob-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: root) }
        try body(Directories(root: root))
    }
}

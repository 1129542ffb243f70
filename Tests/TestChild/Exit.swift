import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// A process that ends while its threads use the token, as a server does.
extension TestChild {
    /// Ends the process while eight threads sign.
    static func endAtWork(_ keychain: Keychain) throws {
        let key = try keychain.keys.tokenKey(for: keychain.keys.generate(.p256, label: "end"))
        let hasBegun = DispatchSemaphore(value: 0)
        for _ in 0..<8 {
            Thread.detachNewThread {
                // Failures after the end of the process do not matter.
                while true {
                    _ = try? key.sign([1, 2, 3], using: .ecdsa(.sha256))
                    hasBegun.signal()
                }
            }
        }
        for _ in 0..<40 { hasBegun.wait() }
        exit(0)
    }

    /// Ends while another thread is inside a C_Initialize that does not return.
    static func endInStall(_ path: String, _ control: String) throws {
        let module = try Module.load(path: path)
        let words = try String(contentsOfFile: path + ".control", encoding: .utf8)
        try Data((words + control).utf8).write(to: URL(fileURLWithPath: path + ".control"), options: .atomic)
        Thread.detachNewThread { try? module.reinitialize() }
        while !FileManager.default.fileExists(atPath: path + ".C_Initialize") { usleep(1000) }
        exit(0)
    }

    /// The path of the faulty module, for the handlers of `endInFinalisation`, and its words without a fault.
    private static let faulty = Lock((path: "", words: Data()))

    /// Ends while another thread, which has released the last reference to a module, is inside its C_Finalize.
    ///
    /// The exit status is 1 if the library was destroyed before C_Finalize returned.
    static func endInFinalisation(_ path: String) throws {
        // Registered before the library is loaded, so it runs after the library's destructors.
        atexit {
            let path = TestChild.faulty.withLock { $0.path }
            if !FileManager.default.fileExists(atPath: path + ".finalized") { _exit(1) }
        }
        let control = URL(fileURLWithPath: path + ".control")
        let words = try Data(contentsOf: control)
        faulty.withLock { $0 = (path, words) }
        let module = Lock<Module?>(try Module.load(path: path))
        try (words + Data("hold=C_Finalize".utf8)).write(to: control, options: .atomic)
        Thread.detachNewThread { module.withLock { $0 = nil } }
        while !FileManager.default.fileExists(atPath: path + ".C_Finalize") { usleep(1000) }
        // Registered last, so it runs first.
        atexit {
            let (path, words) = TestChild.faulty.withLock { $0 }
            do { try words.write(to: URL(fileURLWithPath: path + ".control"), options: .atomic) } catch { _exit(2) }
        }
        exit(0)
    }
}

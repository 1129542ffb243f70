import TestSupport
import Testing

@testable import Keyfob

/// exit(3) destroys the state of C++ libraries such as SoftHSM while other threads are running.
@Suite struct ProcessEndTests {
    @Test func `a process exits normally while its threads sign`() throws {
        let test = try TestKeychain()
        for _ in 0..<12 { #expect(try Child(test, ["end"]).waitForEnd().status == 0) }
    }

    @Test func `the end of a process waits for a thread that finalises a module`() throws {
        let test = try TestKeychain()
        let directory = try TemporaryDirectory()
        let module = try FaultyModule(in: directory)
        #expect(try Child(test, ["release", module.path]).waitForEnd().status == 0)
    }

    @Test func `a process exits while its module does not return from being initialised again`() throws {
        let test = try TestKeychain()
        let directory = try TemporaryDirectory()
        let module = try FaultyModule(in: directory)
        #expect(try Child(test, ["stall", module.path, "hang=C_Initialize"]).waitForEnd().status == 0)
    }
}

import Foundation
import Keyfob
import OpenSSL
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2)))
struct ObjectChangesTests {
    @Test func `what any program adds, changes or removes is told, and logins are not`() async throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        let (ticks, continuation) = AsyncStream.makeStream(of: ObjectsVersion.self)
        let changes = keychain.objectChanges(every: .milliseconds(20))
        let watcher = Task {
            for await version in changes { continuation.yield(version) }
            continuation.finish()
        }
        var told = ticks.makeAsyncIterator()
        // The first look has to come before the first change.
        try await Task.sleep(for: .milliseconds(300))

        let before = keychain.objectsVersionNow()
        try test.tool(["--list-objects"])
        #expect(keychain.objectsVersionNow() == before)

        try test.tool(["--keypairgen", "--key-type", "EC:prime256v1", "--label", "elsewhere"])
        var version = await told.next()
        #expect(version?.isReadable == true && version != before)

        // Generating writes several objects, which may be seen one by one.
        try await Task.sleep(for: .milliseconds(300))
        while let last = version, last != keychain.objectsVersionNow() { version = await told.next() }
        let item = try await keychain.only(.key(label: "elsewhere").keyClass(.private))
        try await keychain.delete(item)
        version = await told.next()
        #expect(version?.isReadable == true)
        watcher.cancel()
        while await told.next() != nil {}
    }
}

extension Keychain {
    /// The blocking form, from a test that is asynchronous for another reason.
    fileprivate func objectsVersionNow() -> ObjectsVersion { objectsVersion() }
}

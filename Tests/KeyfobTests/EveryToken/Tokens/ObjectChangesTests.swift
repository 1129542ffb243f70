import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

extension EveryToken {
    @Suite struct ObjectChangesTests {
        @Test(.needs(.ownToken)) func `changes by any program are reported, and logins are not`() async throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let told = Lock<[ObjectsVersion]>([])
            let watcher = Task {
                for await version in keychain.objects.changes(every: .milliseconds(20)) {
                    told.withLock { $0.append(version) }
                }
            }
            let before = keychain.objectsVersionNow()
            try test.tool(["--list-objects"])
            #expect(keychain.objectsVersionNow() == before)

            // Changes before the first look are not reported, and on a busy machine the first look may come late.
            for index in 0..<80 where told.withLock({ $0.isEmpty }) {
                try test.tool([
                    "--keypairgen", "--key-type", "EC:prime256v1", "--label", "elsewhere \(index)", "--id", "\(10 + index)",
                ])
                _ = try await isSoon(looks: 200) { told.withLock { !$0.isEmpty } }
            }
            let first = told.withLock { $0.first }
            #expect(first?.isReadable == true && first != before)

            // Generating a key pair writes several objects, which may be seen one by one.
            #expect(try await isSoon { told.withLock { $0.last } == keychain.objectsVersionNow() })
            let count = told.withLock { $0.count }
            let item = try await keychain.only(.key(label: "elsewhere 0").keyClass(.private))
            try await keychain.delete(item)
            #expect(try await isSoon { told.withLock { $0.count } > count })
            #expect(told.withLock { $0.last }?.isReadable == true)
            watcher.cancel()
            await watcher.value
        }
    }
}

extension Keychain {
    /// The blocking form, for a test that is asynchronous for another reason.
    fileprivate func objectsVersionNow() -> ObjectsVersion { objects.version() }
}

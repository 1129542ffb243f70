import Foundation
import Testing

@testable import Keyfob

@Suite struct EmptyLogTests {
    @Test(arguments: [SQLiteStore.Use.server, .oneShot])
    func `whoever ends leaves a log behind in which the next has nothing to read`(use: SQLiteStore.Use) throws {
        let test = try TestKeychain()
        let copy = try test.copyVault()
        do {
            let store = try SQLiteStore(path: copy, use: use, busyTimeout: 10)
            try store.write(test.keychain.keys().tree) { writer in
                try writer.replaceObjectIndex([], stamp: Data([1]))
            }
            let size = try FileManager.default.attributesOfItem(atPath: copy + "-wal")[.size] as? Int ?? -1
            #expect(size > 0, "the log is used")
            withExtendedLifetime(store) {}
        }
        let size = try FileManager.default.attributesOfItem(atPath: copy + "-wal")[.size] as? Int
        #expect(size == 0)
        let again = try SQLiteStore(path: copy, use: .oneShot, busyTimeout: 10)
        #expect(try again.read(nil) { try $0.objectIndexStamp() } == Data([1]))
    }
}

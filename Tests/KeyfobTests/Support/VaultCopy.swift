import Foundation
import GRDB
import TestSupport
import Testing

@testable import Keyfob

/// An earlier copy of a vault, from which a test puts parts back.
struct VaultCopy {
    let directory: TemporaryDirectory

    init(of test: TestKeychain) throws {
        directory = try TemporaryDirectory()
        let path = directory.file("old.sqlite")
        try test.sql { try $0.execute(sql: "VACUUM INTO ?", arguments: [path]) }
    }

    /// Runs SQL on the vault, in which the copy is called `old`.
    func splice(into test: TestKeychain, _ sql: String) throws {
        let path = directory.file("old.sqlite")
        try test.sql { db in
            try db.execute(sql: "ATTACH ? AS old", arguments: [path])
            try db.execute(sql: sql)
            try db.execute(sql: "DETACH old")
        }
    }

    /// Puts whole rows back to the copy's state: all columns, recipients and terms.
    func putBackRows(into test: TestKeychain, where condition: String = "TRUE") throws {
        try splice(into: test, """
            DELETE FROM item WHERE identity IN (SELECT identity FROM old.item WHERE \(condition));
            INSERT INTO item SELECT * FROM old.item WHERE \(condition);
            INSERT OR IGNORE INTO recipient SELECT * FROM old.recipient WHERE item IN (SELECT id FROM old.item WHERE \(condition));
            INSERT OR IGNORE INTO term SELECT * FROM old.term WHERE item IN (SELECT id FROM old.item WHERE \(condition));
            """)
    }
}

import Foundation
import TestSupport
import Testing

/// The keychain that is used if none is named.
@Suite struct DefaultKeychainTests {
    @Test(arguments: [
        ["init", "--keychain", "trial", "--unattended"], ["keychain", "create", "trial", "--unattended"],
        ["keychain", "create", "trial", "--pin-source", "cmd:echo opensesame"],
    ])
    func `keychain create, and init --unattended with another name, make no default keychain`(command: [String]) throws {
        let household = try TestHome()
        let planned = try household.document(command + ["--dry-run"])
        #expect(planned["default"] as? Bool == false)
        let made = try household.keyfob(command)
        try #require(made.status == 0, "\(made.error)")
        #expect(made.output.contains("keyfob keychain default trial"), "\(made.output)")
        #expect(try household.document(["keychain", "show", "trial"])["default"] as? Bool == false)

        let refused = try household.failure(["set", "a", "--stdin"], input: Data("value".utf8))
        #expect(refused.status == 3)
        #expect(refused.hint.contains("keyfob keychain default NAME"), "\(refused.hint)")
        #expect(refused.hint.contains("There are: trial"), "\(refused.hint)")

        let first = try household.document(["init", "--pin-source", "cmd:echo opensesame"])
        #expect(first["keychain"] as? String == "login")
        #expect(first["default"] as? Bool == true)
        try household.set("a", "value")
        #expect(try household.keyfob(["keychain", "rm", "trial", "--yes"]).status == 0)
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
    }

    @Test func `init makes a named keychain the default if there is no other`() throws {
        let household = try TestHome()
        let made = try household.document(["init", "--keychain", "work", "--pin-source", "cmd:echo opensesame"])
        #expect(made["default"] as? Bool == true)
        #expect(try household.keyfob(["keychain", "default"]).output == "work\n")
        let other = try household.document(["init", "--keychain", "other", "--pin-source", "cmd:echo opensesame"])
        #expect(other["default"] as? Bool == false)
        #expect(try household.keyfob(["keychain", "default"]).output == "work\n")
    }

    @Test func `an unattended keychain becomes the default only with the usual name, or on request`() throws {
        let household = try TestHome()
        #expect(try household.document(["init", "--unattended"])["default"] as? Bool == true)
        #expect(try household.document(["init", "-k", "ci", "--unattended"])["default"] as? Bool == false)
        #expect(try household.keyfob(["keychain", "default", "ci"]).status == 0)
        #expect(try household.document(["init", "-k", "ci"])["default"] as? Bool == true)
    }
}

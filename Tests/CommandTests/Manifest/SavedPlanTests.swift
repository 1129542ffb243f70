import Foundation
import TestSupport
import Testing

/// Plans in files.
@Suite struct SavedPlanTests {
    private func home() throws -> ManifestHome {
        let home = try ManifestHome()
        try home.write("secrets: [{name: a, valueFrom: \"env:A\"}, {name: b, generate: {}}]\nkeys: [{name: k}]")
        return home
    }

    private static let values = ["A": "canary-value"]

    private func save(_ home: ManifestHome) throws {
        let result = try home.keyfob(
            ["plan", home.path("site.yaml"), "-o", home.path("site.plan")], environment: Self.values)
        try #require(result.status == 0, "\(result.error)")
    }

    private func apply(_ home: ManifestHome) throws -> Tool.Result {
        try home.keyfob(["apply", home.path("site.plan")], environment: Self.values)
    }

    @Test func `a saved plan is carried out, and has no secret`() throws {
        let home = try home()
        try save(home)
        #expect(try !home.text("site.plan").contains("canary"))
        let mode = try FileManager.default.attributesOfItem(atPath: home.path("site.plan"))[.posixPermissions]
        #expect(mode as? Int == 0o600)
        let shown = try home.keyfob(["plan", home.path("site.plan"), "--exit-code"], environment: Self.values)
        #expect(shown.status == 10, "\(shown.error)")
        let applied = try apply(home)
        #expect(applied.status == 0, "\(applied.error)")
        #expect(try home.isUpToDate(environment: Self.values))
    }

    @Test func `a plan is refused after it was carried out`() throws {
        let home = try home()
        try save(home)
        #expect(try apply(home).status == 0)
        let again = try apply(home)
        #expect(again.status == 12, "\(again.error)")
        #expect(again.error.contains("since the plan was made"), "\(again.error)")
    }

    @Test func `a plan is refused if the keychain was changed`() throws {
        let home = try home()
        try home.apply(environment: Self.values)
        try home.home.set("a", "first", ["--replace", "-k", "site"])
        try save(home)
        // The plan looks the same, but it would replace another value.
        try home.home.set("a", "second", ["--replace", "-k", "site"])
        #expect(try apply(home).status == 12)
        #expect(try home.keyfob(["get", "a", "-k", "site"]).output == "second\n")
    }

    @Test(arguments: [("\"create\"", "\"update\""), ("\"keychain\": \"site\"", "\"keychain\": \"other\"")])
    func `a plan that shows other changes is refused`(part: String, other: String) throws {
        let home = try home()
        try save(home)
        let text = try home.text("site.plan").replacing(" : ", with: ": ")
        try #require(text.contains(part), "\(text)")
        try home.home.directory.write(Array(text.replacing(part, with: other).utf8), to: "site.plan")
        let refused = try apply(home)
        #expect(refused.status == 12, "\(refused.error)")
        #expect(refused.error.contains("the plan itself was changed"), "\(refused.error)")
    }

    @Test func `a plan is refused if the manifest was changed`() throws {
        let home = try home()
        try save(home)
        try home.write("secrets: [{name: a, valueFrom: \"env:A\"}, {name: b, generate: {}}]\nkeys: [{name: k}] # same")
        let refused = try apply(home)
        #expect(refused.status == 12 && refused.error.contains("a manifest was changed"), "\(refused.error)")
        #expect(try home.home.failure(["ls", "-k", "site"]).status == 3)
    }

    @Test func `a damaged plan, and a plan of standard input, are refused`() throws {
        let home = try home()
        try Data("{\"apiVersion\": \"keyfob/plan-v1\"}".utf8).write(to: URL(fileURLWithPath: home.path("site.plan")))
        let damaged = try apply(home)
        #expect(damaged.status == 2 && damaged.error.contains("is a damaged plan"), "\(damaged.error)")
        let input = Data(try home.text("site.yaml").utf8)
        let refused = try home.home.keyfob(
            ["plan", "-", "-o", home.path("x.plan")], input: input, environment: Self.values)
        #expect(refused.status == 2, "\(refused.error)")
        #expect(!FileManager.default.fileExists(atPath: home.path("x.plan")))
    }
}

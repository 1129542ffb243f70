import Foundation
import TestSupport
import Testing

/// A user with a manifest.
struct ManifestHome: Sendable {
    let home: TestHome

    init() throws { home = try TestHome() }

    /// The path of a file of the user.
    func path(_ name: String) -> String { home.directory.file(name) }

    /// Writes a manifest for the unattended keychain `site`, and returns its path.
    @discardableResult
    func write(_ text: String, to name: String = "site.yaml") throws -> String {
        try home.directory.write(
            Array("apiVersion: keyfob/v1\nkeychain: site\nunattended: true\n\(text)\n".utf8), to: name)
        return path(name)
    }

    func keyfob(_ arguments: [String], environment: [String: String] = [:]) throws -> Tool.Result {
        try home.keyfob(arguments, environment: environment)
    }

    /// Applies the manifest, which must succeed.
    @discardableResult
    func apply(_ options: [String] = [], environment: [String: String] = [:]) throws -> Tool.Result {
        let result = try keyfob(["apply", path("site.yaml")] + options, environment: environment)
        try #require(result.status == 0, "\(result.output)\(result.error)")
        return result
    }

    /// Whether the plan is empty.
    func isUpToDate(environment: [String: String] = [:]) throws -> Bool {
        let result = try keyfob(["plan", path("site.yaml"), "--exit-code"], environment: environment)
        try #require([0, 10].contains(result.status), "\(result.error)")
        return result.status == 0
    }

    /// The entries of a plan, such as `create secret a`.
    func entries(environment: [String: String] = [:]) throws -> [String] {
        let result = try keyfob(["plan", path("site.yaml"), "--json"], environment: environment)
        try #require(result.status == 0, "\(result.error)")
        let document = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        let entries = try #require(document?["entries"] as? [[String: Any]])
        return entries.map { "\($0["action"] as? String ?? "") \($0["kind"] as? String ?? "") \($0["name"] as? String ?? "")" }
    }

    /// The entries of a plan that change something.
    func changes() throws -> [String] { try entries().filter { !$0.hasPrefix("none ") } }

    /// Runs a script of sh in the user's directory, which must succeed.
    @discardableResult
    func shell(_ script: String, environment: [String: String] = [:]) throws -> String {
        let result = try Tool(
            "/bin/sh", ["-euc", "cd \"$1\"; " + script, "sh", home.directory.path],
            environment: home.environment.merging(environment) { $1 }
        ).run()
        try #require(result.status == 0, "\(result.output)\(result.error)")
        return result.output
    }

    /// The fingerprints of the keys of the keychain, by their names.
    func keys() throws -> [String: String] {
        let keys = try #require(try home.document(["key", "ls", "-k", "site"])["keys"] as? [[String: Any]])
        return Dictionary(
            keys.map { ($0["name"] as? String ?? "", $0["fingerprint"] as? String ?? "") }, uniquingKeysWith: { $1 })
    }

    /// The serial number of the certificate of an identity.
    func serial(_ name: String) throws -> String {
        let document = try home.document(["cert", "show", name, "-k", "site"])
        return try #require(document["serial"] as? String)
    }

    func text(_ name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }

    /// The content and the time of change of every file below the home directory.
    func files() throws -> [String: String] {
        var found: [String: String] = [:]
        let root = path("home")
        for name in try FileManager.default.subpathsOfDirectory(atPath: root) {
            let file = root + "/" + name
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            // A lock names its last holder. SoftHSM writes two files of its own at each login.
            let isIncidental = [".lock", "-shm", "/generation", "/token.object"].contains { name.hasSuffix($0) }
            guard attributes[.type] as? FileAttributeType == .typeRegular, !isIncidental else { continue }
            let data = try Data(contentsOf: URL(fileURLWithPath: file))
            let date = attributes[.modificationDate] as? Date
            found[name] = "\(data.count) \(data.hashValue) \(date?.timeIntervalSince1970 ?? 0)"
        }
        return found
    }
}

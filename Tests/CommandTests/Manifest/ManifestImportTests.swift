import Foundation
import TestSupport
import Testing

/// Identities that come from files.
@Suite struct ManifestImportTests {
    /// A user with the files of two identities, `one` and `two`.
    private func home() throws -> ManifestHome {
        let home = try ManifestHome()
        try home.shell(
            """
            printf pass > pass; chmod 600 pass
            for name in one two; do
                openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $name.key -out $name.pem \\
                    -days 30 -subj /CN=$name 2> errors
                openssl pkcs12 -export -inkey $name.key -in $name.pem -passout file:pass -out $name.p12
            done
            """)
        return home
    }

    private static let imported = """
        identities:
          - name: partner
            import: {pkcs12: one.p12, passSource: "file:pass"}
            outputs: [{certificate: out.pem}]
        """

    @Test func `a file is imported once, and may be removed then`() throws {
        let home = try home()
        try home.write(Self.imported)
        #expect(try home.changes().contains("create identity partner"))
        try home.apply()
        #expect(try home.text("out.pem") == home.text("one.pem"))
        #expect(try home.isUpToDate())
        try home.shell("rm one.p12 pass")
        #expect(try home.isUpToDate())
    }

    @Test func `another certificate in the file is imported in place of the stored one`() throws {
        let home = try home()
        try home.write(Self.imported)
        try home.apply()
        try home.shell("mv two.p12 one.p12")
        let plan = try home.keyfob(["plan", home.path("site.yaml")])
        #expect(plan.output.contains("certificate: sha256:"), "\(plan.output)")
        #expect(try home.changes() == ["update identity partner", "update file \(home.path("out.pem"))"])
        try home.apply()
        #expect(try home.text("out.pem") == home.text("two.pem"))
        #expect(try home.isUpToDate())
    }

    @Test func `files in PEM are imported together`() throws {
        let home = try home()
        try home.write("identities: [{name: partner, import: {pem: [one.key, one.pem], extractable: true}}]")
        try home.apply()
        #expect(try home.isUpToDate())
        let shown = try home.home.document(["identity", "show", "partner", "-k", "site"])
        #expect(shown["extractable"] as? Bool == true)
    }

    @Test(arguments: [
        ("{pkcs12: missing.p12}", 2, "a file to import is missing"), ("{pem: [one.pem]}", 2, "0 private keys instead of one"),
        ("{pem: [one.key, two.pem]}", 2, "no certificate of the private key"),
        ("{pem: [pass]}", 2, "neither a private key nor a certificate"),
        ("{pkcs12: one.p12, passSource: \"env:WRONG\"}", 5, "passphrase"),
        ("{pkcs12: one.pem, passSource: \"file:pass\"}", 9, "one.pem"),
        ("{pkcs12: one.p12, passSource: \"file:nothing\"}", 1, "nothing"),
        ("{pkcs12: one.p12, pem: [one.pem]}", 2, "only one of"), ("{passSource: \"env:A\"}", 2, "needs one of"),
        ("{pkcs12: one.p12, passphrase: secret}", 2, "would put a secret into the manifest"),
    ])
    func `files that cannot be imported are errors with their place, and nothing is made`(
        files: String, status: Int32, message: String
    ) throws {
        let home = try home()
        try home.write("keys: [{name: k}]\nidentities:\n  - name: partner\n    import: \(files)")
        let result = try home.keyfob(["apply", home.path("site.yaml")], environment: ["WRONG": "wrong"])
        #expect(result.status == status, "\(result.error)")
        #expect(result.error.contains(message), "\(result.error)")
        #expect(result.error.contains("site.yaml:7:"), "\(result.error)")
        #expect(try home.home.failure(["key", "ls", "-k", "site"]).status == 3)
    }
}

import Foundation
import TestSupport
import Testing

/// The values that the sources of a manifest give, and the time that its programs have.
@Suite struct ManifestValueTests {
    private static let lines = "-----BEGIN X-----\nMTIzNA==\n-----END X-----"

    @Test(arguments: ["file:value.txt", "cmd:cat value.txt"])
    func `a value from a source may have several lines`(source: String) throws {
        let home = try ManifestHome()
        try home.home.directory.write((Self.lines + "\n").utf8, to: "value.txt")
        let text = source.replacing("cat value.txt", with: "cat \(home.path("value.txt"))")
        try home.write("secrets: [{name: a, valueFrom: \"\(text)\", outputs: [{value: out.txt}]}]")
        try home.apply()
        #expect(try home.text("out.txt") == Self.lines)
        #expect(try home.isUpToDate())
    }

    @Test(arguments: ["file:", "cmd:cat "])
    func `a value of more than 4096 bytes is refused and never cut`(prefix: String) throws {
        let home = try ManifestHome()
        let line = String(repeating: "x", count: 99) + "\n"
        try home.home.directory.write(String(repeating: line, count: 50).utf8, to: "value.txt")
        try home.write("secrets: [{name: a, valueFrom: \"\(prefix)\(home.path("value.txt"))\"}]")
        let result = try home.keyfob(["apply", home.path("site.yaml")])
        #expect(result.status != 0)
        #expect(result.error.contains("more than 4096 bytes"), "\(result.error)")
        #expect(try home.keyfob(["get", "a", "-k", "site"]).status == 3)
    }

    @Test func `a passphrase from a source is its first line`() throws {
        let home = try ManifestHome()
        try home.shell(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=w \\
                -keyout key.pem -out cert.pem
            openssl pkcs12 -export -in cert.pem -inkey key.pem -passout pass:secret -out id.p12
            umask 077; printf 'secret\\nmore\\n' > pass.txt
            """)
        try home.write("identities: [{name: w, import: {pkcs12: id.p12, passSource: \"file:pass.txt\"}}]")
        try home.apply()
        #expect(try home.isUpToDate())
    }

    @Test func `a program has the time that the manifest gives it, and --timeout does not lengthen it`() throws {
        let home = try ManifestHome()
        try home.write("secrets: [{name: a, generate: {}, onChange: [{run: [sleep, \"4\"], timeout: 1s}]}]")
        let result = try home.keyfob(["apply", home.path("site.yaml"), "--timeout", "60s"])
        #expect(result.status == 13, "\(result.output)\(result.error)")
        #expect(result.error.contains("did not end within 1 second"), "\(result.error)")
    }
}

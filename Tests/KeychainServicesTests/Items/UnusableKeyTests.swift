import Foundation
import TestSupport
import Testing

@testable import KeychainServices

/// Keys of other programs on the token whose public half is unknown.
@Suite struct UnusableKeyTests {
    /// A curve, how many of its keys share an identifier, and how many of them have bytes. Apple has no form for some
    /// curves, and two keys with the same identifier are ambiguous.
    @Test(arguments: [("prime256v1", 1, 1), ("secp256k1", 1, 1), ("brainpoolP256r1", 1, 0), ("prime256v1", 2, 0)])
    func `a search skips a key that cannot be used, and returns the others`(
        row: (curve: String, count: Int, withData: Int)
    ) throws {
        let bench = try SecItemFixture()
        bench.groups = [""]
        let directory = try TemporaryDirectory()
        let file = directory.file("key.pem")
        for _ in 0..<row.count {
            let made = try run("openssl", ["ecparam", "-name", row.curve, "-genkey", "-noout", "-out", file])
            try #require(made.status == 0, "openssl: \(made.stderr)")
            try bench.tool([
                "--write-object", file, "--type", "privkey", "--label", "foreign", "--id", "07", "--usage-sign",
                "--extractable",
            ])
        }
        let own = try TestPair().secKey
        bench.expect(0, bench.add(["v_Ref": own, "labl": "own"]))
        let all: [String: Any] = ["class": "keys"] + wantsAll
        let references = bench.copying(all + wantsReference)
        #expect(references.status == 0 && references.array as? [SecKey] == [own])
        let data = bench.copying(all + wantsData)
        #expect(data.status == 0 && data.array?.count == 1 + row.withData)
        // The other requested results are returned for it too.
        let whole = bench.copying(all + wantsReference + wantsAttributes)
        #expect(whole.status == 0)
        let described = whole.dictionaries?.first { $0["labl"] as? String == "foreign" }
        #expect(described != nil && described?["v_Ref"] == nil)
    }
}

import KeyfobPrimitives
import Testing

@testable import KeyfobCLI

/// Replacing secrets in a stream.
@Suite struct OutputMaskTests {
    private static let mask = OutputMask.text

    /// The output for a text that arrives in two parts, for every place of the cut, and byte by byte.
    private func outputs(_ text: String, _ secrets: [String]) -> Set<String> {
        let bytes = Array(text.utf8)
        func shown(_ parts: [ArraySlice<UInt8>]) -> String {
            var mask = OutputMask(secrets.map { SecretBytes(utf8: $0) })
            var output: [UInt8] = []
            for part in parts { output += mask.show(part) }
            output += mask.show([], isLast: true)
            return String(decoding: output, as: UTF8.self)
        }
        let cuts = (0...bytes.count).map { shown([bytes[..<$0], bytes[$0...]]) }
        return Set(cuts + [shown(bytes.indices.map { bytes[$0...$0] })])
    }

    @Test(arguments: [
        (["abc"], "xabcy", "x\(mask)y"), (["abc"], "abcabc", "\(mask)\(mask)"), (["abc"], "ababc", "ab\(mask)"),
        (["abc"], "ab", "ab"), (["abc"], "", ""), (["abc"], "ABC", "ABC"),
        // The longest counts, and a shorter one where that does not come.
        (["ab", "abcd"], "abcd abc", "\(mask) \(mask)c"),
        // Nothing of an overlapping secret is left over.
        (["abcd", "cdef"], "abcdef", mask), (["aa"], "aaa", mask), (["aba"], "ababab", "\(mask)b"),
        (["one\n"], "one two\n", "\(mask) two\n"), (["\n", ""], "a\nb", "a\(mask)b"),
        (["ö€"], "xö€öy", "x\(mask)öy"),
    ])
    func `secrets are replaced wherever the stream is cut`(secrets: [String], text: String, expected: String) {
        #expect(outputs(text, secrets) == [expected])
    }

    @Test func `what cannot begin a secret is shown at once`() {
        var mask = OutputMask([SecretBytes(utf8: "secret")])
        #expect(mask.show(Array("Password: ".utf8)[...]) == Array("Password: ".utf8))
        #expect(mask.show(Array("se".utf8)[...]) == [])
        #expect(mask.show(Array("x".utf8)[...]) == Array("sex".utf8))
    }
}

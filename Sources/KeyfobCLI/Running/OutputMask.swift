import KeyfobPrimitives

/// Replaces secrets in a stream of bytes, also where a secret is spread over several reads.
///
/// Bytes that may be the beginning of a secret are held back until the next bytes or the end of the stream decide.
/// Overlapping secrets are replaced together.
struct OutputMask {
    /// The text in place of a secret.
    static let text = "<concealed by keyfob>"

    private let secrets: [SecretBytes]
    /// Whether a secret begins with a byte.
    private var begins = [Bool](repeating: false, count: 256)
    /// The bytes that were held back.
    private var held: [UInt8] = []
    /// How many of the next bytes belong to a secret that is replaced already.
    private var replaced = 0

    /// Creates a mask for `secrets`.
    ///
    /// Line breaks at the end of a secret do not count, because programs often print it without them. Empty secrets are
    /// left out.
    init(_ secrets: [SecretBytes]) {
        self.secrets = secrets.map { secret in
            let end = unsafe secret.withUnsafeBytes { bytes in
                unsafe bytes.lastIndex { $0 != 0x0A && $0 != 0x0D }.map { $0 + 1 } ?? bytes.count
            }
            return secret.prefix(end)
        }.filter { !$0.isEmpty }
        for secret in self.secrets { begins[Int(unsafe secret.withUnsafeBytes { unsafe $0[0] })] = true }
    }

    /// Returns what can be shown after `bytes` have been read.
    ///
    /// - Parameter isLast: Whether the stream has ended.
    mutating func show(_ bytes: ArraySlice<UInt8>, isLast: Bool = false) -> [UInt8] {
        var input = held + bytes
        defer { input.wipe() }
        var output: [UInt8] = []
        output.reserveCapacity(input.count)
        var index = 0
        scan: while index < input.count {
            if begins[Int(input[index])] {
                switch match(input[index...], isLast: isLast) {
                case .undecided: break scan
                case .length(let length):
                    if length > 0, replaced == 0 { output += Self.text.utf8 }
                    replaced = max(replaced, length)
                }
            }
            if replaced > 0 { replaced -= 1 } else { output.append(input[index]) }
            index += 1
        }
        held.wipe()
        held = Array(input[index...])
        return output
    }

    /// The length of the longest secret at the beginning of a text.
    private enum Match {
        case length(Int)
        /// The text may be the beginning of a longer secret.
        case undecided
    }

    private func match(_ text: ArraySlice<UInt8>, isLast: Bool) -> Match {
        var length = 0
        for secret in secrets {
            let (isMatch, isBeginning) = unsafe secret.withUnsafeBytes { secret in
                let common = min(secret.count, text.count)
                let isEqual = unsafe secret[..<common].elementsEqual(text.prefix(common))
                return (isEqual && common == secret.count, isEqual && common < secret.count)
            }
            if isMatch { length = max(length, secret.count) }
            if isBeginning, !isLast { return .undecided }
        }
        return .length(length)
    }
}

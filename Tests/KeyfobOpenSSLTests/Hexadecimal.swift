/// Decodes pairs of hexadecimal digits.
func bytes(_ hexadecimal: String) -> [UInt8] {
    var result: [UInt8] = []
    var high: UInt8?
    for character in hexadecimal {
        guard let digit = character.hexDigitValue else { continue }
        if let first = high {
            result.append(first << 4 | UInt8(digit))
            high = nil
        } else {
            high = UInt8(digit)
        }
    }
    return result
}

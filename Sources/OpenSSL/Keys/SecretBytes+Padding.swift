import KeyfobPrimitives

extension SecretBytes {
    /// The bytes with zeros in front, which add nothing to the number that they are.
    func leftPadded(to count: Int) -> SecretBytes {
        guard self.count < count else { return self }
        let missing = count - self.count
        return unsafe withUnsafeBytes { source in
            unsafe SecretBytes(count: count) { target in
                for index in 0..<source.count { unsafe target[missing + index] = unsafe source[index] }
            }
        }
    }
}

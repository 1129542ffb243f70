import KeyfobPrimitives

extension SecretBytes {
    /// The bytes with zeros in front, which add nothing to the number that they are.
    func leftPadded(to count: Int) -> SecretBytes {
        guard self.count < count else { return self }
        return SecretBytes(joining: [SecretBytes(zeros: count - self.count), self])
    }
}

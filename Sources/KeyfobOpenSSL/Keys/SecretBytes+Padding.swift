import KeyfobPrimitives

extension SecretBytes {
    /// Returns the bytes with leading zeros, which do not change the number they represent.
    func leftPadded(to count: Int) -> SecretBytes {
        guard self.count < count else { return self }
        return SecretBytes(joining: [SecretBytes(zeros: count - self.count), self])
    }
}

/// Cryptoki's parameters are not declared const; these properties are for buffers that it only reads.
extension UnsafeRawBufferPointer {
    var mutableBytes: UnsafeMutablePointer<UInt8>? {
        unsafe UnsafeMutableRawPointer(mutating: baseAddress)?.assumingMemoryBound(to: UInt8.self)
    }
}

extension UnsafeBufferPointer<UInt8> {
    var mutableBytes: UnsafeMutablePointer<UInt8>? {
        unsafe UnsafeMutablePointer(mutating: baseAddress)
    }
}

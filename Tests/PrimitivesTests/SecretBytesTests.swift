import Foundation
import KeyfobPrimitives
import Testing

@Suite("SecretBytes")
struct SecretBytesTests {
    @Test("Neither description, interpolation, reflection nor dump shows a byte")
    func hidden() {
        let secret = SecretBytes(utf8: "hunter2hunter2")
        var dumped = ""
        dump(secret, to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), dumped, "\([secret])", "\(Optional(secret) as Any)"] {
            #expect(!text.contains("hunter2"))
            #expect(!text.contains("104"))
        }
    }

    @Test("The memory is wiped when the last copy is released")
    func wiped() {
        // The allocator may reuse the block; its content must then not be the secret.
        let marker = [UInt8]("a secret that is long enough to be recognised in the heap".utf8)
        var address: UInt = 0
        do {
            let secret = SecretBytes(marker)
            let copy = secret
            unsafe copy.withUnsafeBytes { address = UInt(bitPattern: $0.baseAddress) }
            #expect(copy == secret)
        }
        // Reads freed memory, as an attacker would. The allocator writes its links into the first 16 bytes.
        let freed = unsafe UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: address), count: marker.count)
        let rest = unsafe Array(freed)[16...]
        #expect(!rest.elementsEqual(marker[16...]))
    }

    @Test("Secrets are joined and split byte for byte", arguments: [[], [0], [3], [0, 5, 0, 1], [100_000, 7]])
    func parts(counts: [Int]) {
        let bytes = (0..<counts.reduce(0, +)).map { UInt8(truncatingIfNeeded: $0 * 7) }
        var parts: [SecretBytes] = []
        var start = 0
        let whole = SecretBytes(bytes)
        for count in counts {
            parts.append(whole[start..<start + count])
            #expect(parts.last?.copyBytes() == Array(bytes[start..<start + count]))
            #expect(whole.suffix(from: start).copyBytes() == Array(bytes[start...]))
            start += count
        }
        #expect(SecretBytes(joining: parts) == whole)
        #expect(whole.suffix(from: whole.count).isEmpty)
    }

    @Test("Data that a secret was copied from or to is overwritten")
    func wipedData() {
        var data = Data("a secret that is longer than what a Data holds in itself".utf8)
        let copy = Data(data.map { $0 })
        let secret = SecretBytes(wiping: &data)
        #expect(secret.copyData() == copy && data == Data(count: copy.count))
        var address: UInt = 0
        let isSame = secret.withData { lent in
            unsafe lent.withUnsafeBytes { address = UInt(bitPattern: $0.baseAddress) }
            return lent == copy
        }
        #expect(isSame)
        // The allocator writes its links into the first 16 bytes.
        let freed = unsafe UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: address), count: copy.count)
        let rest = unsafe Array(freed)[16...]
        #expect(!rest.elementsEqual(copy[16...]))
    }

    @Test("Equality compares every byte", arguments: 0..<32)
    func equality(index: Int) {
        var bytes = [UInt8](repeating: 7, count: 32)
        let secret = SecretBytes(bytes)
        bytes[index] ^= 1
        #expect(secret != SecretBytes(bytes))
        #expect(secret != secret.prefix(31))
        #expect(secret == SecretBytes([UInt8](repeating: 7, count: 32)))
    }
}

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

    @Test("The memory is wiped with the last copy")
    func wiped() {
        // The allocator may hand the same block out again: what it holds then must not be the secret.
        let marker = [UInt8]("a secret that is long enough to be recognised in the heap".utf8)
        var address: UInt = 0
        do {
            let secret = SecretBytes(marker)
            let copy = secret
            unsafe copy.withUnsafeBytes { address = UInt(bitPattern: $0.baseAddress) }
            #expect(copy == secret)
        }
        // Reading freed memory is what an attacker would do; the allocator writes its links into the first 16 bytes.
        let freed = unsafe UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: address), count: marker.count)
        let rest = unsafe Array(freed)[16...]
        #expect(!rest.elementsEqual(marker[16...]))
    }

    @Test("Equality looks at every byte", arguments: 0..<32)
    func equality(index: Int) {
        var bytes = [UInt8](repeating: 7, count: 32)
        let secret = SecretBytes(bytes)
        bytes[index] ^= 1
        #expect(secret != SecretBytes(bytes))
        #expect(secret != secret.prefix(31))
        #expect(secret == SecretBytes([UInt8](repeating: 7, count: 32)))
    }
}

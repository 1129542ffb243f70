import CP11Kit
@testable import PKCS11
import Testing

@Suite struct MechanismTests {
    /// A parameter structure as a token would read it, with pointers followed.
    private struct Seen: Equatable {
        var words: [UInt] = []
        var pointed: [[UInt8]] = []
    }

    /// Reads a structure. `pointers` maps the index of each pointer's word to the index of its length.
    private func inspect(_ mechanism: Mechanism, pointers: [Int: Int]) throws -> Seen {
        try unsafe mechanism.withCMechanism { (pointer) throws(PKCS11Error) -> Seen in
            #expect(unsafe pointer.pointee.mechanism == mechanism.type.rawValue)
            let raw = unsafe UnsafeRawBufferPointer(
                start: pointer.pointee.pParameter, count: Int(pointer.pointee.ulParameterLen))
            let words = (0..<raw.count / 8).map { unsafe raw.loadUnaligned(fromByteOffset: $0 * 8, as: UInt.self) }
            var seen = Seen(words: words)
            for (place, length) in pointers.sorted(by: { $0.key < $1.key }) {
                let bytes = unsafe UnsafeRawBufferPointer(
                    start: UnsafeRawPointer(bitPattern: words[place]), count: Int(words[length]))
                unsafe seen.pointed.append(Array(bytes))
                seen.words[place] = words[place] == 0 ? 0 : 1
            }
            return seen
        }
    }

    @Test func `a mechanism without parameters has a null pointer and length zero`() throws {
        try unsafe Mechanism(.ecdsa).withCMechanism { (pointer) throws(PKCS11Error) in
            #expect(unsafe pointer.pointee.pParameter == nil)
            #expect(unsafe pointer.pointee.ulParameterLen == 0)
            #expect(unsafe pointer.pointee.mechanism == CKM_ECDSA)
        }
    }

    @Test(
        "PSS has hash, mask and salt length",
        arguments: [
            (.sha1, CKM_SHA_1, CKG_MGF1_SHA1, 20), (.sha224, CKM_SHA224, CKG_MGF1_SHA224, 28),
            (.sha256, CKM_SHA256, CKG_MGF1_SHA256, 32), (.sha384, CKM_SHA384, CKG_MGF1_SHA384, 48),
            (.sha512, CKM_SHA512, CKG_MGF1_SHA512, 64),
        ] as [(HashAlgorithm, UInt, UInt, UInt)])
    func pss(hash: HashAlgorithm, number: UInt, mask: UInt, length: UInt) throws {
        #expect(try inspect(.rsaPSS(hash: hash), pointers: [:]).words == [number, mask, length])
        #expect(try inspect(.rsaPSS(hash: hash, saltLength: 7), pointers: [:]).words == [number, mask, 7])
        #expect(Mechanism.rsaPSS(hash: hash).type == .rsaPSS)
        #expect(Mechanism.rsaPSS(hash: hash, type: hash.rsaPSS).type.name.hasSuffix("_RSA_PKCS_PSS"))
    }

    @Test func `OAEP marks its label as given, even if it is empty`() throws {
        let empty = try inspect(.rsaOAEP(hash: .sha1), pointers: [3: 4])
        #expect(empty == Seen(words: [CKM_SHA_1, CKG_MGF1_SHA1, CKZ_DATA_SPECIFIED, 0, 0], pointed: [[]]))
        let labelled = try inspect(.rsaOAEP(hash: .sha256, label: [1, 2, 3]), pointers: [3: 4])
        #expect(labelled == Seen(
            words: [CKM_SHA256, CKG_MGF1_SHA256, CKZ_DATA_SPECIFIED, 1, 3], pointed: [[1, 2, 3]]))
    }

    @Test func `GCM gives the length of its vector in bits as eight times the bytes`() throws {
        let seen = try inspect(
            .aesGCM(iv: Array(1...12), additionalData: [9, 8], tagBits: 96), pointers: [0: 1, 3: 4])
        #expect(seen == Seen(words: [1, 12, 96, 1, 2, 96], pointed: [Array(1...12), [9, 8]]))
        let plain = try inspect(.aesGCM(iv: Array(1...16)), pointers: [0: 1, 3: 4])
        #expect(plain == Seen(words: [1, 16, 128, 0, 0, 128], pointed: [Array(1...16), []]))
    }

    @Test func `ECDH has the function, no shared data and the raw point`() throws {
        let point = try #require(ECPoint(
            x: Array(repeating: 3, count: 32), y: Array(repeating: 4, count: 32), curve: .p256))
        let seen = try inspect(.ecdh1Derive(peerPoint: point), pointers: [2: 1, 4: 3])
        #expect(seen == Seen(words: [CKD_NULL, 0, 0, 65, 1], pointed: [[], point.rawBytes]))
    }

    @Test func `CBC has its vector and CTR its counter`() throws {
        let vector = [UInt8](0..<16)
        for mechanism in [Mechanism.aesCBC(iv: vector), .aesCBCPad(iv: vector)] {
            try unsafe mechanism.withCMechanism { (pointer) throws(PKCS11Error) in
                let parameter = unsafe UnsafeRawBufferPointer(
                    start: pointer.pointee.pParameter, count: Int(pointer.pointee.ulParameterLen))
                #expect(unsafe Array(parameter) == vector)
            }
        }
        let seen = try inspect(.aesCTR(block: vector, counterBits: 32), pointers: [:])
        #expect(seen.words.first == 32)
        #expect(seen.words.count == 3)
        #expect(seen.words[1] == 0x0706_0504_0302_0100)
    }

    @Test func `a token that writes into the parameters does not change the mechanism`() throws {
        let mechanism = Mechanism.aesCBC(iv: Array(repeating: 1, count: 16))
        try unsafe mechanism.withCMechanism { (pointer) throws(PKCS11Error) in
            unsafe pointer.pointee.pParameter?.storeBytes(of: 0xff, as: UInt8.self)
        }
        #expect(mechanism == .aesCBC(iv: Array(repeating: 1, count: 16)))
    }
}

import Foundation
import KeyfobOpenSSL
import PKCS11

@testable import KeyfobToken

extension WrapSuite {
    /// Makes a wrapping key, and reads its public half.
    func wrappingKey(label: String, id: [UInt8], in session: borrowing Session) throws -> WrappingKey {
        let made = try generateKey(label: label, id: id, in: session)
        guard let half = made.publicKey else { return WrappingKey(handle: made.key) }
        let types = TokenObject.attributeTypes(of: .publicKey)
        let object = TokenObject(reading: try session.attributes(types, of: half), parsesCertificate: false)
        return WrappingKey(
            handle: made.key, publicKey: try object?.publicKeyInfo.map { try PublicKey(subjectPublicKeyInfo: $0) })
    }
}

import KeyfobOpenSSL
import PKCS11

extension HashAlgorithm {
    /// The PKCS#11 hash algorithm for a digest of libcrypto; `nil` if there is none.
    init?(_ digest: Digest) {
        switch digest {
        case .sha1: self = .sha1
        case .sha224: self = .sha224
        case .sha256: self = .sha256
        case .sha384: self = .sha384
        case .sha512: self = .sha512
        default: return nil
        }
    }
}

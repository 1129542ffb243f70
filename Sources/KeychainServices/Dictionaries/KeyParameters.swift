import Foundation
import Keyfob
import KeyfobOpenSSL

/// Reads the type and size from dictionaries of keys, which hold them as numbers or as text.
enum KeyParameters {
    /// Returns a number that is given as NSNumber or as decimal text.
    static func number(_ object: Any?) -> Int? {
        switch object {
        case let text as String: Int(text)
        // A fraction is neither a size nor a type: -1 is refused by the callers.
        case let number as NSNumber: AttributeCoding.whole(number).map { Int($0) } ?? -1
        default: nil
        }
    }

    /// Returns a truth value; `nil` if the key is absent.
    ///
    /// - Throws: `StatusError` (`errSecParam`) for an object of another type.
    static func truth(_ dictionary: NSDictionary, _ key: CFString) throws(StatusError) -> Bool? {
        guard let value = dictionary.object(forKey: key) else { return nil }
        guard let number = value as? NSNumber else { throw .parameter("\(key) is not a truth value") }
        return number.boolValue
    }

    /// Returns the key algorithm for a type and size.
    ///
    /// - Throws: `StatusError`; `errSecParam` if the type is missing or unknown, the size is missing, or no curve has
    ///   it; `errSecKeySizeNotAllowed` for a size that is not available.
    static func algorithm(_ dictionary: NSDictionary) throws(StatusError) -> KeyAlgorithm {
        guard let type = number(dictionary.object(forKey: kSecAttrKeyType)) else {
            throw .parameter("the type of the key is missing")
        }
        let size = number(dictionary.object(forKey: kSecAttrKeySizeInBits))
        switch KeyAlgorithmType(rawValue: Int64(type)) {
        case .ed25519: return .ed25519
        case .rsa:
            guard let size else { throw .parameter("the size of the key is missing") }
            guard (1024...16384).contains(size), size % 8 == 0 else {
                throw StatusError(errSecKeySizeNotAllowed, "RSA keys have 1024 to 16384 bits")
            }
            return .rsa(bits: size)
        case .ec:
            guard let size else { throw .parameter("the size of the key is missing") }
            guard let curve = curve(bits: size) else {
                // Apple also generates keys on curves of 192 and 224 bits. There is no curve for any other size.
                let status = [192, 224].contains(size) ? errSecKeySizeNotAllowed : errSecParam
                throw StatusError(status, "EC keys have 256, 384 or 521 bits")
            }
            return .ec(curve)
        default: throw .parameter("keys of this type are not known")
        }
    }

    /// Returns the NIST curve with a field of the given size.
    static func curve(bits: Int) -> NamedCurve? {
        [NamedCurve.p256, .p384, .p521].first { $0.bits == bits }
    }
}

extension KeySpecification {
    /// The specification for generation on the token; `nil` for sizes that Keyfob does not generate there.
    init?(_ algorithm: KeyAlgorithm) {
        switch algorithm {
        case .rsa(let bits) where (2048...4096).contains(bits): self = .rsa(bits: bits)
        case .ec(.p256): self = .p256
        case .ec(.p384): self = .p384
        case .ec(.p521): self = .p521
        case .ed25519: self = .ed25519
        default: return nil
        }
    }
}

import COpenSSL
import Foundation

/// The encryption under a passphrase that an AlgorithmIdentifier describes (RFC 8018, RFC 7292 appendix C).
struct PasswordEncryption {
    /// The name, such as "40-bit RC2" or "AES-256-CBC".
    let name: String
    /// Whether it is older than PBES2 with AES.
    let isLegacy: Bool
    /// The iterations of the key derivation, or an equivalent number; 1 if the identifier has none.
    let iterations: Int

    /// The limit for iterations. A larger number would take minutes, and only a hostile file has one.
    static let maximumIterations = 20_000_000

    /// Decodes an AlgorithmIdentifier in DER.
    init(algorithm: [UInt8]) throws(DERError) {
        let parts = try DERReader.single(algorithm[...], tag: DERTag.sequence).children()
        guard let first = parts.first else { throw DERError() }
        let oid = try first.objectIdentifier()
        guard oid.rawValue == "1.2.840.113549.1.5.13" else {
            name = Self.oldNames[oid.rawValue] ?? oid.rawValue
            isLegacy = Self.oldNames[oid.rawValue] != nil
            iterations = parts.count > 1 ? try parts[1].children().last?.smallInteger() ?? 1 : 1
            return
        }
        guard parts.count > 1 else { throw DERError() }
        let schemes = try parts[1].children()
        guard schemes.count == 2, let cipher = try schemes[1].children().first else { throw DERError() }
        let cipherOID = try cipher.objectIdentifier().rawValue
        name = Self.ciphers[cipherOID] ?? Self.oldCiphers[cipherOID] ?? cipherOID
        isLegacy = Self.oldCiphers[cipherOID] != nil
        let derivation = try schemes[0].children()
        guard derivation.count == 2 else { throw DERError() }
        let parameters = try derivation[1].children()
        switch try derivation[0].objectIdentifier().rawValue {
        case "1.2.840.113549.1.5.12":
            guard parameters.count >= 2 else { throw DERError() }
            iterations = try parameters[1].smallInteger()
        case "1.3.6.1.4.1.11591.4.11":
            guard parameters.count >= 4 else { throw DERError() }
            iterations = try Self.cost(
                scrypt: [parameters[1].smallInteger(), parameters[2].smallInteger(), parameters[3].smallInteger()])
        default: iterations = 1
        }
    }

    /// Returns the work of scrypt (RFC 7914). libcrypto limits its memory, but the remaining parameters could take
    /// hours.
    private static func cost(scrypt parameters: [Int]) -> Int {
        parameters.reduce(1) { product, parameter in
            let (result, isTooLarge) = product.multipliedReportingOverflow(by: parameter)
            return isTooLarge ? Int.max : result
        }
    }

    /// Decodes an X509_ALGOR of libcrypto; `nil` if it has another structure.
    init?(_ algorithm: UnsafePointer<X509_ALGOR>?) {
        do {
            let der = try unsafe encoded("i2d_X509_ALGOR") { unsafe i2d_X509_ALGOR(algorithm, $0) }
            try self.init(algorithm: [UInt8](der))
        } catch {
            return nil
        }
    }

    /// Has the cipher of PBES2 in an X509_ALGOR be AES for keys of the length that the derivation says.
    ///
    /// NSS 3.29 wrote AES-128 for what it encrypted with AES-256; libcrypto refuses that.
    static func correctCipher(of algorithm: UnsafePointer<X509_ALGOR>?) {
        guard let value = unsafe algorithm?.pointee.parameter, unsafe value.pointee.type == V_ASN1_SEQUENCE,
            let text = unsafe value.pointee.value.sequence, let bytes = unsafe ASN1_STRING_get0_data(text)
        else { return }
        let parameters = unsafe [UInt8](UnsafeBufferPointer(start: bytes, count: Int(ASN1_STRING_length(text))))
        guard let (place, octet) = correctionOfCipher(in: parameters) else { return }
        // The identifiers of the three differ in their last octet.
        unsafe UnsafeMutablePointer(mutating: bytes)[place] = octet
    }

    private static func correctionOfCipher(in parameters: [UInt8]) -> (place: Int, octet: UInt8)? {
        do {
            let schemes = try DERReader.single(parameters[...], tag: DERTag.sequence).children()
            guard schemes.count == 2, let cipher = try schemes[1].children().first,
                ciphers[try cipher.objectIdentifier().rawValue] != nil
            else { return nil }
            let derivation = try schemes[0].children()
            guard derivation.count == 2, try derivation[0].objectIdentifier().rawValue == "1.2.840.113549.1.5.12" else {
                return nil
            }
            let fields = try derivation[1].children()
            guard fields.count > 2, fields[2].tag == DERTag.integer,
                let octet = [16: 0x02, 24: 0x16, 32: 0x2A][try fields[2].smallInteger()] as UInt8?
            else { return nil }
            return (cipher.content.endIndex - 1, octet)
        } catch {
            // The caller meets the same parameters again, and says what is wrong with them.
            return nil
        }
    }

    private static let oldNames = [
        "1.2.840.113549.1.12.1.1": "128-bit RC4", "1.2.840.113549.1.12.1.2": "40-bit RC4",
        "1.2.840.113549.1.12.1.3": "3DES", "1.2.840.113549.1.12.1.4": "two-key 3DES",
        "1.2.840.113549.1.12.1.5": "128-bit RC2", "1.2.840.113549.1.12.1.6": "40-bit RC2",
        "1.2.840.113549.1.5.1": "DES with MD2", "1.2.840.113549.1.5.3": "DES with MD5",
        "1.2.840.113549.1.5.4": "RC2 with MD2", "1.2.840.113549.1.5.6": "RC2 with MD5",
        "1.2.840.113549.1.5.10": "DES with SHA-1", "1.2.840.113549.1.5.11": "RC2 with SHA-1",
    ]
    private static let oldCiphers = [
        "1.3.14.3.2.7": "DES", "1.2.840.113549.3.7": "3DES", "1.2.840.113549.3.2": "RC2",
    ]
    private static let ciphers = [
        "2.16.840.1.101.3.4.1.2": "AES-128-CBC", "2.16.840.1.101.3.4.1.22": "AES-192-CBC",
        "2.16.840.1.101.3.4.1.42": "AES-256-CBC",
    ]
}

/// A separate library context with the default provider and, if installed, the legacy provider.
///
/// Old files need RC2 and single DES, which the default context must not offer to the rest of the process.
enum ReadingLibrary {
    private static let context: OwnedPointer? = {
        guard let context = unsafe OSSL_LIB_CTX_new() else { return nil }
        unsafe OSSL_PROVIDER_load(context, "default")
        unsafe OSSL_PROVIDER_load(context, "legacy")
        ERR_clear_error()
        return unsafe OwnedPointer(adopting: context) { unsafe OSSL_LIB_CTX_free($0) }
    }()

    /// Calls `body` with the context; `nil`, libcrypto's own context, is the fallback if memory ran out.
    static func with<Result, Failure: Error>(
        _ body: (OpaquePointer?) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let context else { return try body(nil) }
        return try unsafe context.withPointer { (pointer) throws(Failure) in try unsafe body(pointer) }
    }
}

import Foundation
import Keyfob
import KeyfobTesting
import TestSupport
import Testing

@testable import KeychainServices

/// The result of a call and the code of the error that it reported.
struct Outcome<Value> {
    let value: Value
    let status: OSStatus?
}

extension Outcome: Equatable where Value: Equatable {}
extension Outcome: Sendable where Value: Sendable {}

/// The outcome of a function that reports errors. An error must be reported if and only if the result is a failure.
func outcome<Value>(_ body: (UnsafeMutablePointer<Unmanaged<CFError>?>) -> Value) -> Outcome<Value> {
    var error: Unmanaged<CFError>?
    let value = unsafe body(&error)
    guard let error = unsafe error?.takeRetainedValue() else { return Outcome(value: value, status: nil) }
    #expect(error.domain == NSOSStatusErrorDomain)
    return Outcome(value: value, status: OSStatus(truncatingIfNeeded: error.code))
}

// The functions under test, without their pointers.

func sign(_ key: SecKey, _ algorithm: SecKeyAlgorithm, _ data: Data) -> Outcome<Data?> {
    unsafe outcome { unsafe SecKeyCreateSignature(key, algorithm, data as CFData, $0) as Data? }
}

func verify(_ key: SecKey, _ algorithm: SecKeyAlgorithm, _ data: Data, _ signature: Data) -> Outcome<Bool> {
    unsafe outcome { unsafe SecKeyVerifySignature(key, algorithm, data as CFData, signature as CFData, $0) }
}

func encrypt(_ key: SecKey, _ algorithm: SecKeyAlgorithm, _ data: Data) -> Outcome<Data?> {
    unsafe outcome { unsafe SecKeyCreateEncryptedData(key, algorithm, data as CFData, $0) as Data? }
}

func decrypt(_ key: SecKey, _ algorithm: SecKeyAlgorithm, _ data: Data) -> Outcome<Data?> {
    unsafe outcome { unsafe SecKeyCreateDecryptedData(key, algorithm, data as CFData, $0) as Data? }
}

func agree(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ other: SecKey, _ parameters: NSDictionary = [:]
) -> Outcome<Data?> {
    unsafe outcome { unsafe SecKeyCopyKeyExchangeResult(key, algorithm, other, parameters, $0) as Data? }
}

func generate(_ parameters: [CFString: Any]) -> Outcome<SecKey?> {
    unsafe outcome { unsafe SecKeyCreateRandomKey(parameters as CFDictionary, $0) }
}

func key(from data: Data, _ attributes: [CFString: Any]) -> Outcome<SecKey?> {
    unsafe outcome { unsafe SecKeyCreateWithData(data as CFData, attributes as CFDictionary, $0) }
}

func representation(of key: SecKey) -> Outcome<Data?> {
    unsafe outcome { unsafe SecKeyCopyExternalRepresentation(key, $0) as Data? }
}

/// Where a test's key is.
enum KeyPlace: String, CaseIterable, Sendable { case memory, token }

/// The types of keys.
enum KeyKind: String, CaseIterable, Sendable {
    case rsa2048, p256, p384, p521, ed25519

    var parameters: [CFString: Any] {
        switch self {
        case .rsa2048: [kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeySizeInBits: 2048]
        case .p256: [kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256]
        case .p384: [kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 384]
        case .p521: [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 521]
        case .ed25519: [kSecAttrKeyType: kSecAttrKeyTypeEd25519]
        }
    }
}

/// Keys of every type, in memory and on one token. Tests use them without changing them.
final class KeyFixture: Sendable {
    static let shared = Result { try KeyFixture() }

    private let throwaway: ThrowawayKeychain
    private let keys: [String: SecKey]

    private init() throws {
        throwaway = try TestKeychain.make()
        var keys: [String: SecKey] = [:]
        for kind in KeyKind.allCases {
            for place in KeyPlace.allCases {
                var parameters = kind.parameters
                parameters[kSecPrivateKeyAttrs] = [kSecAttrIsPermanent: place == .token] as NSDictionary
                let key = try SecKeyUse(throwaway) { generate(parameters) }
                let made: SecKey = try #require(key.value, "\(kind) \(place): \(key.status ?? 0)")
                keys["\(kind) \(place)"] = made
            }
        }
        self.keys = keys
    }

    /// The private key of a type in a place.
    static func key(_ kind: KeyKind, _ place: KeyPlace) throws -> SecKey {
        try #require(shared.get().keys["\(kind) \(place)"])
    }
}

/// Runs `body` on a test's keychain, in the group without a name, which includes objects without a row.
func SecKeyUse<Result>(_ throwaway: ThrowawayKeychain, _ body: () throws -> Result) throws -> Result {
    try SecKeychainUse(throwaway.keychain, accessGroups: [""], during: body)
}

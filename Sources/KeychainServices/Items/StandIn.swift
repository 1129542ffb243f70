import Foundation
import Keyfob
import OpenSSL
extension SecKey {
    convenience init?(externalRepresentation: Data, _ type: KeyAlgorithmType, _ half: KeyClass) { return nil }
}
extension PrivateKey { var externalRepresentation: Data? { get throws { nil } } }

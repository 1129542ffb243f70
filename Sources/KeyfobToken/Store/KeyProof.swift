package import Foundation

/// Identifies a cached answer to the question which public key some private keys have.
package struct KeyProof: Hashable {
    /// The fingerprint of the keys.
    package let fingerprint: Data
    /// The number of keys.
    package let count: Int
    /// The identifiers of the candidate public keys.
    package let candidates: Set<Data>

    package init(fingerprint: Data, count: Int, candidates: Set<Data>) {
        self.fingerprint = fingerprint
        self.count = count
        self.candidates = candidates
    }
}

import CLinux
import Foundation
import KeyfobPrimitives
import PKCS11
import Synchronization

/// Keeping those who read a token of ours and those who make objects on it apart; see
/// ``SoftHSMDirectory/holdingObjects(serial:label:_:deadline:_:)``.
extension TokenStore {
    /// Runs `body`, which reads objects in whatever state they are, while nobody of Keyfob's makes any.
    ///
    /// - Throws: `KeychainError`; `vaultBusy` where somebody goes on to make some for too long; what `body` throws.
    func readingObjects<Result>(_ body: () throws -> Result) throws -> Result {
        try holdingObjects(.reading, body)
    }

    /// Runs `body`, which makes, changes or removes objects, while nobody else of Keyfob's looks at those of the token.
    ///
    /// - Parameter deadline: Until when to wait for the others; `nil` for as long as any wait for the token may take.
    /// - Throws: `KeychainError`; `vaultBusy` where others read or write for too long; what `body` throws.
    func writingObjects<Result>(until deadline: Deadline? = nil, _ body: () throws -> Result) throws -> Result {
        try holdingObjects(.writing, until: deadline) {
            objectWriter.store(ThreadNumber.current, ordering: .relaxed)
            defer { objectWriter.store(0, ordering: .relaxed) }
            return try body()
        }
    }

    private func holdingObjects<Result>(
        _ access: SoftHSMDirectory.ObjectAccess, until deadline: Deadline? = nil, _ body: () throws -> Result
    ) throws -> Result {
        // Who makes objects reads them, too.
        guard let softHSM, let serial = uri.serial, objectWriter.load(ordering: .relaxed) != ThreadNumber.current else {
            return try body()
        }
        return try softHSM.holdingObjects(
            serial: serial, label: label, access, deadline: deadline ?? .after(configuration.deadline), body)
    }

    /// Reads objects back that were just made on a token of ours, since another program may have overwritten them.
    ///
    /// - Throws: `KeychainError`; `tokenContractViolation` if an object is not as it was made.
    func requireFinished(_ objects: [TokenObject]) throws {
        guard !objects.isEmpty, softHSM != nil else { return }
        forgetHandles()
        do {
            try withSession(.read) { session in
                // A search looks at every object on the token, so that many are found by one list.
                guard objects.count > 8 else {
                    for object in objects { _ = try handle(of: object, in: session) }
                    return
                }
                let listed = Set(try list(in: session).objects.map(\.fingerprint))
                guard objects.allSatisfy({ listed.contains($0.fingerprint) }) else { throw gone() }
            }
        } catch let error as KeychainError where error.code == .itemNotFound {
            throw KeychainError(
                .tokenContractViolation,
                "what was written to token \"\(label)\" is not there: another program has written over it.",
                hint: "Try again.", details: ["token": label], cause: error)
        }
    }
}

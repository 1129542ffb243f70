import CLinux
import Foundation
import KeyfobPrimitives
import PKCS11
import Synchronization

/// Keeps readers of objects and writers of objects on one of Keyfob's tokens apart; see
/// ``SoftHSMDirectory/holdingObjects(serial:label:_:deadline:_:)``.
extension TokenStore {
    /// Runs `body`, which reads objects in any state, while no other Keyfob process creates objects.
    ///
    /// - Parameter body: Reads objects.
    /// - Returns: The result of `body`.
    /// - Throws: `KeychainError`; `vaultBusy` if other processes create objects for too long; errors of `body`.
    func readingObjects<Result>(_ body: () throws -> Result) throws -> Result {
        try holdingObjects(.reading, body)
    }

    /// Runs `body`, which creates, changes or removes objects, while no other Keyfob process reads objects of the
    /// token.
    ///
    /// - Parameters:
    ///   - deadline: The limit for waiting for other processes; `nil` for the default limit of the token.
    ///   - body: Changes objects.
    /// - Returns: The result of `body`.
    /// - Throws: `KeychainError`; `vaultBusy` if other processes read or write for too long; errors of `body`.
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
        // A writer also reads objects, while it holds the lock already.
        guard let softHSM, let serial = uri.serial, objectWriter.load(ordering: .relaxed) != ThreadNumber.current else {
            return try body()
        }
        return try softHSM.holdingObjects(
            serial: serial, label: label, access, deadline: deadline ?? .after(configuration.deadline), body)
    }

    /// Reads back objects that were just created on one of Keyfob's tokens, since another program may have overwritten
    /// them.
    ///
    /// - Parameter objects: The new objects.
    /// - Throws: `KeychainError`; `tokenContractViolation` if an object is missing or differs.
    func requireFinished(_ objects: [TokenObject]) throws {
        guard !objects.isEmpty, softHSM != nil else { return }
        forgetHandles()
        do {
            try withSession(.read) { session in
                // Each search scans all objects on the token, so list them once if there are many objects to find.
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

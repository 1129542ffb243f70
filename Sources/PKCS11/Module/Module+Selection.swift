import Foundation
import KeyfobPrimitives

extension Module {
    /// The slot of the one token that `uri` names; `nil` when there is none.
    ///
    /// Looks at the token's label, serial number, manufacturer and model, and at the slot's attributes where the
    /// URI has any. Before it believes that there is no such token it looks again for 100 ms, since SoftHSM's tokens
    /// vanish for moments while other processes log in. An uninitialised token is returned only when no initialised
    /// one fits. Blocks.
    ///
    /// - Throws: `ReturnValue.argumentsBad` of `PKCS11Function.getSlotList` when several tokens fit; else what the
    ///   module answered.
    public func slot(matching uri: PKCS11URI) throws(PKCS11Error) -> Slot? {
        let deadline = Deadline.after(.milliseconds(100))
        while true {
            let fitting = try tokens(matching: uri)
            let initialized = fitting.filter { $0.info.flags.contains(.tokenInitialized) }
            let candidates = initialized.isEmpty ? fitting : initialized
            if candidates.count > 1 {
                throw PKCS11Error(
                    function: .getSlotList, returnValue: .argumentsBad,
                    detail: "\(candidates.count) tokens fit: "
                        + candidates.map { "\($0.info.label) (serial \($0.info.serialNumber))" }.joined(separator: ", "))
            }
            if let slot = candidates.first?.slot { return slot }
            if deadline.hasPassed { return nil }
            usleep(10_000)
        }
    }

    private func tokens(matching uri: PKCS11URI) throws(PKCS11Error) -> [(slot: Slot, info: TokenInfo)] {
        var result: [(slot: Slot, info: TokenInfo)] = []
        var answers = 0
        var failure: PKCS11Error?
        for slot in try slots() where uri.slotID == nil || uri.slotID == slot.id {
            do throws(PKCS11Error) {
                let info = try slot.tokenInfo()
                answers += 1
                guard uri.matches(info) else { continue }
                if uri.slotDescription != nil || uri.slotManufacturer != nil {
                    let slotInfo = try slot.info()
                    guard uri.slotDescription ?? slotInfo.slotDescription == slotInfo.slotDescription,
                        uri.slotManufacturer ?? slotInfo.manufacturer == slotInfo.manufacturer
                    else { continue }
                }
                result.append((slot, info))
            } catch {
                // A token that was pulled, or that is in a state nobody can read, is not the one.
                let isAbsent: Set<ReturnValue> = [.tokenNotPresent, .tokenNotRecognized, .deviceRemoved, .slotIDInvalid]
                guard !isAbsent.contains(error.returnValue) else { continue }
                // So SoftHSM speaks of a token whose files were removed, as long as the module lives. When every
                // slot says so, it is the module that is in trouble.
                guard error.returnValue == .generalError else { throw error }
                failure = error
            }
        }
        if let failure, answers == 0 { throw failure }
        return result
    }
}

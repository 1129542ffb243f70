import Foundation
import KeyfobPrimitives

extension Module {
    /// The slot of the one token that `uri` names; `nil` when there is none.
    ///
    /// Looks at the token's label, serial number, manufacturer and model, and at the slot's and the library's
    /// attributes where the URI has any. Before it believes that there is no such token it looks again for 100 ms,
    /// since SoftHSM's tokens vanish for moments while other processes log in. An uninitialised token is returned only
    /// when no initialised one fits. Blocks.
    ///
    /// - Throws: `ReturnValue.argumentsBad` of `PKCS11Function.getSlotList` when several tokens fit; else what the
    ///   module answered.
    public func slot(matching uri: PKCS11URI) throws(PKCS11Error) -> Slot? { try token(matching: uri)?.slot }

    /// As `slot(matching:)`, with what the token said of itself.
    ///
    /// - Parameter deadline: Until when other calls of the module are waited for, as by `callForSlots`.
    func token(
        matching uri: PKCS11URI, until deadline: Deadline? = nil
    ) throws(PKCS11Error) -> (slot: Slot, info: TokenInfo)? {
        let lastLook = Deadline.after(.milliseconds(100))
        while true {
            var failure: PKCS11Error?
            let fitting = try tokens(matching: uri, until: deadline, failure: &failure)
            let initialized = fitting.filter { $0.info.flags.contains(.tokenInitialized) }
            let candidates = initialized.isEmpty ? fitting : initialized
            if candidates.count > 1 {
                let names = candidates.map { "\($0.info.label) (serial \($0.info.serialNumber))" }
                throw PKCS11Error(
                    function: .getSlotList, returnValue: .argumentsBad,
                    detail: "\(candidates.count) tokens fit: " + names.joined(separator: ", "))
            }
            if let token = candidates.first { return token }
            if lastLook.hasPassed {
                // The token may be the one that could not be asked.
                if let failure { throw failure }
                return nil
            }
            usleep(10_000)
        }
    }

    /// Whether the module can say of at least one token what it is.
    ///
    /// - Parameter deadline: Until when other calls of the module are waited for, as by `callForSlots`.
    func hasReadableToken(until deadline: Deadline) -> Bool {
        // A module that cannot even list its slots, or whose slots all fail, has lost what is behind it.
        guard let slots = try? slots(until: deadline) else { return false }
        return slots.contains { (try? $0.tokenInfo(until: deadline)) != nil }
    }

    /// The tokens that fit; `failure` says why one could not be asked.
    private func tokens(
        matching uri: PKCS11URI, until deadline: Deadline?, failure: inout PKCS11Error?
    ) throws(PKCS11Error) -> [(slot: Slot, info: TokenInfo)] {
        var result: [(slot: Slot, info: TokenInfo)] = []
        if uri.namesLibrary, try !uri.matches(info()) { return [] }
        let isExact = uri.serial != nil && uri.token != nil
        let slots = try slots(until: deadline)
        for slot in isExact ? slots.likeliestFirst(serial: uri.serial) : slots
        where uri.slotID == nil || uri.slotID == slot.id {
            do throws(PKCS11Error) {
                let info = try slot.tokenInfo(until: deadline)
                guard uri.matches(info) else { continue }
                let isInItsSlot = uri.namesSlot ? try uri.matches(slot.info(until: deadline), id: slot.id) : true
                if isInItsSlot { result.append((slot, info)) }
                // Serial numbers of SoftHSM's are random, so there is no second one, whatever its slot; and to ask it
                // for a token is to have it read the token's file. That of a token which somebody is logging in to is
                // empty, and SoftHSM may take the token for broken from then on.
                if isExact, info.manufacturer == "SoftHSM project" {
                    // Who could not be asked is somebody else.
                    failure = nil
                    break
                }
            } catch {
                // The next slot would not be answered for either.
                if error.isWantOfTurn { throw error }
                // A token that was pulled, or that nobody can read, is not the one. SoftHSM fails in general with a
                // token that somebody is just logging in to.
                let isAbsent: Set<ReturnValue> = [.tokenNotPresent, .tokenNotRecognized, .deviceRemoved, .slotIDInvalid]
                if !isAbsent.contains(error.returnValue) { failure = error }
            }
        }
        return result
    }
}

extension [Slot] {
    /// SoftHSM's slots: those of tokens that this process has made, and the free one, the last of them first.
    ///
    /// Slots are counted; those of the tokens that were there when SoftHSM was initialised have large random numbers.
    package var newestFirst: [Slot] {
        let (counted, named) = (filter { $0.id < 1 << 20 }, filter { $0.id >= 1 << 20 })
        return counted.sorted { $0.id > $1.id } + named
    }

    /// As `newestFirst`, but first the one whose number SoftHSM has made of a token's serial number.
    fileprivate func likeliestFirst(serial: String?) -> [Slot] {
        let id = serial.flatMap { UInt($0.suffix(8), radix: 16) }.map { $0 & 0x7fff_ffff }
        guard let index = firstIndex(where: { $0.id == id }) else { return newestFirst }
        var others = self
        return [others.remove(at: index)] + others.newestFirst
    }
}

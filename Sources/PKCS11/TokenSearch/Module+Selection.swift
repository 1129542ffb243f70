import Foundation
package import KeyfobPrimitives

extension Module {
    /// Finds the slot of the one token that `uri` names.
    ///
    /// Compares the token's label, serial number, manufacturer and model, and the attributes of the slot and the
    /// library if the URI has any. An uninitialised token is returned only if no initialised one fits. Blocks.
    ///
    /// The search is repeated for 100 ms before the token counts as missing, since SoftHSM's tokens disappear briefly
    /// while other processes log in.
    ///
    /// - Returns: The slot, or `nil` if no token fits.
    /// - Throws: `ReturnValue.argumentsBad` of `PKCS11Function.getSlotList` if several tokens fit; otherwise the
    ///   module's answer.
    public func slot(matching uri: PKCS11URI) throws(PKCS11Error) -> Slot? { try token(matching: uri)?.slot }

    /// Finds the slot of the one token that `uri` names, together with the token's description.
    ///
    /// - Parameters:
    ///   - uri: The URI.
    ///   - deadline: Until when to wait for other calls of the module; see `callForSlots`.
    ///   - patience: How long to repeat the search for a missing token.
    /// - Returns: The token, or `nil` if none fits.
    func token(
        matching uri: PKCS11URI, until deadline: Deadline? = nil, patience: Duration = .milliseconds(100)
    ) throws(PKCS11Error) -> (slot: Slot, info: TokenInfo)? {
        let lastLook = Deadline.after(patience)
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
                // The missing token may be the one that could not be read.
                if let failure { throw failure }
                return nil
            }
            usleep(10_000)
        }
    }

    /// Finds the token that `uri` names, or else the one with its serial number, whose label has changed since.
    ///
    /// - Parameters:
    ///   - uri: The URI.
    ///   - deadline: Until when to wait for other calls of the module; see `callForSlots`.
    /// - Returns: The slot and the token's description, or `nil` if no token fits.
    /// - Throws: `ReturnValue.argumentsBad` of `PKCS11Function.getSlotList` if several tokens fit; otherwise the
    ///   module's answer.
    package func token(
        followingSerialOf uri: PKCS11URI, until deadline: Deadline? = nil
    ) throws(PKCS11Error) -> (slot: Slot, info: TokenInfo)? {
        if let token = try token(matching: uri, until: deadline) { return token }
        guard let relabelled = uri.ignoringLabel else { return nil }
        let token = try token(matching: relabelled, until: deadline, patience: .zero)
        return token.flatMap { uri.isSibling($0.info.label) ? nil : $0 }
    }

    /// Returns whether the module can describe at least one token.
    ///
    /// - Parameter deadline: Until when to wait for other calls of the module; see `callForSlots`.
    func hasReadableToken(until deadline: Deadline) -> Bool {
        // A module that cannot list its slots, or fails for all of them, has lost its device or daemon.
        guard let slots = try? slots(until: deadline) else { return false }
        return slots.contains { (try? $0.tokenInfo(until: deadline)) != nil }
    }

    /// Returns the tokens that fit; `failure` is set to the error of a token that could not be read.
    private func tokens(
        matching uri: PKCS11URI, until deadline: Deadline?, failure: inout PKCS11Error?
    ) throws(PKCS11Error) -> [(slot: Slot, info: TokenInfo)] {
        var result: [(slot: Slot, info: TokenInfo)] = []
        if uri.namesLibrary, try !uri.matches(info()) { return [] }
        let isExact = uri.hasOwnSerial && uri.token != nil
        let slots = try slots(until: deadline)
        for slot in isExact ? slots.likeliestFirst(serial: uri.serial) : slots
        where uri.slotID == nil || uri.slotID == slot.id {
            do throws(PKCS11Error) {
                let info = try slot.tokenInfo(until: deadline)
                guard uri.matches(info) else { continue }
                let isInItsSlot = uri.namesSlot ? try uri.matches(slot.info(until: deadline), id: slot.id) : true
                if isInItsSlot { result.append((slot, info)) }
                // The first match is the only one, and the other slots need not be asked. Asking makes SoftHSM read the
                // token's file, which is empty while another process logs in to that token. SoftHSM may then treat that
                // token as broken from then on.
                if isExact, profile(of: info).has(.uniqueSerials) {
                    // A token that could not be read is a different one.
                    failure = nil
                    break
                }
            } catch {
                // Asking the next slot would wait for the same call.
                if error.isBusy { throw error }
                // A token that was removed or cannot be read is not the one. SoftHSM answers `generalError` for a token
                // that another process is just logging in to.
                let isAbsent: Set<ReturnValue> = [.tokenNotPresent, .tokenNotRecognized, .deviceRemoved, .slotIDInvalid]
                if !isAbsent.contains(error.returnValue) { failure = error }
            }
        }
        return result
    }
}

extension [Slot] {
    /// The slots of tokens that this process has created and the free slot, newest first, followed by the others.
    ///
    /// SoftHSM numbers such slots consecutively. Slots of tokens that existed when SoftHSM was initialised have large
    /// random numbers.
    package var newestFirst: [Slot] {
        let (counted, named) = (filter { $0.id < 1 << 20 }, filter { $0.id >= 1 << 20 })
        return counted.sorted { $0.id > $1.id } + named
    }

    /// Like `newestFirst`, but begins with the slot whose number SoftHSM derives from the token's serial number.
    fileprivate func likeliestFirst(serial: String?) -> [Slot] {
        let id = serial.flatMap { UInt($0.suffix(8), radix: 16) }.map { $0 & 0x7fff_ffff }
        guard let index = firstIndex(where: { $0.id == id }) else { return newestFirst }
        var others = self
        return [others.remove(at: index)] + others.newestFirst
    }
}

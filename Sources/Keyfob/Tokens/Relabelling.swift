import Foundation
import KeyfobPrimitives
import PKCS11

/// Giving objects other labels, so that a kill at any instant loses none of them.
///
/// SoftHSM changes an object by emptying its file and writing it anew. A kill between the two, or a power cut before
/// the kernel has written it, leaves nothing of the object, and a key cannot be made again. So a copy of it lies on the
/// token, and on the disk, until its label is written. It is the object that is changed, and not the copy that takes
/// its place: other programs hold the handle of a key in use.
extension TokenStore {
    /// Whether the token is one of SoftHSM's, in a directory of ours or elsewhere.
    func isSoftHSM() throws -> Bool {
        if softHSM != nil { return true }
        let info = try pool().tokenInfo()
        return info.manufacturer == "SoftHSM project" && info.model.hasPrefix("SoftHSM")
    }

    /// Writes an object's label. To be called under a plan that says so: a kill may leave the copy behind.
    ///
    /// Tokens other than SoftHSM keep their objects in databases, or in silicon, and are not burdened with copies.
    ///
    /// - Parameter isCopied: Whether the plan says that a copy is made meanwhile.
    /// - Throws: `PKCS11Error`, or `KeychainError` where the disk fails; the copy is then still there, and goes when the
    ///   plan is settled.
    func setLabel(_ label: Data, of object: ObjectHandle, isCopied: Bool, in session: borrowing Session) throws {
        let template: AttributeTemplate = [.bytes(.label, [UInt8](label))]
        let before = isCopied ? changeDetector?.snapshot() : nil
        let copy = isCopied ? try copyToBeRemoved(of: object, changing: template, in: session) : nil
        if copy != nil { try changeDetector?.makeDurable(since: before) }
        try setAttributes(template, of: object, in: session)
        guard let copy else { return }
        try changeDetector?.makeDurable(since: before)
        try session.destroy(copy)
    }

    /// A whole copy of an object; `nil` where the token would not make one, or not let it go again.
    private func copyToBeRemoved(
        of object: ObjectHandle, changing template: AttributeTemplate, in session: borrowing Session
    ) throws -> ObjectHandle? {
        guard try isSoftHSM() else { return nil }
        let permissions: [AttributeType] = [.copyable, .destroyable, .modifiable]
        let permitted = try session.attributes(permissions, of: object)
        guard permissions.allSatisfy({ permitted.bool($0) != false }) else { return nil }
        let copy: ObjectHandle
        do throws(PKCS11Error) { copy = try session.copy(object, changing: template) } catch {
            guard error.recovery == .final else { throw error }
            return nil
        }
        guard copy != object else { return nil }
        // It may have to stand in for the object: a key that lost its protection on the way must not.
        guard let original = try read(object, in: session), let twin = try read(copy, in: session),
            original.relabelled(nil) == twin.relabelled(nil)
        else {
            try session.destroy(copy)
            return nil
        }
        return copy
    }

    /// Puts the old label back on the object of a change that was cut short, and sees to it that it is there once.
    ///
    /// - Parameter found: The object, and its copy, as far as they are there.
    func restoreLabel(
        _ planned: TokenPlan.Object, of found: [(handle: ObjectHandle, object: TokenObject)],
        in session: borrowing Session
    ) throws {
        let (old, new) = (planned.oldLabel ?? Data(), planned.newLabel ?? Data())
        func bears(_ label: Data, _ object: TokenObject) -> Bool { (object.label?.bytes ?? Data()) == label }
        guard planned.isCopied == true else {
            // A label that is neither the old nor the new one was given by somebody else since.
            for (handle, object) in found where bears(new, object) {
                try setLabel(old, of: handle, isCopied: false, in: session)
            }
            return
        }
        let ours = found.filter { bears(old, $0.object) || bears(new, $0.object) }
        let isKeptElsewhere = ours.count < found.count
        let kept = isKeptElsewhere ? nil : ours.first { bears(old, $0.object) } ?? ours.first
        if let kept, !bears(old, kept.object) {
            let before = changeDetector?.snapshot()
            // The others are the copy already, and go.
            try setLabel(old, of: kept.handle, isCopied: ours.count == 1, in: session)
            if ours.count > 1 { try changeDetector?.makeDurable(since: before) }
        }
        for (handle, _) in ours where handle != kept?.handle { try session.destroy(handle) }
    }
}

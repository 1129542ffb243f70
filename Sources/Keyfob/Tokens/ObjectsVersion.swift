import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL

/// A state of the objects on a keychain's token: equal while nobody, in whatever process, has changed one.
public struct ObjectsVersion: Hashable, Sendable {
    /// `nil` while the token cannot be read.
    private let stamp: Data?

    /// Whether the objects could be read; a token that was pulled, or blocked, is a state too.
    public var isReadable: Bool { stamp != nil }

    init(stamp: Data?) { self.stamp = stamp }
}

extension Keychain {
    /// The state of the certificates and keys on the token, to be compared with another.
    ///
    /// Blocks. On SoftHSM's own files it costs one system call for each object; other tokens cannot tell, and are
    /// searched: some milliseconds, on cards tens. Attributes that only the vault has are not part of it.
    ///
    /// Never throws: a token that cannot be read is a state.
    @available(*, noasync, message: "use objectChanges(every:), or a thread of your own")
    public func objectsVersion() -> ObjectsVersion { currentObjectsVersion() }

    /// Tells whenever a certificate or key was added, changed or removed on the token, by this process or any other.
    ///
    /// ```swift
    /// for await _ in keychain.objectChanges() { reload() }
    /// ```
    ///
    /// The token is looked at every `interval`, on a thread of Keyfob's own; several changes within one count as one.
    /// What happens before the first `next()` is not told. The sequence ends when its task is cancelled.
    public func objectChanges(every interval: Duration = .seconds(2)) -> ObjectChanges {
        ObjectChanges(keychain: self, interval: interval)
    }

    fileprivate func currentObjectsVersion() -> ObjectsVersion {
        if let stamp = token.changeDetector?.snapshot()?.stamp { return ObjectsVersion(stamp: stamp) }
        do {
            // Past the index, which would have nothing to tell by whether it is still true.
            let objects = try token.readObjects().objects.map(\.encoded).sorted { $0.lexicographicallyPrecedes($1) }
            return ObjectsVersion(stamp: Digest.sha256(objects.reduce(into: Data()) { $0 += Digest.sha256($1) }))
        } catch {
            return ObjectsVersion(stamp: nil)
        }
    }
}

/// The states of a token's objects, one for each change that was seen; see ``Keychain/objectChanges(every:)``.
public struct ObjectChanges: AsyncSequence, Sendable {
    /// The state after a change.
    public typealias Element = ObjectsVersion

    let keychain: Keychain
    let interval: Duration

    /// Begins to look.
    public func makeAsyncIterator() -> Iterator { Iterator(keychain: keychain, interval: interval) }

    /// Compares each state with the one before.
    public struct Iterator: AsyncIteratorProtocol {
        let keychain: Keychain
        let interval: Duration
        private var last: ObjectsVersion?

        init(keychain: Keychain, interval: Duration) {
            self.keychain = keychain
            self.interval = interval
        }

        /// The state after the next change; `nil` when the task was cancelled.
        public mutating func next() async -> ObjectsVersion? {
            while !Task.isCancelled {
                do {
                    let version = try await BlockingExecutor.shared.run { [keychain] in
                        keychain.currentObjectsVersion()
                    }
                    defer { last = version }
                    if let last, last != version { return version }
                    try await Task.sleep(for: interval)
                } catch {
                    // Only the sleep throws, and only when the task was cancelled.
                    return nil
                }
            }
            return nil
        }
    }
}

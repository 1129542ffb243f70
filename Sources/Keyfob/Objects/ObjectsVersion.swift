import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL

/// A state of the objects on a keychain's token. Two values are equal if no process has changed an object in between.
public struct ObjectsVersion: Hashable, Sendable {
    /// `nil` if the token could not be read.
    private let stamp: Data?

    /// Whether the objects could be read. A token that is removed or blocked is a state too.
    public var isReadable: Bool { stamp != nil }

    init(stamp: Data?) { self.stamp = stamp }
}

extension KeychainObjects {
    /// The state of the certificates and keys on the token, for comparison with another.
    ///
    /// Blocks. For Keyfob's own SoftHSM tokens it costs one system call for each object. Other tokens cannot report
    /// changes and are searched, which takes some milliseconds, on cards tens of milliseconds. Attributes that only the
    /// vault stores are not part of the state.
    ///
    /// Never throws: a token that cannot be read is a state.
    @available(*, noasync, message: "use changes(every:), or a thread of your own")
    public func version() -> ObjectsVersion { currentObjectsVersion() }

    /// An asynchronous sequence that reports when any process adds, changes or removes a certificate or key on the
    /// token.
    ///
    /// ```swift
    /// for await _ in keychain.objects.changes() { reload() }
    /// ```
    ///
    /// The token is checked every `interval` on one of Keyfob's threads; several changes within one interval count as
    /// one. Changes before the first call of `next()` are not reported. The sequence ends when its task is cancelled.
    ///
    /// - Parameter interval: The time between two checks.
    /// - Returns: The sequence of states.
    public func changes(every interval: Duration = .seconds(2)) -> ObjectChanges {
        ObjectChanges(keychain: keychain, interval: interval)
    }

    fileprivate func currentObjectsVersion() -> ObjectsVersion {
        if let stamp = keychain.token.changeDetector?.snapshot()?.stamp { return ObjectsVersion(stamp: stamp) }
        do {
            // Not from the index: without a change detector nothing shows whether it is current.
            let objects = try keychain.token.readObjects().objects.map(\.encoded).sorted {
                $0.lexicographicallyPrecedes($1)
            }
            return ObjectsVersion(stamp: Digest.sha256(objects.reduce(into: Data()) { $0 += Digest.sha256($1) }))
        } catch {
            return ObjectsVersion(stamp: nil)
        }
    }
}

/// The states of a token's objects, one for each observed change; see ``Keychain/changes(every:)``.
public struct ObjectChanges: AsyncSequence, Sendable {
    /// The state after a change.
    public typealias Element = ObjectsVersion

    let keychain: Keychain
    let interval: Duration

    /// Starts to observe the token.
    public func makeAsyncIterator() -> Iterator { Iterator(keychain: keychain, interval: interval) }

    /// Compares each state with the previous one.
    public struct Iterator: AsyncIteratorProtocol {
        let keychain: Keychain
        let interval: Duration
        private var last: ObjectsVersion?

        init(keychain: Keychain, interval: Duration) {
            self.keychain = keychain
            self.interval = interval
        }

        /// The state after the next change; `nil` if the task was cancelled.
        public mutating func next() async -> ObjectsVersion? {
            while !Task.isCancelled {
                do {
                    let version = try await BlockingExecutor.shared.run { [keychain] in
                        keychain.objects.currentObjectsVersion()
                    }
                    defer { last = version }
                    if let last, last != version { return version }
                    try await Task.sleep(for: interval)
                } catch {
                    // Only the sleep throws in practice, and only if the task was cancelled.
                    return nil
                }
            }
            return nil
        }
    }
}

import KeyfobPrimitives

extension SessionPool {
    /// Decides how one call recovers after each refusal; free of side effects.
    ///
    /// The steps escalate from a short pause, a new session and a login to initialising the module again. Each step is
    /// tried once. The login is tried once in total, or twice if the first attempt ended before the token had checked
    /// the PIN.
    struct RecoveryPolicy: Sendable {
        /// The step before the operation runs again.
        enum Step: Equatable, Sendable {
            /// Report the refusal.
            case fail
            case pause(Duration)
            /// Use another session, freshly opened.
            case replaceSession
            /// Run again, after a login if the token has lost it.
            case logInAgain
            /// Check whether the token still works; if so, the refusal concerned the data. For an absent token, check
            /// whether the module still shows other tokens.
            case probe
            case reload
        }

        /// The facts besides the refusal that determine the step.
        struct Situation {
            var isIdempotent = true
            /// Whether two seconds have passed, or the caller's deadline.
            var isLate = false
            /// Whether the device may be full of used keys, so that a general error needs no probe.
            var keepsUsedKeysLoaded = false
            /// Whether the pool has found its token before.
            var hasFoundToken = false
            /// Whether another thread has logged in since this call failed last. Then the module works, and only this
            /// call's session was of the time before.
            var hasLoginSince = false
        }

        private var pauses = 0
        private var replacements = 0
        private var loginRuns = 0
        private(set) var hasReloaded = false
        private var hasLoggedIn = false

        private static let pauseLengths: [Duration] = [.milliseconds(10), .milliseconds(40), .milliseconds(160)]

        /// Return values that mean a lost connection if they occur again on a fresh session. A removed card is not
        /// among them, since a new session suffices there; nor is an operation that the caller did not complete.
        private static let reloadable: Set<ReturnValue> = [
            .deviceError, .sessionHandleInvalid, .sessionClosed, .slotIDInvalid,
        ]

        /// Whether this call may still log in.
        var mayLogIn: Bool { !hasLoggedIn }

        /// Records that this call logs in.
        mutating func takeLogin() {
            hasLoggedIn = true
        }

        /// Records that the login ended before the token had checked the PIN, so it may be tried again.
        mutating func giveBackLogin() {
            hasLoggedIn = false
        }

        /// Returns the step after a refusal.
        mutating func step(after value: ReturnValue, _ situation: Situation) -> Step {
            guard situation.isIdempotent, !situation.isLate else { return .fail }
            let isFull = situation.keepsUsedKeysLoaded && value == .generalError
            switch isFull ? .reloadModule : value.recovery {
            case .retry:
                guard pauses < Self.pauseLengths.count else { return .fail }
                pauses += 1
                return .pause(Self.pauseLengths[pauses - 1])
            case .reopenSession:
                if situation.hasLoginSince { return .replaceSession }
                replacements += 1
                if replacements == 1 { return .replaceSession }
                if hasReloaded { return .fail }
                let needsProbe =
                    value == .generalError || value == .functionFailed
                    || value == .tokenNotPresent && situation.hasFoundToken
                if needsProbe { return replacements == 2 ? .probe : .fail }
                return Self.reloadable.contains(value) ? reload() : .fail
            case .logInAgain:
                loginRuns += 1
                return loginRuns == 1 ? .logInAgain : .fail
            case .reloadModule:
                return hasReloaded ? .fail : reload()
            default:
                // Only the caller can look up handles, and other refusals are final.
                return .fail
            }
        }

        /// Returns the step after a probe.
        mutating func step(afterProbe isHealthy: Bool) -> Step {
            isHealthy || hasReloaded ? .fail : reload()
        }

        private mutating func reload() -> Step {
            hasReloaded = true
            return .reload
        }
    }

    /// Whether a PIN may be sent.
    enum LoginDecision: Equatable {
        case notNeeded
        case allowed
        case refused(ReturnValue, detail: String)

        /// Decides from the token's flags.
        ///
        /// - Parameter allowFinalTry: Whether to send the PIN even if one more wrong PIN locks it, or it is locked.
        init(flags: TokenFlags, allowFinalTry: Bool) {
            if !flags.contains(.loginRequired) {
                self = .notNeeded
            } else if flags.contains(.userPINLocked) && !allowFinalTry {
                self = .refused(.pinLocked, detail: "the token says that its user PIN is locked")
            } else if flags.contains(.userPINFinalTry) && !allowFinalTry {
                self = .refused(.pinIncorrect, detail: "final try: one more wrong PIN locks the token")
            } else {
                self = .allowed
            }
        }
    }
}

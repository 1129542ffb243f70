import KeyfobPrimitives

extension SessionPool {
    /// How one call heals: pure decisions on what to do after each refusal.
    ///
    /// Climbs from a moment's pause over another session and a login to a new initialisation of the module. Each
    /// rung is tried once, and the login is tried at most once whatever the rungs; once more where the first ended
    /// before the token had looked at the PIN.
    struct Ladder: Sendable {
        /// What to do before the operation runs again.
        enum Step: Equatable, Sendable {
            /// Report the refusal.
            case fail
            case pause(Duration)
            /// Use another session, freshly opened.
            case replaceSession
            /// Run again, after a login if the token has lost it.
            case logInAgain
            /// See whether the token still works; if it does, the refusal was about the data.
            case probe
            case reload
        }

        /// What `step` needs to know besides the refusal.
        struct Situation {
            var isIdempotent = true
            /// Two seconds are over, or the caller's deadline.
            var isLate = false
        }

        private var pauses = 0
        private var replacements = 0
        private var loginRuns = 0
        private(set) var hasReloaded = false
        private var hasLoggedIn = false

        private static let pauseLengths: [Duration] = [.milliseconds(10), .milliseconds(40), .milliseconds(160)]

        /// Refusals that, repeated on a fresh session, mean a lost connection; not a pulled card, for which a new
        /// session is the cure, and not a caller's own half-done operation.
        private static let reloadable: Set<ReturnValue> = [
            .deviceError, .sessionHandleInvalid, .sessionClosed, .slotIDInvalid,
        ]

        /// Whether this call may still log in.
        var mayLogIn: Bool { !hasLoggedIn }

        /// This call logs in.
        mutating func takeLogin() {
            hasLoggedIn = true
        }

        /// The login ended before the token had looked at the PIN: it may be tried again.
        mutating func giveBackLogin() {
            hasLoggedIn = false
        }

        /// What to do about a refusal.
        mutating func step(after value: ReturnValue, _ situation: Situation) -> Step {
            guard situation.isIdempotent, !situation.isLate else { return .fail }
            switch value.recovery {
            case .retry:
                guard pauses < Self.pauseLengths.count else { return .fail }
                pauses += 1
                return .pause(Self.pauseLengths[pauses - 1])
            case .reopenSession:
                replacements += 1
                if replacements == 1 { return .replaceSession }
                if hasReloaded { return .fail }
                if value == .generalError || value == .functionFailed { return replacements == 2 ? .probe : .fail }
                return Self.reloadable.contains(value) ? reload() : .fail
            case .logInAgain:
                loginRuns += 1
                return loginRuns == 1 ? .logInAgain : .fail
            case .reloadModule:
                return hasReloaded ? .fail : reload()
            default:
                // Handles are the caller's to look up, and final is final.
                return .fail
            }
        }

        /// What to do after a probe.
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

        /// Decides by what the token says about itself.
        ///
        /// - Parameter allowFinalTry: send the PIN even where one more wrong one locks it, or it is locked.
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

@testable import PKCS11
import Testing

/// Tests which waiter gets which session, without threads: a lease is a number here.
@Suite struct SessionPoolStateMachineTests {
    private typealias Machine = SessionPool.StateMachine<Int>

    /// Creates a machine of two sessions, 1 and 2, both in use.
    private func busy() throws -> Machine {
        var machine = Machine(limit: 2)
        for _ in 1...2 { guard case .open = machine.request() else { throw Unexpected() } }
        return machine
    }

    private struct Unexpected: Error {}

    private func wait(_ machine: inout Machine) throws -> Int {
        guard case .wait(let number) = machine.request() else { throw Unexpected() }
        return number
    }

    @Test func `sessions are opened up to the limit, then a request waits`() throws {
        var machine = try busy()
        #expect(machine.sessionCount == 2)
        _ = try wait(&machine)
        #expect(machine.waiterCount == 1)
        #expect(machine.sessionCount == 2)
    }

    @Test func `the session used last is used first`() throws {
        var machine = try busy()
        for lease in [1, 2] { guard case .nothing = machine.release(lease, isUsable: true) else { throw Unexpected() } }
        guard case .use(2) = machine.request() else { throw Unexpected() }
        let idle = machine.takeIdle()
        #expect(idle == 1)
        let noIdle = machine.takeIdle()
        #expect(noIdle == nil)
    }

    @Test func `waiters are served in order of arrival`() throws {
        var machine = try busy()
        let numbers = try (0..<3).map { _ in try wait(&machine) }
        #expect(numbers.map { machine.place(of: $0) } == [0, 1, 2])
        for number in numbers {
            guard case .handOver(number, 1) = machine.release(1, isUsable: true) else { throw Unexpected() }
        }
        guard case .nothing = machine.release(1, isUsable: true) else { throw Unexpected() }
    }

    @Test func `a thread whose turn lasts gets its session again, and a waiter gets it if the thread does not return`()
        throws
    {
        var machine = try busy()
        let number = try wait(&machine)
        guard case .nothing = machine.release(1, isUsable: true, keepsTurn: true) else { throw Unexpected() }
        let again = machine.takeIdle()
        #expect(again == 1)
        guard case nil = machine.retry(number) else { throw Unexpected() }
        guard case .nothing = machine.release(1, isUsable: true, keepsTurn: true) else { throw Unexpected() }
        guard case .use(1) = machine.retry(number) else { throw Unexpected() }
        #expect(machine.waiterCount == 0)
        let hasGivenUp = machine.abandon(number)
        #expect(!hasGivenUp)
    }

    @Test func `a waiter that gave up is not served, and a served waiter cannot give up`() throws {
        var machine = try busy()
        let first = try wait(&machine)
        let second = try wait(&machine)
        let hasFirstGivenUp = machine.abandon(first)
        #expect(hasFirstGivenUp)
        guard case .handOver(second, 1) = machine.release(1, isUsable: true) else { throw Unexpected() }
        let hasSecondGivenUp = machine.abandon(second)
        #expect(!hasSecondGivenUp)
    }

    @Test func `a broken session is closed, and the first waiter opens another`() throws {
        var machine = try busy()
        guard case .discard(1) = machine.release(1, isUsable: false) else { throw Unexpected() }
        #expect(machine.sessionCount == 1)
        guard case .open = machine.request() else { throw Unexpected() }
        let number = try wait(&machine)
        guard case .discardAndLetOpen(2, number) = machine.release(2, isUsable: false) else { throw Unexpected() }
        #expect(machine.sessionCount == 2)
        #expect(machine.waiterCount == 0)
    }

    @Test func `a full token lowers the limit to the number of open sessions`() throws {
        var machine = try busy()
        let nextWaiter = machine.openFailed(isFull: true)
        #expect(nextWaiter == nil)
        #expect(machine.limit == 1)
        _ = try wait(&machine)
        #expect(machine.waiterCount == 1)
    }

    @Test func `a failed opening lets the next waiter try`() throws {
        var machine = try busy()
        let number = try wait(&machine)
        let nextWaiter = machine.openFailed(isFull: false)
        #expect(nextWaiter == number)
        #expect(machine.sessionCount == 2)
        let noWaiter = machine.openFailed(isFull: false)
        #expect(noWaiter == nil)
        let noWaiterWhenFull = machine.openFailed(isFull: true)
        #expect(noWaiterWhenFull == nil)
        #expect(machine.sessionCount == 0)
        #expect(machine.limit == 2)
    }

    @Test func `all suspected sessions are taken away`() throws {
        var machine = try busy()
        let number = try wait(&machine)
        _ = machine.release(1, isUsable: true, keepsTurn: true)
        let (leases, openers) = machine.discardIdle()
        #expect(leases == [1])
        #expect(openers == [number])
        #expect(machine.sessionCount == 2)
    }

    @Test func `a closed pool serves no request and keeps no session`() throws {
        var machine = try busy()
        let number = try wait(&machine)
        _ = machine.release(1, isUsable: true, keepsTurn: true)
        let (leases, waiters) = machine.close()
        #expect(leases == [1])
        #expect(waiters == [number])
        guard case .closed = machine.request() else { throw Unexpected() }
        guard case .discard(2) = machine.release(2, isUsable: true) else { throw Unexpected() }
        #expect(machine.sessionCount == 0)
    }

    @Test("the count is right after any events, and a session is idle beside waiters only in a turn", arguments: 1...4)
    func random(limit: Int) {
        var machine = Machine(limit: limit)
        var leased: [Int] = []
        var opening = 0
        var waiting: [Int] = []
        var turns = 0
        var next = 0
        for _ in 0..<20_000 {
            switch Int.random(in: 0..<6) {
            case 0, 1:
                switch machine.request() {
                case .use(let lease): leased.append(lease)
                case .open: opening += 1
                case .wait(let number): waiting.append(number)
                case .closed: Issue.record("no call has closed the pool")
                }
            case 2 where !leased.isEmpty:
                let lease = leased.remove(at: Int.random(in: leased.indices))
                let keepsTurn = Bool.random()
                if keepsTurn { turns += 1 }
                switch machine.release(lease, isUsable: Bool.random(), keepsTurn: keepsTurn) {
                case .handOver(let number, let lease):
                    #expect(!keepsTurn)
                    #expect(waiting.first == number)
                    waiting.removeFirst()
                    leased.append(lease)
                case .discardAndLetOpen(_, let number):
                    waiting.removeAll { $0 == number }
                    opening += 1
                case .nothing, .discard: break
                }
            case 3 where opening > 0:
                opening -= 1
                if Bool.random() {
                    next += 1
                    leased.append(next)
                } else if let number = machine.openFailed(isFull: false) {
                    waiting.removeAll { $0 == number }
                    opening += 1
                }
            case 4:
                guard let number = waiting.randomElement() else { break }
                switch machine.retry(number) {
                case .use(let lease):
                    waiting.removeAll { $0 == number }
                    leased.append(lease)
                case .open:
                    waiting.removeAll { $0 == number }
                    opening += 1
                case .wait, .closed: Issue.record("a waiter that looks is served or waits on")
                case nil: #expect(machine.idle.isEmpty)
                }
            case 5 where !waiting.isEmpty:
                let hasGivenUp = machine.abandon(waiting.removeLast())
                #expect(hasGivenUp)
            default: break
            }
            #expect(machine.sessionCount == leased.count + opening + machine.idle.count)
            #expect(machine.sessionCount <= limit)
            #expect(machine.waiterCount == waiting.count)
            if machine.idle.isEmpty || waiting.isEmpty { turns = 0 }
            #expect(machine.idle.isEmpty || waiting.isEmpty || turns > 0)
        }
    }
}

@Suite struct SessionPoolLadderTests {
    private typealias RecoveryPolicy = SessionPool.RecoveryPolicy
    private typealias Step = SessionPool.RecoveryPolicy.Step

    /// A refusal that is repeated, with the step taken after each.
    @Test(
        "a refusal that stays is met with one rung after the other",
        arguments: [
            (.pinIncorrect, [.fail]),
            (.signatureInvalid, [.fail]),
            (.objectHandleInvalid, [.fail]),
            (.userNotLoggedIn, [.logInAgain, .fail]),
            (.hostMemory, [.logInAgain, .fail]),
            (.deviceMemory, [.pause(.milliseconds(10)), .pause(.milliseconds(40)), .pause(.milliseconds(160)), .fail]),
            (.deviceError, [.replaceSession, .reload, .fail]),
            (.sessionHandleInvalid, [.replaceSession, .reload, .fail]),
            (.deviceRemoved, [.replaceSession, .fail]),
            (.tokenNotPresent, [.replaceSession, .fail]),
            (.operationActive, [.replaceSession, .fail]),
            (.generalError, [.replaceSession, .probe, .fail]),
            (.cryptokiNotInitialized, [.reload, .fail]),
            (ReturnValue(rawValue: 0x8000_0001), [.fail]),
        ] as [(ReturnValue, [SessionPool.RecoveryPolicy.Step])])
    func repeated(value: ReturnValue, steps: [SessionPool.RecoveryPolicy.Step]) {
        var policy = RecoveryPolicy()
        let taken = steps.map { _ in policy.step(after: value, .init()) }
        #expect(taken == steps)
    }

    @Test func `a general error of a device that may be full of used keys causes one reload, and no probe`() {
        let full = RecoveryPolicy.Situation(keepsUsedKeysLoaded: true)
        var policy = RecoveryPolicy()
        let steps = (1...2).map { _ in policy.step(after: .generalError, full) }
        #expect(steps == [.reload, .fail])
        var other = RecoveryPolicy()
        let step = other.step(after: .functionFailed, full)
        #expect(step == .replaceSession)
    }

    @Test func `an absent token that was there before is looked for in a module that is initialised again`() {
        var policy = RecoveryPolicy()
        let situation = RecoveryPolicy.Situation(hasFoundToken: true)
        let steps = (0..<2).map { _ in policy.step(after: .tokenNotPresent, situation) }
        #expect(steps == [.replaceSession, .probe])
        let stepAfterProbe = policy.step(afterProbe: false)
        #expect(stepAfterProbe == .reload)
        let last = policy.step(after: .tokenNotPresent, situation)
        #expect(last == .fail)
    }

    @Test func `after the login of another thread a call tries another session instead of a reload`() {
        var policy = RecoveryPolicy()
        let values: [ReturnValue] = [.deviceError, .deviceError, .sessionHandleInvalid]
        let steps = values.map { policy.step(after: $0, .init(hasLoginSince: true)) }
        #expect(steps == [.replaceSession, .replaceSession, .replaceSession])
        #expect(!policy.hasReloaded)
    }

    @Test func `a lost daemon behind a general error causes one reload, and a bad tag causes none`() {
        var lost = RecoveryPolicy()
        let firstStep = lost.step(after: .generalError, .init())
        #expect(firstStep == .replaceSession)
        let secondStep = lost.step(after: .generalError, .init())
        #expect(secondStep == .probe)
        let stepAfterProbe = lost.step(afterProbe: false)
        #expect(stepAfterProbe == .reload)
        let lastStep = lost.step(after: .generalError, .init())
        #expect(lastStep == .fail)
        var badTag = RecoveryPolicy()
        _ = badTag.step(after: .generalError, .init())
        _ = badTag.step(after: .generalError, .init())
        let stepAfterBadTag = badTag.step(afterProbe: true)
        #expect(stepAfterBadTag == .fail)
        #expect(!badTag.hasReloaded)
    }

    @Test(
        "what may not run twice, or comes too late, fails at once",
        arguments: ReturnValue.recoveryGroups.flatMap(\.members))
    func never(value: ReturnValue) {
        var policy = RecoveryPolicy()
        let unrepeatableStep = policy.step(after: value, .init(isIdempotent: false))
        #expect(unrepeatableStep == .fail)
        let lateStep = policy.step(after: value, .init(isLate: true))
        #expect(lateStep == .fail)
    }

    @Test func `any sequence of refusals ends soon, with at most one login and one reload`() {
        for _ in 0..<2_000 {
            var policy = RecoveryPolicy()
            var counts = (steps: 0, logins: 0, reloads: 0)
            while counts.steps < 50 {
                let value = ReturnValue.recoveryGroups.flatMap(\.members).randomElement() ?? .ok
                var step = policy.step(after: value.recovery == .final ? .deviceError : value, .init())
                if step == .probe { step = policy.step(afterProbe: Bool.random()) }
                if step == .fail { break }
                counts.steps += 1
                if step == .logInAgain { counts.logins += 1 }
                if step == .reload { counts.reloads += 1 }
            }
            #expect(counts.steps <= 7)
            #expect(counts.logins <= 1)
            #expect(counts.reloads <= 1)
        }
    }

    @Test func `a call logs in once`() {
        var policy = RecoveryPolicy()
        #expect(policy.mayLogIn)
        policy.takeLogin()
        #expect(!policy.mayLogIn)
    }

    @Test(
        "a PIN is not sent on the final try or to a locked token",
        arguments: [
            ([.loginRequired], false, nil), ([.loginRequired, .userPINCountLow], false, nil),
            ([.loginRequired, .userPINFinalTry], false, .pinIncorrect),
            ([.loginRequired, .userPINLocked], false, .pinLocked),
            ([.loginRequired, .userPINFinalTry, .userPINLocked], false, .pinLocked),
            ([.loginRequired, .userPINFinalTry], true, nil), ([.loginRequired, .userPINLocked], true, nil),
        ] as [(TokenFlags, Bool, ReturnValue?)])
    func finalTry(flags: TokenFlags, allowed: Bool, refusal: ReturnValue?) {
        let decision = SessionPool.LoginDecision(flags: flags, allowFinalTry: allowed)
        guard let refusal else {
            #expect(decision == .allowed)
            return
        }
        guard case .refused(refusal, _) = decision else {
            Issue.record("\(decision)")
            return
        }
    }

    @Test func `a token without a login gets none`() {
        #expect(SessionPool.LoginDecision(flags: [], allowFinalTry: false) == .notNeeded)
    }
}

import Foundation
import Keyfob
import KeyfobManifest
import KeyfobOpenSSL
import Testing

/// Plans for states that are made by hand.
@Suite struct PlannerTests {
    private func plan(
        _ text: String, _ state: KeychainState, on now: Date = Date()
    ) throws -> Plan {
        try Planner.plan(try ManifestReadingTests.manifest(ManifestReadingTests.head + text), for: state, on: now)
    }

    private func actions(_ plan: Plan) -> [String] {
        plan.changes.map { "\($0.action.rawValue) \($0.kind.rawValue) \($0.name)" }
    }

    private var existing: KeychainState {
        var state = KeychainState()
        state.exists = true
        return state
    }

    /// A state with one generic password.
    private func state(_ service: String, _ change: (inout GenericPassword) -> Void = { _ in }, isSame: Bool? = nil)
        -> KeychainState
    {
        var password = GenericPassword(service: service)
        change(&password)
        var state = existing
        state.passwords[PasswordKey(password.item)] = StoredPassword(password.item, isSame: isSame)
        return state
    }

    @Test func `a keychain that does not exist is made first`() throws {
        let plan = try self.plan("unattended: true\nkeys: [{name: k}]\nsecrets: [{name: a, generate: {}}]\n", KeychainState())
        #expect(actions(plan) == ["create keychain site", "create secret a", "create key k"])
    }

    @Test func `a keychain that does not exist needs a way to keep its PIN`() throws {
        let error = #expect(throws: ManifestError.self) { try self.plan("keys: [{name: k}]\n", KeychainState()) }
        #expect(error?.problems.first?.position.line == 2)
    }

    @Test func `a new keychain with a passphrase needs a place for its recovery code`() throws {
        let text = "pinSource: 'file:/run/pin'\n"
        let error = #expect(throws: ManifestError.self) { try self.plan(text, KeychainState()) }
        #expect(error?.problems.first?.message.contains("recovery code") == true)
        #expect(try actions(self.plan(text + "recoveryFile: /root/code\n", KeychainState())) == ["create keychain site"])
        #expect(try self.plan(text, existing).isEmpty)
    }

    @Test func `a generated secret that is there stays`() throws {
        let plan = try self.plan("secrets: [{name: a, generate: {}}]\n", state("a"))
        #expect(plan.isEmpty)
        #expect(actions(plan) == ["none secret a"])
    }

    @Test func `a secret whose value differs from the source is updated`() throws {
        let text = "secrets: [{name: a, valueFrom: 'env:A'}]\n"
        let differing = try self.plan(text, state("a", isSame: false))
        #expect(actions(differing) == ["update secret a"])
        #expect(differing.changes[0].differences == [.init("value")])
        #expect(try self.plan(text, state("a", isSame: true)).isEmpty)
    }

    @Test func `a password of an access group, or with a name that is not text, is not that of an entry`() throws {
        let others: [(AttributeName, AttributeValue)] = [
            (.accessGroup, "group"), (.account, .data(Data([0xFF]))), (.account, 7),
        ]
        for (name, value) in others {
            let plan = try self.plan("secrets: [{name: a, generate: {}}]\n", state("a") { $0.attributes[name] = value })
            #expect(actions(plan) == ["create secret a"], "\(name)")
        }
    }

    @Test func `several passwords of one entry are an error with its place`() throws {
        var state = state("a")
        state.ambiguousPasswords = Set(state.passwords.keys)
        let error = #expect(throws: ManifestError.self) {
            try self.plan("secrets:\n  - {name: a, generate: {}}\n", state)
        }
        #expect(error?.problems.first?.position.line == 4)
        #expect(error?.problems.first?.message == "several passwords match secret \"a\"")
    }

    @Test func `each attribute that differs is named`() throws {
        let plan = try self.plan(
            "secrets: [{name: a, generate: {}, label: new, comment: text}]\n", state("a") { $0.label = "old" })
        #expect(
            plan.changes[0].differences == [
                .init("label", from: "old", to: "new"), .init("comment", from: nil, to: "text"),
            ])
    }

    @Test func `a generated secret is replaced when it is old enough`() throws {
        let made = Date(timeIntervalSince1970: 1_700_000_000)
        let state = state("a") { $0.attributes[.modificationDate] = .date(made) }
        let text = "secrets: [{name: a, generate: {}, rotateEvery: 1d}]\n"
        #expect(try self.plan(text, state, on: made + 86_399).isEmpty)
        let due = try self.plan(text, state, on: made + 86_400)
        #expect(due.changes[0].differences.map(\.member) == ["age"])
        guard case .updateSecret(_, _, replacesValue: true) = due.changes[0].operation else {
            Issue.record("\(due.changes[0])")
            return
        }
    }

    @Test func `a key of another kind is an error with its place, unless it may be made anew`() throws {
        var state = existing
        state.keys[Data("k".utf8)] = [StoredKey(KeyItem(item: Item(.key)), kind: "RSA 3072")]
        let error = #expect(throws: ManifestError.self) { try self.plan("keys:\n  - name: k\n", state) }
        #expect(error?.problems.first?.position.line == 4)
        #expect(error?.problems.first?.message.contains("RSA 3072") ?? false)
        let plan = try self.plan("keys: [{name: k, rotate: true}]\n", state)
        #expect(plan.destroyedKeys == ["k"])
    }

    @Test func `a rotation that was interrupted after the new key was made only destroys the former one`() throws {
        var state = existing
        let key = KeyItem(item: Item(.key, [.label: .string("k")]))
        state.keys[Data("k".utf8)] = ["RSA 3072", "EC P-256"].map { StoredKey(key, kind: $0) }
        let plan = try self.plan("keys: [{name: k, rotate: true}]\n", state)
        #expect(plan.destroyedKeys == ["k"])
        #expect(plan.newKeys.isEmpty)
        #expect(try self.plan("keys: [{name: k}]\n", state).isEmpty)
    }

    @Test func `authorities come before what they issue`() throws {
        let plan = try self.plan(
            """
            identities:
              - {name: leaf, commonName: leaf, issuer: middle}
              - {name: middle, commonName: m, authority: true, issuer: root}
              - {name: root, commonName: r, authority: true, issuer: self}

            """, existing)
        #expect(actions(plan) == ["create identity root", "create identity middle", "create identity leaf"])
    }

    @Test func `an issuer that is not there has a place and the nearest name`() throws {
        let error = #expect(throws: ManifestError.self) {
            try self.plan(
                """
                identities:
                  - {name: root, commonName: r, authority: true, issuer: self}
                  - {name: leaf, commonName: leaf, issuer: rot}

                """, existing)
        }
        #expect(
            error?.problems.map(\.description) == ["site.yaml:5:44: there is no issuer \"rot\" — did you mean \"root\"?"])
    }

    @Test func `a program runs once, after all changes that name it`() throws {
        let plan = try self.plan(
            """
            secrets:
              - {name: a, generate: {}, onChange: [{run: [reload]}]}
              - {name: b, generate: {}, onChange: [{run: [reload]}, {run: [other]}]}

            """, existing)
        #expect(plan.hooks.map(\.arguments) == [["reload"], ["other"]])
    }

    @Test func `a program of an interrupted apply runs though nothing else has to be done`() throws {
        var state = state("a")
        state.record.waiting = [HookEntry.owner("secrets", "a")]
        let text = "secrets: [{name: a, generate: {}, onChange: [{run: [reload]}]}]\n"
        let plan = try self.plan(text, state)
        #expect(!plan.isEmpty)
        #expect(plan.hooks.map(\.arguments) == [["reload"]])
        // After an error in the manifest is corrected, only the right program runs.
        #expect(try self.plan(text.replacing("reload", with: "other"), state).hooks.map(\.arguments) == [["other"]])
        #expect(try self.plan("secrets: [{name: a, generate: {}}]\n", state).isEmpty)
    }

    @Test func `only what an earlier apply made is removed, and only if the manifest says so`() throws {
        var state = existing
        // The second one was removed and made again by hand since an apply made it.
        for (service, identity) in [("a", 1), ("again", 2), ("by-hand", 3)] as [(String, UInt8)] {
            var item = GenericPassword(service: service).item
            item.reference = PersistentReference(
                itemClass: .genericPassword, identity: Data(repeating: identity, count: 16))
            state.passwords[PasswordKey(item)] = StoredPassword(item)
        }
        state.record.secrets = [Data(repeating: 1, count: 16), Data(repeating: 9, count: 16)]
        #expect(try actions(self.plan("prune: true\n", state)) == ["delete secret a"])
        #expect(try self.plan("prune: false\n", state).isEmpty)
    }

    @Test func `a file whose mode differs is named with that member`() throws {
        var state = state("a")
        state.files["/run/a"] = .present(differing: ["mode"])
        let plan = try self.plan("secrets: [{name: a, generate: {}, outputs: [{value: /run/a}]}]\n", state)
        #expect(actions(plan) == ["none secret a", "update file /run/a"])
        #expect(plan.changes[1].differences == [.init("mode")])
    }
}

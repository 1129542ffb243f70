import Keyfob
import PKCS11

/// The results of `keyfob doctor`, and what to do about them.
struct DoctorReport {
    let token: SelectedToken
    /// The module that was named.
    let location: ModuleOptions
    let library: ModuleInfo
    let probe: TokenProbe
    /// The state of the PIN.
    let pin: String
    /// The findings of the check of the keychain; `nil` if it was not checked.
    let findings: [VaultFinding]?

    private var info: TokenInfo { probe.info }

    /// The exit status; `nil` if everything that a keychain needs works.
    var failure: ExitStatus? {
        if findings?.isEmpty == false { return .damaged }
        if probe.suffices, probe.leftovers == 0 { return nil }
        return probe.isLoggedIn ? .unsupported : .locked
    }

    var document: Document {
        Document([
            "token": info.label, "serial": info.serialNumber, "manufacturer": info.manufacturer, "model": info.model,
            "uri": info.uri.description, "module": token.module, "module_path": token.slot.module.path,
            "library": library.libraryDescription, "library_version": library.libraryVersion.description, "pin": pin,
            "write_protected": info.flags.contains(.writeProtected),
            "profiles": probe.profile.names,
            "quirks": probe.profile.traits.map { ["quirk": $0.quirk.rawValue, "reason": $0.reason] as Members },
            "logged_in": probe.isLoggedIn,
            "capabilities": probe.results.map { result -> Members in
                [
                    "capability": result.capability.rawValue, "result": result.outcome.rawValue,
                    "reason": result.reason,
                ]
            },
            "present_keys": probe.presentKeys.map { ["uri": $0.uri.description, "suite": $0.suite] as Members },
            "leftovers": probe.leftovers, "keychain": token.keychain?.name, "advice": advice, "ok": failure == nil,
            "findings": findings?.map(\.members),
        ])
    }

    func text(_ colour: Colour) -> String {
        var lines = [
            ("token", info.label), ("model", "\(info.manufacturer) \(info.model)"),
            ("module", "\(token.slot.module.path) (\(library.libraryDescription) \(library.libraryVersion))"),
            ("PIN", pin),
        ]
        if info.flags.contains(.writeProtected) { lines.append(("writing", "write-protected")) }
        let profiles = probe.profile.names.joined(separator: ", ")
        lines.append(("profile", profiles.isEmpty ? "none: nothing is known of this token" : profiles))
        for trait in probe.profile.traits { lines.append(("", "\(trait.quirk.rawValue): \(trait.reason)")) }
        if let keychain = token.keychain { lines.append(("keychain", keychain.name + ", " + soundness)) }
        var table = Table([.init("CAPABILITY"), .init("RESULT"), .init("REASON", mayShrink: true)])
        for result in probe.results {
            let style: Style? =
                switch result.outcome {
                case .works: .good
                case .fails: .bad
                case .untried: .warning
                }
            table.add([
                .init(result.capability.rawValue), .init(result.outcome.rawValue, style), .init(result.reason ?? ""),
            ])
        }
        var rows = table.rendered(width: StandardOutput.terminalWidth, colour: colour)
        if rows.hasSuffix("\n") { rows.removeLast() }
        let steps = advice.map { "  " + TerminalSafe.text($0) }
        return ([Table.pairs(lines), "", rows, "", "What to do:"] + steps).joined(separator: "\n")
    }

    private var soundness: String {
        guard let findings else { return "not checked, since it is locked" }
        return findings.isEmpty ? "sound" : Plural.counted(findings.count, "finding")
    }

    /// The options that select the token.
    private var selection: String {
        let options = [
            ("--token", info.label), ("--module", location.module), ("--module-parameters", location.moduleParameters),
        ]
        return options.compactMap { name, value in value.map { ShellWord.option(name, $0) } }.joined(separator: " ")
    }

    /// The next steps, most urgent first.
    private var advice: [String] {
        var lines: [String] = []
        if probe.leftovers > 0 {
            lines.append(
                "\(Plural.counted(probe.leftovers, "temporary object")) could not be removed. Remove "
                    + "\"\(TokenProbe.label)\" with the vendor's tool: keyfob token show --objects")
        }
        if let findings, !findings.isEmpty, let keychain = token.keychain {
            lines.append("The keychain is damaged: keyfob keychain check \(ShellWord.quoted(keychain.name))")
        }
        guard probe.isLoggedIn else {
            return lines + ["Give the PIN, to try the rest: keyfob doctor \(selection) --pin-source file:…"]
        }
        lines += adviceOnKeys
        if !probe.suffices {
            lines.append(
                "No key here can seal passwords. Use another token for them; programs can still use this one's keys.")
        } else if let present = probe.presentKeys.first {
            lines.append(
                "It makes no key that seals a keychain. Name one that is there: keyfob init \(selection) "
                    + ShellWord.option("--wrapping-key", present.uri.description))
        } else if token.keychain == nil {
            lines.append("Make a keychain on it: keyfob init \(selection)")
        }
        if probe.profile.has(.losesTriesAfterFork) {
            lines.append("Do not use it in servers that fork (nginx, httpd), except through p11-kit's remote protocol.")
        }
        return lines.isEmpty ? ["Nothing."] : lines
    }

    private var adviceOnKeys: [String] {
        let (ec, rsa) = (probe.outcome(of: .ecKeys), probe.outcome(of: .rsaKeys))
        var lines: [String] = []
        if ec != .works, rsa != .works {
            lines.append("It makes no keys. Make them with the vendor's tool; keyfob uses those that are there.")
        } else if ec != .works {
            lines.append("It makes no EC keys. Make RSA keys: --type rsa")
        } else if rsa != .works {
            lines.append("It makes no RSA keys. Make EC keys: --type ec")
        }
        if probe.outcome(of: .keyImport) != .works, ec == .works || rsa == .works {
            lines.append("It takes no keys from outside. Make them on the token: keyfob identity create")
        }
        if probe.outcome(of: .certificates) != .works {
            lines.append("It stores no certificates, so an identity needs one that the vendor's tool has stored.")
        }
        return lines
    }
}

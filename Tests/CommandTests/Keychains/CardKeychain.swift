import Foundation
import TestSupport
import Testing

/// A home whose keychain is on a token that other tools write to as well.
struct CardKeychain {
    let household: TestHome
    let environment: [String: String]
    let module: String

    /// Makes the token and the keychain.
    ///
    /// - Parameter module: The module through which the command uses the token; the other tools use SoftHSM itself.
    init(module: String? = nil, environment more: [String: String] = [:], in household: TestHome? = nil) throws {
        let household = try household ?? TestHome()
        self.household = household
        self.module = module ?? TestToken.modulePath
        environment = try household.makeCard().merging(more) { $1 }
        let made = try keyfob(
            "init", "--token", "card", "--module", self.module, "--pin-source", "env:CARD_PIN")
        try #require(made.status == 0, "\(made.error)")
    }

    func file(_ name: String) -> String { household.directory.file(name) }

    /// Runs the command, which takes the PIN from its environment.
    @discardableResult
    func keyfob(_ arguments: String..., environment more: [String: String] = [:]) throws -> Tool.Result {
        let all = environment.merging(["KEYFOB_PIN_SOURCE": "env:CARD_PIN"]) { $1 }.merging(more) { $1 }
        return try household.keyfob(arguments, environment: all)
    }

    /// Runs a script of sh in the home's directory, with `$MODULE` and a function `p11` that runs pkcs11-tool, logged
    /// in. The script must succeed.
    @discardableResult
    func shell(_ script: String) throws -> String {
        let p11 = "p11() { pkcs11-tool --module \"$MODULE\" --token-label card --login --pin env:CARD_PIN \"$@\" 2>>p11.log; }\n"
        let result = try Tool(
            "/bin/sh", ["-euc", "cd \"$1\"\n" + p11 + script, "sh", household.directory.path],
            environment: environment.merging(["MODULE": TestToken.modulePath, "LC_ALL": "C.UTF-8"]) { $1 }
        ).run()
        try #require(result.status == 0, "\(result.output)\(result.error)")
        return result.output
    }

    /// Makes a key pair and a self-signed certificate in files: `NAME.key`, `NAME.pub` and `NAME.crt` in DER,
    /// `NAME.p8`.
    func makeFiles(_ name: String, _ kind: String = "ec") throws {
        let key = kind == "ec" ? "ec -pkeyopt ec_paramgen_curve:P-256" : "rsa:2048"
        try shell(
            """
            openssl req -x509 -newkey \(key) -nodes -keyout \(name).pem -out cert.pem -days 30 -subj /CN=\(name) 2>/dev/null
            openssl pkcs8 -topk8 -nocrypt -in \(name).pem -out \(name).p8
            openssl pkey -in \(name).pem -outform der -out \(name).key
            openssl pkey -in \(name).pem -pubout -outform der -out \(name).pub
            openssl x509 -in cert.pem -outform der -out \(name).crt
            """)
    }

    /// Writes one object of `makeFiles` to the token: `key`, `pub` or `crt`.
    func write(_ part: String, of name: String, id: String?, label: String? = nil) throws {
        let type = ["key": "privkey --usage-sign", "pub": "pubkey", "crt": "cert"][part] ?? part
        let words = (label ?? name).isEmpty ? "" : " --label '\(label ?? name)'"
        try shell("p11 --write-object \(name).\(part) --type \(type)\(id.map { " --id \($0)" } ?? "")\(words) >/dev/null")
    }

    /// The number of objects on the token.
    func countOfObjects(labelled label: String? = nil) throws -> Int {
        try shell("p11 --list-objects").split(separator: "\n").count { line in
            label.map { line.hasPrefix("  label:") && line.hasSuffix(" \($0)") } ?? line.contains(" Object")
        }
    }
}

import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// OpenSSH: login with a key on the token, with and without the agent.
struct SSH: Program {
    static let name = "ssh"
    static let summary = "OpenSSH's client and agent"
    static let needsCertificate = false
    /// Environment variables.
    static let unspeakable = ["${"]

    static func recipe(for use: TokenUse) throws -> Recipe {
        guard let line = OpenSSHKey.line(use.publicKey, comment: use.stem) else {
            throw KeychainError(
                .mechanismUnsupported, "OpenSSH has no format for a key of type \(use.publicKey.algorithm).",
                hint: "Make a supported key: " + Wording.selected.keyfob("key generate NAME --type ec --curve p256"))
        }
        try use.requireNoEdwardsKey("OpenSSH")
        let publicKey = Recipe.File(name: use.stem + ".pub", content: line + "\n")
        // OpenSSH asks for the PIN. If the PIN is in a file, a small script answers.
        let askpass = use.pinFile.map {
            Recipe.File(
                name: use.stem + ".askpass",
                content: "#!/bin/sh\n# Answers OpenSSH's question for the PIN of the token.\nexec head -n 1 "
                    + "\(ShellWord.quoted($0))\n",
                isExecutable: true)
        }
        let asking = askpass.map { [("SSH_ASKPASS", use.path($0)), ("SSH_ASKPASS_REQUIRE", "force")] } ?? []
        let module = ShellWord.quoted(use.module)
        func options(_ file: String) -> String {
            "-o \(ShellWord.quoted("PKCS11Provider=" + value(use.module))) "
                + "-o \(ShellWord.quoted("IdentityFile=" + path(file))) -o IdentitiesOnly=yes"
        }
        return Recipe(
            title: "OpenSSH reaches the token through its PKCS#11 module",
            files: [publicKey] + (askpass.map { [$0] } ?? []), environment: use.environment + asking,
            lines: [
                "ssh \(options(use.path(publicKey))) USER@HOST",
                "# or put the key into the agent, once for a session",
                "ssh-add -s \(module)",
                "# or for one host, in ~/.ssh/config",
                "# Host HOST", "#     PKCS11Provider \(value(use.module))",
                "#     IdentityFile \(path(use.path(publicKey)))",
                "#     IdentitiesOnly yes",
            ],
            notes: ["the line for authorized_keys on the host is in \(use.path(publicKey))"]
                + (use.softHSMConfiguration == nil
                    ? [] : ["the agent must be started with SOFTHSM2_CONF in its environment"]),
            check: check(options(publicKey.name), publicKey.name, module, hasPIN: askpass != nil),
            checksByOpenSSL: false)
    }

    /// A value for options and configuration files (ssh_config(5)), as one word.
    private static func value(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { $0 > 0x20 && !"\"'\\#".utf8.contains($0) }
        return isPlain ? text : TokenUse.doubleQuoted(text)
    }

    /// A path as a value, in which a percent sign would start a token.
    private static func path(_ text: String) -> String { value(text.escaping("%", with: "%")) }

    /// Logs in to a temporary server twice: with the client's option, then with the agent.
    private static func check(_ options: String, _ publicKey: String, _ module: String, hasPIN: Bool) -> String {
        guard hasPIN else { return "echo 'the PIN is not in a file, and the check cannot ask for it'; exit 77\n" }
        return """
            sshd=$(PATH=$PATH:/usr/sbin:/usr/local/sbin command -v sshd) || { echo "the check needs OpenSSH's server, which is not installed"; exit 127; }
            \(Handshake.functions)
            port=$(port)
            ssh-keygen -q -t ed25519 -f host -N ''
            cp \(ShellWord.quoted(publicKey)) authorized
            chmod 600 authorized
            cat >sshd.conf <<CONFIGURATION
            HostKey $PWD/host
            AuthorizedKeysFile $PWD/authorized
            StrictModes no
            PidFile none
            UsePAM no
            PasswordAuthentication no
            KbdInteractiveAuthentication no
            PermitRootLogin prohibit-password
            Port $port
            ListenAddress 127.0.0.1
            CONFIGURATION
            if [ "$(id -u)" = 0 ]; then mkdir -p -m 755 /run/sshd; fi
            "$sshd" -D -e -f "$PWD/sshd.conf" >server.log 2>&1 &
            server=$!
            # The server's log decides, because the account's shell may refuse to run commands.
            accepted() { [ "$(grep -c '^Accepted publickey' server.log)" -ge "$1" ]; }
            login() {
                timeout 20 ssh -F none -p "$port" -o StrictHostKeyChecking=no -o UserKnownHostsFile="$PWD/known" \\
                    -o PreferredAuthentications=publickey -o ConnectTimeout=10 "$@" "$(id -un)@127.0.0.1" true || true
            }
            for attempt in $(seq 300); do
                login \(options) >client.log 2>&1
                if accepted 1; then break; fi
                kill -0 "$server" 2>/dev/null || break
                grep -q 'Connection refused' client.log || break
                sleep 0.1
            done
            accepted 1 || { tr -d '\\r' <client.log; tr -d '\\r' <server.log; exit 1; }
            # In the foreground: an agent in its own session would outlive a check that is killed.
            ssh-agent -D -a "$PWD/agent" >agent.log 2>&1 &
            agent=$!
            trap 'kill "$agent" 2>/dev/null || true; stop' EXIT
            SSH_AUTH_SOCK=$PWD/agent
            export SSH_AUTH_SOCK
            for attempt in $(seq 100); do
                if [ -S agent ]; then break; fi
                kill -0 "$agent" 2>/dev/null || { cat agent.log; exit 1; }
                sleep 0.1
            done
            timeout 20 ssh-add -s \(module) >add.log 2>&1 || { cat add.log; exit 1; }
            login -o IdentityFile=\(ShellWord.quoted(publicKey)) -o IdentitiesOnly=yes >client.log 2>&1
            accepted 2 || { tr -d '\\r' <client.log; tr -d '\\r' <server.log; exit 1; }
            echo 'client and agent'

            """
    }
}

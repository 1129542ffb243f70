import Foundation
import Glibc
import TestSupport
import Testing

/// Programs of OpenSSH, and git, with a key that `keyfob agent` serves.
@Suite struct AgentLoginTests {
    /// A server of this machine in whose `authorized_keys` the key `k` is; `login` runs a command there.
    private static let server = """
        keyfob key pub k --format ssh >k.pub
        ssh-keygen -q -t ed25519 -f host -N ''
        cp k.pub authorized; chmod 600 authorized
        cat >sshd.conf <<END
        HostKey $PWD/host
        AuthorizedKeysFile $PWD/authorized
        StrictModes no
        PidFile none
        UsePAM no
        PasswordAuthentication no
        KbdInteractiveAuthentication no
        PermitRootLogin prohibit-password
        ListenAddress 127.0.0.1
        LogLevel VERBOSE
        END
        if [ "$(id -u)" = 0 ]; then mkdir -p -m 755 /run/sshd; fi
        sshd=$(command -v sshd)
        # Another test may listen at a port, so several are tried.
        for attempt in 1 2 3 4 5; do
            port=$(python3 -c 'import random; print(random.randrange(10000, 32000))')
            "$sshd" -D -e -f "$PWD/sshd.conf" -p $port >server.log 2>&1 & server=$!
            until grep -q 'Server listening' server.log; do kill -0 $server 2>/dev/null || break; sleep 0.1; done
            if kill -0 $server 2>/dev/null; then break; fi
        done
        trap 'kill $server' EXIT
        ssh="timeout 60 ssh -F none -p $port -o StrictHostKeyChecking=no -o UserKnownHostsFile=$PWD/known \
            -o PreferredAuthentications=publickey -o IdentityFile=none -o ConnectTimeout=20"

        """

    @Test(arguments: [
        ("--type ec --curve p256", "ECDSA"), ("--type ec --curve p384", "ECDSA"), ("--type ec --curve p521", "ECDSA"),
        ("--type rsa --size 2048", "RSA"), ("--type ed25519", "ED25519"),
    ])
    func `ssh logs in to a server with each kind of key`(options: String, kind: String) throws {
        let home = try AgentHome(keys: false)
        try home.shell("keyfob key generate k \(options) >/dev/null")
        // An account without a shell accepts the key and runs no command, so the server's log decides.
        let output = try home.shell(
            Self.server + """
                keyfob agent --ssh k -- $ssh "$(id -un)@127.0.0.1" true >client.log 2>&1 || true
                grep -h '^Accepted publickey' server.log || { cat client.log server.log; exit 1; }
                """)
        #expect(output.contains("\(kind) SHA256:"), "\(output)")
    }

    @Test func `the server refuses a login with an agent that does not serve its key`() throws {
        let home = try AgentHome()
        let output = try home.shell(
            "keyfob key generate k >/dev/null\n" + Self.server + """
                keyfob agent --ssh deploy -- $ssh "$(id -un)@127.0.0.1" true >client.log 2>&1 || echo status $?
                grep -c '^Accepted' server.log || true
                """)
        #expect(output == "status 255\n0\n")
    }

    @Test(arguments: ["--type ec --curve p256", "--type rsa --size 2048", "--type ed25519"])
    func `ssh-keygen and git sign, and both verify`(options: String) throws {
        let home = try AgentHome(keys: false)
        try home.shell("keyfob key generate k \(options) >/dev/null; keyfob key pub k --format ssh >k.pub")
        let output = try home.shell(
            withAgent: "--ssh k",
            """
            echo text >text
            ssh-keygen -q -Y sign -U -f k.pub -n file text
            printf 'a@example.org %s\\n' "$(cut -d' ' -f1,2 k.pub)" >allowed
            ssh-keygen -Y verify -f allowed -I a@example.org -n file -s text.sig <text
            git init -q repository; cd repository
            git -c gpg.format=ssh -c "user.signingKey=$PWD/../k.pub" commit -q -S --allow-empty -m signed
            git -c "gpg.ssh.allowedSignersFile=$PWD/../allowed" verify-commit HEAD 2>&1
            """,
            environment: [
                "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a",
                "GIT_COMMITTER_EMAIL": "a@example.org", "GIT_CONFIG_NOSYSTEM": "1",
            ])
        #expect(output.components(separatedBy: "Good \"").count == 3, "\(output)")
    }
}

import Foundation
import TestSupport
import Testing

private enum ServiceManager {
    /// Whether a service manager can run in namespaces of its own.
    // A program that cannot be started counts as missing.
    static let canRun = geteuid() == 0
        && ["/lib/systemd/systemd", "/usr/bin/systemctl", "/usr/bin/unshare"].allSatisfy {
            FileManager.default.isExecutableFile(atPath: $0)
        }
        && (try? run("/usr/bin/unshare", ["-m", "-C", "--pid", "--fork", "--mount-proc", "true"]).status) == 0
}

/// The units of `keyfob systemd` under a real service manager, which has namespaces of its own.
@Suite(.enabled(if: ServiceManager.canRun, "systemd is not installed, or this user cannot make namespaces"))
struct SystemdManagerTests {
    @Test func `a service gets its secret, and a renewal runs, with all restrictions of the units`() throws {
        let directory = try TemporaryDirectory()
        // The units hide /tmp from their services, so everything is below /mnt.
        let script = """
            set -eu
            mount --make-rprivate /
            mount --make-rshared /
            mount -t tmpfs tmpfs /run
            # A system that systemd has booted has these.
            mkdir -p /run/systemd/system /run/systemd/inaccessible/dir
            touch /run/systemd/inaccessible/reg
            mkfifo /run/systemd/inaccessible/fifo
            mknod /run/systemd/inaccessible/chr c 0 0
            mknod /run/systemd/inaccessible/blk b 0 0
            mkdir -m 700 -p /run/user/0
            mount --bind "$1" /mnt
            touch /mnt/keyfob
            mount --bind "$2" /mnt/keyfob
            unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME
            export XDG_RUNTIME_DIR=/run/user/0 HOME=/mnt/home KEYFOB_NO_INPUT=1 PATH=/mnt:$PATH
            units=$HOME/.config/systemd/user
            mkdir -p "$units"
            keyfob init --unattended
            printf hunter2 | keyfob set db/prod
            keyfob identity create own --cn own --self-signed --lifetime 90d
            keyfob systemd unit --serve app@.service/key=db/prod -o "$units"
            keyfob systemd timer -o "$units" \\
                --exec 'keyfob cert export own -o /mnt/home/.local/share/keyfob/own.pem; touch /mnt/outside'
            sed -i 's/renew --all/renew --all --force/' "$units/keyfob-renew.service"
            for unit in keyfob-renew.service keyfob-credentials@.service; do
                mkdir "$units/$unit.d"
                printf '[Service]\\nStandardOutput=append:/mnt/log\\nStandardError=append:/mnt/log\\n' \\
                    > "$units/$unit.d/log.conf"
            done
            cat > "$units/app@.service" <<'END'
            [Service]
            Type=oneshot
            LoadCredential=key:/run/keyfob/credentials.sock
            LoadCredential=other:/run/keyfob/credentials.sock
            ExecStart=/bin/sh -c 'cat $CREDENTIALS_DIRECTORY/key; wc -c < $CREDENTIALS_DIRECTORY/other'
            StandardOutput=file:/mnt/got
            END
            /lib/systemd/systemd --user > /mnt/manager.log 2>&1 < /dev/null &
            manager=$!
            for attempt in $(seq 300); do
                ! systemctl --user list-units > /dev/null 2>&1 || break
                sleep 0.1
            done
            systemctl --user start keyfob-credentials.socket app@one.service
            systemctl --user start keyfob-renew.service || true
            kill $manager
            wait $manager || true
            """
        let result = try run(
            "/usr/bin/unshare",
            ["-m", "-C", "--pid", "--fork", "--mount-proc", "/bin/sh", "-c", script, "sh", directory.path,
                URL(fileURLWithPath: Tool.keyfob([]).path).resolvingSymlinksInPath().path])
        #expect(result.status == 0, "\(result.stdout)\(result.stderr)")
        func text(_ name: String) -> String {
            // A missing file is empty, which fails the test.
            (try? String(contentsOfFile: directory.file(name), encoding: .utf8)) ?? ""
        }
        let log = text("log")
        #expect(text("got") == "hunter20\n", "\(log)")
        #expect(log.contains("app@one.service got key.\n"), "\(log)")
        #expect(log.contains("\"app@one.service\" asks for the credential \"other\""), "\(log)")
        #expect(log.contains("installed; old certificate kept as own@20"), "\(log)")
        #expect(text("home/.local/share/keyfob/own.pem").hasPrefix("-----BEGIN CERTIFICATE-----"), "\(log)")
        // The file system is read-only.
        #expect(!FileManager.default.fileExists(atPath: directory.file("outside")))
        #expect(log.contains("Read-only file system"), "\(log)")
    }
}

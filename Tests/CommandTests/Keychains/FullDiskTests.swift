import Foundation
import TestSupport
import Testing

/// A mount namespace, whose mounts other processes do not see.
enum MountNamespace {
    /// The options of unshare(1), for root or for other users; `nil` if neither is allowed.
    static let options = [["--mount"], ["--user", "--map-root-user", "--mount"]].first { options in
        let mounting = try? run("unshare", options + ["sh", "-c", "mount -t tmpfs -o size=64k tmpfs /mnt"])
        return mounting?.status == 0
    }
}

/// A disk that becomes full at each moment of a command in turn.
@Suite(.enabled(if: MountNamespace.options != nil, "no tmpfs can be mounted here: unshare(1) is not allowed"))
struct FullDiskTests {
    /// A command on a keychain that has identity `web` and secret `old`.
    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let command: String
        /// The number of pages by which the space grows between two attempts.
        var step = 6
        /// Whether there is no keychain before the command.
        var isFirst = false
        /// Whether a new key may stay, for use by the next attempt.
        var keepsKey = false
    }

    static let rows = [
        Row(testDescription: "init", command: "keyfob init --unattended", step: 7, isFirst: true),
        Row(
            testDescription: "init, passphrase", command: "PASS=opensesame keyfob init --pin-source env:PASS", step: 11,
            isFirst: true),
        Row(testDescription: "keychain create", command: "keyfob keychain create second --unattended", step: 11),
        Row(testDescription: "secret set", command: "printf value | keyfob set new --stdin"),
        Row(testDescription: "secret set, replace", command: "printf value | keyfob set old --stdin --replace"),
        Row(testDescription: "identity import", command: "keyfob identity import new.key new.pem --name new"),
        Row(
            testDescription: "identity import, replace",
            command: "keyfob identity import new.key new.pem --name web --replace"),
        Row(testDescription: "key generate", command: "keyfob key generate new"),
        Row(
            testDescription: "identity create", command: "keyfob identity create new --cn new --self-signed",
            keepsKey: true),
        Row(
            testDescription: "identity renew", command: "keyfob identity renew web --force --self-signed --new-key",
            keepsKey: true),
        Row(testDescription: "identity rm", command: "keyfob identity rm web --yes"),
    ]

    /// Runs the command with no free page, then with more pages, until it succeeds. After each failure the space is
    /// freed: nothing may have changed, and the same command must succeed.
    private static let script = """
        cd "$1"; first=$2; step=$3; command=$4; kept=$5
        keyfob() { "$KEYFOB" "$@"; }
        mkdir disk
        mount -t tmpfs -o size=8m,mode=700 tmpfs disk
        export HOME="$PWD/disk/home"
        mkdir "$HOME"
        for name in web new; do
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $name.key -out $name.pem -days 300 \
                -subj /CN=$name.example.org 2>openssl.log
        done
        if [ "$first" = no ]; then
            keyfob init -q --unattended
            printf first | keyfob set -q old --stdin
            keyfob identity import -q web.key web.pem --name web
        fi
        cp -a disk/home before
        # All that there is, without the times that pass.
        state() {
            for list in 'identity ls' 'key ls' 'cert ls' 'ls'; do
                if [ "$list" = "$kept" ]; then continue; fi
                keyfob $list 2>&1 | sed 's/ in [0-9]* ms//; s/[0-9]* [a-z]* ago//; s/just now//'
            done
            keyfob token show --objects 2>&1 | grep -E "${kept:+no }objects|debris" || true
            ls "$HOME"
            # A vault that was not made leaves no journal either.
            find "$HOME/.local/share/keyfob/keychains" -type f ! -name lock 2>/dev/null | sed 's/-journal$//' | sort -u
        }
        # The disk, but for so many pages of 4096 bytes.
        fill() {
            cat /dev/zero >disk/filler 2>/dev/null || true
            size=$(($(stat -c %s disk/filler) / 4096 - $1))
            truncate -s $((size * 4096)) disk/filler
        }
        expected=$(state)
        pages=0
        while :; do
            fill "$pages"
            status=0
            (eval "$command") >output 2>error || status=$?
            if [ "$status" = 0 ]; then break; fi
            echo "== $pages $status"
            cat error
            # What only reads goes on while the disk is full.
            if [ "$first" = no ]; then
                [ "$(keyfob get old 2>&1)" = first ] || echo "!! $(keyfob get old 2>&1)"
                keyfob identity ls >/dev/null 2>list || echo "!! $(cat list)"
            fi
            rm disk/filler
            after=$(state)
            if grep -q 'is off token' error; then
                # A removal that was begun is finished.
                keyfob keychain check >check 2>&1 || echo "!! $(cat check)"
                if keyfob identity ls | grep web; then echo '!! there it is'; fi
            else
                [ "$after" = "$expected" ] || printf '!! changed from\n%s\nto\n%s\n' "$expected" "$after"
                (eval "$command") >output 2>error || echo "!! with room: $(cat error)"
            fi
            rm -r disk/home
            cp -a before disk/home
            # The first writes are small.
            pages=$((pages < 6 ? pages + 2 : pages + step))
            [ "$pages" -lt 400 ] || exit 99
        done
        rm disk/filler
        echo "== done $pages"
        """

    /// A file system with blocks smaller than a page. If it is full, memory mapped from it raises SIGBUS.
    private static let smallBlocks = """
        PATH=$PATH:/usr/sbin:/sbin
        cd "$1"
        mkdir disk
        truncate -s 16m image
        mkfs.ext4 -q -b 1024 image
        mount -o loop image disk
        """

    private static let canMountImages: Bool = {
        guard let namespace = MountNamespace.options, let directory = try? TemporaryDirectory() else { return false }
        let mounting = try? run("unshare", namespace + ["sh", "-euc", smallBlocks, "sh", directory.path])
        return mounting?.status == 0
    }()

    @Test(.enabled(if: canMountImages, "mounting an image of a file system takes root, mkfs.ext4 and a loop device"))
    func `a full disk with small blocks ends no command by a signal`() throws {
        let household = try TestHome()
        let namespace = try #require(MountNamespace.options)
        let script = Self.smallBlocks + """

            export HOME="$PWD/disk/home"
            mkdir -m 700 "$HOME"
            "$KEYFOB" init -q --unattended
            printf first | "$KEYFOB" set -q old --stdin
            sync
            for size in 64k 512 512; do dd if=/dev/zero bs=$size >>disk/filler 2>/dev/null || true; sync; done
            for round in 1 2 3; do
                for command in 'get old' ls 'keychain check' status; do
                    "$KEYFOB" $command >output 2>error || echo "!! $command: $? $(cat error)"
                done
                status=0
                head -c 20000 /dev/zero | "$KEYFOB" set new --stdin 2>error || status=$?
                [ "$status" = 1 ] && grep -q 'the disk is full' error || echo "!! set: $status $(cat error)"
            done
            rm disk/filler
            printf more | "$KEYFOB" set -q new --stdin
            [ "$("$KEYFOB" get new) $("$KEYFOB" get old)" = 'more first' ] || echo '!! with room'
            "$KEYFOB" keychain check --secrets
            """
        let result = try Tool(
            "unshare", namespace + ["sh", "-euc", script, "sh", household.directory.path],
            environment: household.environment.merging(["KEYFOB": Tool.keyfob([]).path, "KEYFOB_NO_INPUT": "1"]) { $1 }
        ).run()
        #expect(result.status == 0, "\(result.output)\(result.error)")
        #expect(!result.output.contains("!!"), "\(result.output)")
    }

    @Test(arguments: rows) func `on a full disk a command reports it, loses nothing, and works once there is room`(_ row: Row) throws {
        let household = try TestHome()
        let namespace = try #require(MountNamespace.options)
        let result = try Tool(
            "unshare",
            namespace + [
                "sh", "-euc", Self.script, "sh", household.directory.path, row.isFirst ? "yes" : "no", String(row.step),
                row.command, row.keepsKey ? "key ls" : "",
            ],
            environment: household.environment.merging(["KEYFOB": Tool.keyfob([]).path, "KEYFOB_NO_INPUT": "1"]) { $1 }
        ).run()
        #expect(result.status == 0, "\(result.output)\(result.error)")
        #expect(!result.output.contains("!!"), "\(result.output)")
        let parts = result.output.components(separatedBy: "== ").filter { !$0.isEmpty }
        #expect(parts.last?.hasPrefix("done ") == true)
        // Even a removal needs some space.
        #expect(parts.count > 1)
        for part in parts.dropLast() {
            let lines = part.split(separator: "\n")
            #expect(lines[0].hasSuffix(" 1"), "\(part)")
            try #require(lines.count == 3, "\(part)")
            #expect(
                lines[1].hasPrefix("keyfob: the disk is full: ") && lines[1].contains(" cannot be written."), "\(part)")
            #expect(
                lines[2].hasPrefix("    Nothing is lost. Make room") || lines[1].contains("is off token"), "\(part)")
        }
    }
}

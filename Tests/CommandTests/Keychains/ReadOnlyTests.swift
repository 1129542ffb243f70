import Foundation
import TestSupport
import Testing

/// A home directory on a read-only file system.
@Suite(.enabled(if: MountNamespace.options != nil, "nothing can be mounted here: unshare(1) is not allowed"))
struct ReadOnlyTests {
    @Test func `commands that only read work, and others report that nothing was changed`() throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        try #require(household.keyfob(["identity", "create", "web", "--cn", "web", "--self-signed"]).status == 0)
        let script = """
            mount --bind "$HOME" "$HOME"
            mount -o remount,ro,bind "$HOME" "$HOME"
            for command in 'get a' 'ls' 'identity ls' 'identity check web' 'status' 'cert export web' 'keychain check'; do
                "$KEYFOB" $command >output 2>error || echo "!! $command: $(cat error)"
            done
            for command in 'rm a --yes' 'set a --replace --stdin' 'identity rm web --yes' 'key generate k' \
                'identity renew web --force --self-signed'; do
                status=0
                echo other | "$KEYFOB" $command >output 2>error || status=$?
                echo "$status $(head -n 1 error)"
                sed -n 2p error | grep -q 'how its file system is mounted' || echo "!! $command: $(cat error)"
            done
            """
        let namespace = try #require(MountNamespace.options)
        let result = try Tool(
            "unshare", namespace + ["sh", "-euc", "cd \"$1\"; " + script, "sh", household.directory.path],
            environment: household.environment.merging(["KEYFOB": Tool.keyfob([]).path, "KEYFOB_NO_INPUT": "1"]) { $1 }
        ).run()
        #expect(result.status == 0, "\(result.error)")
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 5, "\(result.output)")
        for line in lines {
            #expect(line == "12 keyfob: keychain \"login\" is read-only; nothing was changed.")
        }
    }

    @Test func `a read-only token directory is named`() throws {
        let household = try TestHome.unattended()
        let script = """
            mount --bind "$1" "$1"
            mount -o remount,ro,bind "$1" "$1"
            exec "$KEYFOB" key generate k
            """
        let namespace = try #require(MountNamespace.options)
        let tokens = household.data + "/tokens"
        let result = try Tool(
            "unshare", namespace + ["sh", "-euc", script, "sh", tokens],
            environment: household.environment.merging(["KEYFOB": Tool.keyfob([]).path, "KEYFOB_NO_INPUT": "1"]) { $1 }
        ).run()
        #expect(result.status == 12 && result.error.hasPrefix("keyfob: cannot write \(tokens)/"), "\(result.error)")
    }

    @Test func `a read-only directory of Keyfob is named`() throws {
        let (directory, message) = (".local/share/keyfob/keychains", "cannot create ")
        let household = try TestHome.unattended()
        let script = """
            mount --bind "$1" "$1"
            mount -o remount,ro,bind "$1" "$1"
            exec "$KEYFOB" keychain create second --unattended
            """
        let namespace = try #require(MountNamespace.options)
        let place = household.directory.file("home/" + directory)
        let result = try Tool(
            "unshare", namespace + ["sh", "-euc", script, "sh", place],
            environment: household.environment.merging(["KEYFOB": Tool.keyfob([]).path, "KEYFOB_NO_INPUT": "1"]) { $1 }
        ).run()
        #expect(result.status == 12 && result.error.hasPrefix("keyfob: " + message), "\(result.error)")
        for part in [place, "how its file system is mounted"] {
            #expect(result.error.contains(part), "\(result.error)")
        }
        #expect(try household.keyfob(["keychain", "ls", "--format", "tsv"]).output.split(separator: "\n").count == 2)
    }

    @Test(arguments: [("/dev/full", "disk.full"), ("/dev/null", nil)])
    func `a result that cannot be written is a failure`(file: String, code: String?) throws {
        let household = try TestHome.unattended()
        for command in [["ls"], ["status"], ["--version"], ["token", "ls"]] {
            let result = try Tool(
                "/bin/sh",
                ["-c", "file=$1; shift; exec \"$@\" --json >\"$file\"", "sh", file, Tool.keyfob([]).path] + command,
                environment: household.environment
            ).run()
            #expect((result.status == 1) == (code != nil), "\(command) \(result.error)")
            if let code {
                #expect(
                    result.error.contains("\"code\":\"\(code)\"")
                        && result.error.contains("standard output cannot be written"))
            }
        }
    }
}

import Foundation
import TestSupport
import Testing

/// Directories in which other users could exchange files.
@Suite struct UnsafeDirectoryTests {
    private func change(_ path: String, owner: uid_t? = nil, mode: mode_t = 0o755) throws {
        let isGiven = owner.map { unsafe chown(path, $0, gid_t.max) == 0 } ?? true
        let isSet = unsafe chmod(path, mode) == 0
        try #require(isGiven && isSet)
    }

    private static let directories = [
        ".config/keyfob", ".local/share/keyfob", ".local/share/keyfob/keychains", ".local/share/keyfob/keychains/login",
    ]

    @Test(arguments: directories)
    func `a directory that other users can write is refused with a remedy`(directory: String) throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        let path = household.directory.file("home/" + directory)
        for mode in [0o777, 0o770] as [mode_t] {
            try change(path, mode: mode)
            let result = try household.keyfob(["get", "a"])
            let octal = String(mode, radix: 8)
            #expect(result.status == 12 && result.output.isEmpty)
            #expect(
                result.error
                    == "keyfob: \(path) can be written by other users (mode 0\(octal)).\n    chmod 700 \(path)\n")
        }
        // Directories that other users can read are accepted, because they reveal no secret. Parent directories are not
        // checked.
        for mode in [0o755, 0o700] as [mode_t] {
            try change(path, mode: mode)
            #expect(try household.keyfob(["get", "a"]).output == "value\n")
        }
        try change(household.directory.file("home"), mode: 0o775)
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
    }

    @Test(.enabled(if: geteuid() == 0, "only root gives directories away"), arguments: directories)
    func `a directory of another user is refused`(directory: String) throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        let path = household.directory.file("home/" + directory)
        try change(path, owner: 65_533)
        let result = try household.keyfob(["get", "a"])
        #expect(result.status == 12)
        #expect(
            result.error == "keyfob: \(path) belongs to another user.\n    Use a directory of your own, mode 0700.\n")
        try change(path, owner: 0, mode: 0o700)
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
    }

    @Test(
        .enabled(if: geteuid() == 0, "only root becomes another user"),
        arguments: [
            ".local", ".local/share", ".local/share/keyfob", ".local/share/keyfob/keychains",
            ".local/share/keyfob/keychains/login", ".local/share/keyfob/keychains/login/vault.sqlite",
        ], ["get a", "ls", "key ls", "keychain check", "secret generate b"])
    func `missing permissions for the vault or its directories are reported as such`(
        place: String, command: String
    ) throws {
        let directory = try TemporaryDirectory()
        let home = directory.file("home")
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: false)
        try change(directory.path, mode: 0o711)
        try change(home, owner: 65_534, mode: 0o700)
        // Runs as another user, because root is not restricted by permissions.
        let script = """
            cd "$HOME"; unprivileged="setpriv --reuid 65534 --clear-groups $KEYFOB"
            { $unprivileged init --unattended && echo value | $unprivileged set a --stdin; } >/dev/null 2>&1 || exit 99
            chmod 000 \(place)
            $unprivileged \(command); status=$?
            chmod 700 \(place)
            [ "$($unprivileged get a)" = value ] || exit 98
            exit $status
            """
        let result = try Tool(
            "/bin/sh", ["-c", script],
            environment: [
                "KEYFOB": Tool.keyfob([]).path, "HOME": home, "XDG_RUNTIME_DIR": home, "KEYFOB_NO_INPUT": "1",
            ]
        ).run()
        #expect(result.status == 12, "\(result)")
        let text = result.output + result.error
        #expect(text.contains("Permission denied"), "\(text)")
        let blocked = place.replacing("/vault.sqlite", with: "")
        #expect(text.contains("ls -ld \(home)/\(blocked)"), "\(text)")
        for word in ["missing", "estore", ".old"] { #expect(!text.contains(word), "\(text)") }
    }
}

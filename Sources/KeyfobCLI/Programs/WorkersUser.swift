import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// The user of a server's workers if root starts the server, from the server's own configuration.
///
/// Root reads the configuration and the URI of the key, but the workers sign, so they must be able to read the token.
struct WorkersUser {
    let name: String

    /// The user of nginx's workers: the directive `user`, otherwise nginx's built-in default.
    static func ofNginx() -> WorkersUser {
        let name = value(
            of: #/^[ \t]*user[ \t]+([^ \t;]+)/#,
            in: ["/etc/nginx/nginx.conf", "/usr/local/nginx/conf/nginx.conf", "/usr/local/etc/nginx/nginx.conf"])
        return WorkersUser(name: name ?? "nobody")
    }

    /// The user of httpd's children: the directive `User`, which on Debian is a variable of `envvars`.
    static func ofHTTPD() -> WorkersUser {
        let name = value(
            of: #/^[ \t]*User[ \t]+([^ \t]+)/#,
            in: ["/etc/apache2/apache2.conf", "/etc/httpd/conf/httpd.conf", "/usr/local/apache2/conf/httpd.conf"])
        guard let name, name.hasPrefix("$") else { return WorkersUser(name: name ?? "daemon") }
        let variable = value(of: #/^[ \t]*(?:export[ \t]+)?APACHE_RUN_USER=([^ \t]+)/#, in: ["/etc/apache2/envvars"])
        return WorkersUser(name: variable ?? "www-data")
    }

    /// The pattern's first capture in the first readable file.
    private static func value(of pattern: Regex<(Substring, Substring)>, in paths: [String]) -> String? {
        for path in paths {
            // Files that do not exist or cannot be read are skipped.
            guard let bytes = FileManager.default.contents(atPath: path) else { continue }
            for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
                guard let match = line.firstMatch(of: pattern) else { continue }
                return match.1.trimmingCharacters(in: CharacterSet(charactersIn: "\"'"))
            }
            return nil
        }
        return nil
    }

    /// The error if the workers cannot read the token; `nil` if they can, or if that is unknown.
    ///
    /// It is known only if root runs this command, as for starting the server, and only for a token that Keyfob made.
    func obstacle(on use: TokenUse, program: String) -> KeychainError? {
        guard geteuid() == 0, let configuration = use.softHSMConfiguration else { return nil }
        let directory = URL(fileURLWithPath: configuration).deletingLastPathComponent().path
        // Any other status means that the test did not run, because setpriv(1) or the user does not exist.
        let unreadable: Int32 = 42
        let script = """
            exec 2>/dev/null; cd /; group=$(id -g "$0") || exit 1
            exec setpriv --reuid "$0" --regid "$group" --init-groups sh -c \
                'test -r "$0" && test -r "$1/tokens" && test -x "$1/tokens" || exit \(unreadable)' "$1" "$2"
            """
        guard let null = OpenFile(path: "/dev/null", flags: O_RDWR),
            // If the test cannot run, there is no error to report.
            var child = try? ChildProcess(
                ["/bin/sh", "-c", script, name, configuration, directory], input: null.descriptor,
                output: null.descriptor, inOwnGroup: false),
            child.exitStatus(by: .after(.seconds(10))) == unreadable
        else { return nil }
        return KeychainError(
            .refused,
            "\(program) cannot serve connections: its workers run as \(name), which cannot read the token in "
                + "\(directory).",
            hint: "Let \(name) own the keychain and renew, and root reload: README.md, \"Behind nginx and httpd\". "
                + "First step: runuser -u \(name) -- env HOME=/var/lib/keyfob keyfob init --unattended",
            details: ["user": name])
    }
}

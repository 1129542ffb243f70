import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// The user as whom a server's workers run when root starts it, by the server's own configuration.
///
/// Root reads the configuration and the key's URI, and the workers sign: they must be able to read the token.
struct WorkersUser {
    let name: String

    /// The user of nginx's workers: that of the directive `user`, else the one that nginx is built with.
    static func ofNginx() -> WorkersUser {
        let name = value(
            of: #/^[ \t]*user[ \t]+([^ \t;]+)/#,
            in: ["/etc/nginx/nginx.conf", "/usr/local/nginx/conf/nginx.conf", "/usr/local/etc/nginx/nginx.conf"])
        return WorkersUser(name: name ?? "nobody")
    }

    /// The user of httpd's children: that of the directive `User`, which on Debian is a variable of `envvars`.
    static func ofHTTPD() -> WorkersUser {
        let name = value(
            of: #/^[ \t]*User[ \t]+([^ \t]+)/#,
            in: ["/etc/apache2/apache2.conf", "/etc/httpd/conf/httpd.conf", "/usr/local/apache2/conf/httpd.conf"])
        guard let name, name.hasPrefix("$") else { return WorkersUser(name: name ?? "daemon") }
        let variable = value(of: #/^[ \t]*(?:export[ \t]+)?APACHE_RUN_USER=([^ \t]+)/#, in: ["/etc/apache2/envvars"])
        return WorkersUser(name: variable ?? "www-data")
    }

    /// What the pattern captures in the first file of those that are there.
    private static func value(of pattern: Regex<(Substring, Substring)>, in paths: [String]) -> String? {
        for path in paths {
            // One that is not there, or not readable, says nothing.
            guard let bytes = FileManager.default.contents(atPath: path) else { continue }
            for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
                guard let match = line.firstMatch(of: pattern) else { continue }
                return match.1.trimmingCharacters(in: CharacterSet(charactersIn: "\"'"))
            }
            return nil
        }
        return nil
    }

    /// Why the workers will not reach the token; `nil` where they will, or where that cannot be told.
    ///
    /// It can be told where root asks, who starts the server, and for a token that Keyfob made.
    func obstacle(on use: TokenUse, program: String) -> KeychainError? {
        guard geteuid() == 0, let configuration = use.softHSMConfiguration else { return nil }
        let directory = URL(fileURLWithPath: configuration).deletingLastPathComponent().path
        // Any other status says that it was not tried: setpriv(1) is not there, or there is no such user.
        let unreadable: Int32 = 42
        let script = """
            exec 2>/dev/null; cd /; group=$(id -g "$0") || exit 1
            exec setpriv --reuid "$0" --regid "$group" --init-groups sh -c \
                'test -r "$0" && test -r "$1/tokens" && test -x "$1/tokens" || exit \(unreadable)' "$1" "$2"
            """
        guard let null = OpenFile(path: "/dev/null", flags: O_RDWR),
            // Where it cannot be tried there is nothing to say.
            var child = try? ChildProcess(
                ["/bin/sh", "-c", script, name, configuration, directory], input: null.descriptor,
                output: null.descriptor, inOwnGroup: false),
            child.exitStatus(by: .after(.seconds(10))) == unreadable
        else { return nil }
        return KeychainError(
            .refused,
            "\(program) will serve no connection: its workers run as \(name), which cannot read the token in "
                + "\(directory).",
            hint: "Let \(name) own the keychain and renew, and root reload: README.md, \"Behind nginx and httpd\". "
                + "It begins with: runuser -u \(name) -- env HOME=/var/lib/keyfob keyfob init --unattended",
            details: ["user": name])
    }
}

package import Foundation
package import KeyfobPrimitives

/// One HTTP request, sent by the program `curl`.
///
/// A few requests do not justify linking a network stack, which would slow the start of each command. `curl` also
/// brings the proxies, protocols and security updates of the system. Callers send nothing secret: ACME messages are
/// signed, and their signatures are public.
package struct HTTPRequest {
    /// An HTTP response.
    package struct Response {
        package let status: Int
        /// Names in lower case.
        package let headers: [(name: String, value: String)]
        package let body: Data

        /// The first header of a name in lower case.
        package func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

        /// The target of a redirection.
        package var redirection: String? { [301, 302, 303, 307, 308].contains(status) ? header("location") : nil }
    }

    let method: String
    let url: String
    package var headers: [(name: String, value: String)] = []
    package var body: Data?
    /// A PEM file of authorities to trust instead of the system's.
    package var authorityFile: String?
    /// The remedy if the server's certificate is not trusted; `nil` for the remedy of other failures.
    package var remedyIfUntrusted: Remedy?
    /// Whether a request without TLS is allowed, and redirections are followed.
    let allowsPlain: Bool

    /// Creates a request without headers of its own and without a body.
    package init(_ method: String = "GET", url: String, allowsPlain: Bool = false) {
        self.method = method
        self.url = url
        self.allowsPlain = allowsPlain
    }

    private static let longestWait: Duration = .seconds(55)
    /// The time between curl's own timeout and killing it. curl should end by itself first and report the reason.
    private static let grace: Duration = .seconds(5)
    /// The largest answer, in bytes. Passed to curl, but before 8.4 curl ignores it for answers without a length.
    private static let limit = 4 << 20

    /// Sends the request. Blocks until the answer arrives, at most a minute.
    ///
    /// - Parameter deadline: An earlier limit for waiting.
    /// - Throws: `KeychainError`; `issuerFailed` if there is no answer, `timedOut`, `invalidArgument` for a URL of
    ///   another protocol.
    package func send(by deadline: Deadline = .never) throws -> Response {
        guard url.hasPrefix("https://") || (allowsPlain && url.hasPrefix("http://")), !url.contains(where: \.isNewline)
        else {
            throw KeychainError(
                .invalidArgument, "\"\(url)\" is not a URL of \(allowsPlain ? "HTTP" : "HTTPS").",
                details: ["url": url])
        }
        let time = min(deadline.remaining ?? Self.longestWait, Self.longestWait)
        // Rounded up, because 0 means no limit to curl.
        let milliseconds = Int(time / .milliseconds(1)) + 1
        let protocols = allowsPlain ? "=http,https" : "=https"
        var arguments = [
            // `--disable` comes first, so that the user's curl configuration does not change the request.
            "curl", "--disable", "--silent", "--show-error", "--stderr", "-", "--include",
            "--suppress-connect-headers", "--globoff", "--http1.1", "--max-time",
            String(Double(milliseconds) / 1000), "--max-filesize", String(Self.limit), "--proto", protocols,
            "--user-agent", "keyfob",
        ]
        if allowsPlain { arguments += ["--location", "--max-redirs", "3", "--proto-redir", protocols] }
        if let authorityFile { arguments += ["--cacert", authorityFile] }
        for header in headers { arguments += ["--header", "\(header.name): \(header.value)"] }
        if method == "HEAD" { arguments.append("--head") }
        if body != nil { arguments += ["--request", method, "--header", "Expect:", "--data-binary", "@-"] }
        let result: ProgramRun.Result
        do {
            result = try ProgramRun.run(
                arguments + ["--url", url], input: body ?? Data(), limit: Self.limit,
                deadline: .after(time + Self.grace))
        } catch let error as KeychainError where error.code == .dataTooLarge {
            throw unreachable(Self.tooLarge)
        } catch let error as KeychainError where error.code == .fileUnavailable {
            throw KeychainError(
                .issuerFailed, "curl, which is needed for this, cannot be started.",
                hint: "Install it: apt install curl",
                cause: error)
        }
        guard result.status == 0 else { throw unreachable(result.status, output: result.output) }
        return try Self.parse(result.output)
    }

    /// curl's exit code for an answer above `--max-filesize`.
    private static let tooLarge: Int32 = 63

    /// - Parameter output: The output of curl, which ends with its error message. It is captured to keep it out of our
    ///   standard error.
    private func unreachable(_ status: Int32, output: Data = Data()) -> KeychainError {
        let mark = "curl: (\(status)) "
        let last = String(decoding: output.suffix(1024), as: UTF8.self).split(whereSeparator: \.isNewline).last
        let own = last?.range(of: mark).map { String(last?[$0.upperBound...] ?? "") }
        // Exit codes of curl(1) that the user can act on.
        let reason = switch status {
        case 5, 6: "its name cannot be resolved"
        case 7: "no server answers there"
        case 28: "it takes too long"
        case 35, 58, 59: "the TLS connection fails"
        case 60, 77: "its certificate is not trusted"
        case Self.tooLarge: "it sends more than \(Self.limit >> 20) MiB"
        default: own ?? "curl ended with status \(status)"
        }
        let host = URLComponents(string: url)?.host ?? url
        return KeychainError(
            .issuerFailed, "\(host) cannot be reached: \(reason).",
            remedies: [
                ([60, 77].contains(status) ? remedyIfUntrusted : nil)
                    ?? Remedy("Try it by hand: curl -v \(ShellWord.quoted(url))")
            ],
            details: ["url": url, "curl": String(status)])
    }

    /// Parses the final response, after interim responses and redirections.
    private static func parse(_ data: Data) throws -> Response {
        var rest = data[...]
        while true {
            guard let end = rest.firstRange(of: Data("\r\n\r\n".utf8)) else { break }
            let lines = String(decoding: rest[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
            let words = lines.first?.split(separator: " ") ?? []
            guard words.count >= 2, words[0].hasPrefix("HTTP/"), let status = Int(words[1]) else { break }
            rest = rest[end.upperBound...]
            let headers = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
                guard let colon = line.firstIndex(of: ":") else { return nil }
                let value = line[line.index(after: colon)...].drop { $0 == " " }
                return (line[..<colon].lowercased(), String(value))
            }
            let isRedirected = (300..<400).contains(status) && rest.starts(with: Data("HTTP/".utf8))
            let isInterim = (100..<200).contains(status) || isRedirected
            if !isInterim { return Response(status: status, headers: headers, body: Data(rest)) }
        }
        throw KeychainError(.issuerFailed, "the server's answer is not HTTP.")
    }
}

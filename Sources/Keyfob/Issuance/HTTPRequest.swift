import Foundation
import KeyfobPrimitives

/// One request over HTTP, by the program `curl`.
///
/// The few requests of ACME do not justify a network stack in every process: linking one costs each command its
/// start, and `curl` brings the proxies, the protocols and the security updates of the system along. Nothing secret
/// is sent: what ACME transmits is signed, and its signatures are public.
struct HTTPRequest {
    /// What came back.
    struct Response {
        let status: Int
        /// Names in lower case.
        let headers: [(name: String, value: String)]
        let body: Data

        /// The first header of a name in lower case.
        func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

        /// Where it refers to.
        var redirection: String? { [301, 302, 303, 307, 308].contains(status) ? header("location") : nil }
    }

    var method = "GET"
    var url: String
    var headers: [(name: String, value: String)] = []
    var body: Data?
    /// A PEM file of authorities to trust instead of the system's.
    var authorityFile: String?
    /// Whether a request without TLS is allowed, and redirections are followed.
    var allowsPlain = false

    private static let patience: Duration = .seconds(55)
    /// How much later curl is killed, which should have ended by itself, and says why.
    private static let grace: Duration = .seconds(5)
    /// The largest answer, in bytes. Told to curl, which before 8.4 does not look where no length was announced.
    private static let limit = 4 << 20

    /// Sends the request. Blocks until the answer is there, at most a minute.
    ///
    /// - Parameter deadline: When an answer is waited for no longer, where that is earlier.
    /// - Throws: `KeychainError`; `issuerFailed` where there is no answer, `timedOut`, `invalidArgument` for a URL of
    ///   another protocol.
    func send(by deadline: Deadline = .never) throws -> Response {
        guard url.hasPrefix("https://") || (allowsPlain && url.hasPrefix("http://")), !url.contains(where: \.isNewline)
        else {
            throw KeychainError(
                .invalidArgument, "\"\(url)\" is no URL of \(allowsPlain ? "HTTP" : "HTTPS").", details: ["url": url])
        }
        let time = min(deadline.remaining ?? Self.patience, Self.patience)
        // Rounded up: for curl, 0 means no limit.
        let milliseconds = Int(time / .milliseconds(1)) + 1
        let protocols = allowsPlain ? "=http,https" : "=https"
        var arguments = [
            // First, so that no configuration of the user's changes what is sent.
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

    /// curl's own number for an answer above `--max-filesize`.
    private static let tooLarge: Int32 = 63

    /// - Parameter output: What curl wrote, its own message last: on our standard error it would stand among ours.
    private func unreachable(_ status: Int32, output: Data = Data()) -> KeychainError {
        let mark = "curl: (\(status)) "
        let last = String(decoding: output.suffix(1024), as: UTF8.self).split(whereSeparator: \.isNewline).last
        let own = last?.range(of: mark).map { String(last?[$0.upperBound...] ?? "") }
        // The numbers of curl(1) that have something to be done about.
        let reason = switch status {
        case 5, 6: "its name cannot be resolved"
        case 7: "nobody answers there"
        case 28: "it takes too long"
        case 35, 58, 59: "the TLS connection fails"
        case 60, 77: "its certificate is not trusted"
        case Self.tooLarge: "it sends more than \(Self.limit >> 20) MiB"
        default: own ?? "curl ended with status \(status)"
        }
        let host = URLComponents(string: url)?.host ?? url
        return KeychainError(
            .issuerFailed, "\(host) cannot be reached: \(reason).",
            hint: [60, 77].contains(status)
                ? "If it is an authority of your own, name its root: --acme-ca FILE"
                : "Try it by hand: curl -v \(ShellWord.quoted(url))",
            details: ["url": url, "curl": String(status)])
    }

    /// Reads the answer behind interim ones and redirections.
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

import Foundation
import Keyfob
import KeyfobOpenSSL

/// A host that a certificate can name: a DNS name or an IP address.
///
/// A URL or a host with a port is refused, because no certificate would ever match it.
struct HostName {
    /// The name or address.
    let text: String

    /// Checks the argument.
    ///
    /// - Throws: `UsageError` if it is not a host.
    init(_ argument: String) throws {
        // Brackets are part of URL syntax (RFC 3986 3.2.2).
        let isBracketed = argument.hasPrefix("[") && argument.hasSuffix("]")
        let host = isBracketed ? String(argument.dropFirst().dropLast()) : argument
        if let reason = Self.obstacle(in: host) {
            throw UsageError(
                "\"\(TerminalSafe.text(argument))\" \(reason).",
                hint: Self.host(in: argument).map { "Only the host: \(ShellWord.option("--host", $0))" }
                    ?? "A host is a name or an address: --host www.example.org, --host 192.0.2.1, --host 2001:db8::1")
        }
        text = host
    }

    /// The reason why a text is not a host, or `nil` if it is one.
    private static func obstacle(in host: String) -> String? {
        if Certificate.isAddress(host) { return nil }
        if host.contains("://") || host.contains("/") { return "is a URL" }
        if host.contains("%") { return "has a zone, which certificates cannot have" }
        if host.contains(":") { return self.host(in: host) == nil ? "is not an IPv6 address" : "has a port" }
        if host.contains(where: { $0.isWhitespace || $0 == "@" }) { return "is not a host" }
        let isNumeric = host.allSatisfy { $0 == "." || ($0.isASCII && $0.isNumber) }
        return isNumeric ? "is not an IPv4 address" : nil
    }

    /// The host in a URL, before a port, or before an IPv6 zone.
    private static func host(in text: String) -> String? {
        var rest = text[...]
        if let scheme = rest.firstRange(of: "://") { rest = rest[scheme.upperBound...] }
        rest = rest.prefix { $0 != "/" }
        if let user = rest.lastIndex(of: "@") { rest = rest[rest.index(after: user)...] }
        if rest.first == "[" {
            rest = rest.dropFirst().prefix { $0 != "]" }
        } else if rest.count(where: { $0 == ":" }) == 1 {
            rest = rest.prefix { $0 != ":" }
        }
        rest = rest.prefix { $0 != "%" }
        let host = String(rest)
        return host != text && !host.isEmpty && obstacle(in: host) == nil ? host : nil
    }
}

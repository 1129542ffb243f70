/// The place where a credential is used: protocol, server, port and path of an internet password.
///
/// Two addresses of the same place are equal. The letter case of scheme and server, the usual port of the scheme, and a
/// slash at the beginning of the path make no difference.
package struct CredentialAddress: Hashable, Sendable {
    /// The URL scheme, in lower case.
    package let scheme: String
    /// The host name or address, in lower case; an IPv6 address is in brackets. Empty for a local file.
    package let server: String
    /// The port; `nil` for the usual one of the scheme.
    package let port: Int?
    /// The path, without a slash at its beginning; empty for the whole server.
    package let path: String

    /// Creates an address from the parts of a URL.
    ///
    /// - Parameters:
    ///   - host: The host name or address, with `:PORT` if it is not the usual port.
    ///   - path: The path, with or without a slash at its beginning.
    /// - Throws: `invalidArgument` if a part cannot be part of a URL, also for control characters, which could end a
    ///   line of a protocol.
    package init(scheme: String, host: String, path: String = "") throws(KeychainError) {
        let (server, port) = try Self.parts(of: host)
        try self.init(scheme: scheme, server: server, port: port, path: path)
    }

    /// Creates an address from a URL, or from a host name with an optional port and path.
    ///
    /// A user name in the URL is ignored.
    ///
    /// - Parameter usualScheme: The scheme of an address that has none.
    /// - Throws: `invalidArgument` if it is not an address.
    package init(url: String, usualScheme: String = "https") throws(KeychainError) {
        let end = url.firstRange(of: "://")
        let rest = end.map { url[$0.upperBound...] } ?? url[...]
        // By scalars, because a slash with a combining mark is another character and still ends the host. Clients
        // disagree whether `?`, `#` and a backslash end it, so a URL with these could get the password of another host.
        let slash = rest.unicodeScalars.firstIndex { ["/", "?", "#", "\\"].contains($0) } ?? rest.endIndex
        guard slash == rest.endIndex || rest.unicodeScalars[slash] == "/" else { throw Self.invalid("host") }
        let authority = rest.unicodeScalars[..<slash]
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        try self.init(
            scheme: end.map { String(url[..<$0.lowerBound]) } ?? usualScheme, host: String(host),
            path: String(rest[slash...]))
    }

    /// The address of a stored password; `nil` if it has no protocol, or a part that cannot be part of a URL.
    package init?(of password: InternetPassword) {
        guard let known = password.protocol else { return nil }
        let scheme = known.scheme ?? known.rawValue.trimmingBlanks
        let port = password.port.flatMap { $0 == 0 ? nil : $0 }
        // A password that another program stored may have any attributes; one without an address matches no request.
        guard let address = try? Self(scheme: scheme, server: password.server, port: port, path: password.path) else {
            return nil
        }
        self = address
    }

    private init(scheme: String, server: String, port: Int?, path: String) throws(KeychainError) {
        let scheme = scheme.lowercased()
        let letters = scheme.utf8
        guard let first = letters.first, UInt8(ascii: "a")...UInt8(ascii: "z") ~= first,
            letters.allSatisfy({ Self.schemeLetters.contains($0) })
        else { throw Self.invalid("protocol") }
        guard server.unicodeScalars.allSatisfy({ !Self.endsHost($0) }) else { throw Self.invalid("host") }
        guard path.unicodeScalars.allSatisfy({ !Self.isControl($0) }) else { throw Self.invalid("path") }
        self.scheme = scheme
        self.server = server.lowercased()
        self.port = port == Self.usualPorts[scheme] ? nil : port
        self.path = String(path.drop { $0 == "/" })
        guard !server.isEmpty || !self.path.isEmpty else { throw Self.invalid("host") }
    }

    /// The protocol as an attribute.
    package var `protocol`: InternetProtocol { InternetProtocol(scheme: scheme) ?? InternetProtocol(rawValue: scheme) }

    /// Server and port, as in a URL.
    package var host: String { server + (port.map { ":\($0)" } ?? "") }

    /// The address as a URL.
    package var url: String { "\(scheme)://\(host)" + (path.isEmpty ? "" : "/" + path) }

    /// Whether both are on the same server: equal but for the path.
    package func sharesServer(with other: Self) -> Bool {
        scheme == other.scheme && server == other.server && port == other.port
    }

    /// Whether the path is that of `other` or a folder above it.
    package func isAtOrAbove(_ other: Self) -> Bool {
        guard sharesServer(with: other), other.path.hasPrefix(path) else { return false }
        let rest = other.path.utf8.dropFirst(path.utf8.count)
        return path.isEmpty || path.hasSuffix("/") || rest.isEmpty || rest.first == UInt8(ascii: "/")
    }

    private static let usualPorts = ["http": 80, "https": 443, "ftp": 21, "ftps": 990, "ssh": 22]
    private static let schemeLetters = Set("abcdefghijklmnopqrstuvwxyz0123456789+-.".utf8)

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool { scalar.value < 0x20 || scalar.value == 0x7F }

    /// Whether a character ends the host in a URL, or cannot be in one.
    private static func endsHost(_ scalar: Unicode.Scalar) -> Bool {
        isControl(scalar) || [" ", "/", "?", "#", "@", "\\"].contains(scalar)
    }

    /// Splits `HOST:PORT`.
    private static func parts(of host: String) throws(KeychainError) -> (server: String, port: Int?) {
        // Inside brackets are the colons of an IPv6 address.
        let start = host.lastIndex(of: "]") ?? host.startIndex
        guard let colon = host[start...].lastIndex(of: ":") else { return (host, nil) }
        let digits = host[host.index(after: colon)...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let port = Int(digits),
            1...65535 ~= port
        else { throw invalid("port") }
        return (String(host[..<colon]), port)
    }

    /// The text never repeats the part, which may contain anything.
    private static func invalid(_ part: String) -> KeychainError {
        KeychainError(
            .invalidArgument, "the \(part) of the credential's address is missing or not valid; nothing was changed.")
    }
}

/// A secret for an account on a server; `kSecClassInternetPassword`.
///
/// The primary key is account, server, protocol, port, path, security domain and authentication type.
public struct InternetPassword: PasswordItem {
    /// `inet`.
    public static var itemClass: ItemClass { .internetPassword }
    /// The underlying item.
    public var item: Item

    /// Wraps an item of this class.
    public init(item: Item) { self.item = item }

    /// Creates a password that is not stored yet. The default label is the server.
    public init(
        server: String, account: String = "", protocol: InternetProtocol? = nil, port: Int? = nil, path: String = "",
        label: String? = nil
    ) {
        item = Item(.internetPassword)
        self.server = server
        self.account = account
        self.protocol = `protocol`
        self.port = port
        self.path = path
        self.label = label ?? server
    }

    /// The host name or address; `kSecAttrServer`.
    public var server: String {
        get { attributes[.server]?.text ?? "" }
        set { attributes[.server] = .string(newValue) }
    }

    /// The account; `kSecAttrAccount`.
    public var account: String {
        get { attributes[.account]?.text ?? "" }
        set { attributes[.account] = .string(newValue) }
    }

    /// The protocol; `kSecAttrProtocol`.
    public var `protocol`: InternetProtocol? {
        get { attributes[.protocol]?.text.map { InternetProtocol(rawValue: $0) } }
        set { attributes[.protocol] = newValue.map { .string($0.rawValue) } }
    }

    /// The port; `kSecAttrPort`.
    public var port: Int? {
        get { attributes[.port]?.number.flatMap { Int(exactly: $0) } }
        set { attributes[.port] = newValue.map { .number(Int64($0)) } }
    }

    /// The path; `kSecAttrPath`.
    public var path: String {
        get { attributes[.path]?.text ?? "" }
        set { attributes[.path] = .string(newValue) }
    }

    /// The security domain; `kSecAttrSecurityDomain`.
    public var securityDomain: String? {
        get { attributes[.securityDomain]?.text }
        set { attributes[.securityDomain] = newValue.map { .string($0) } }
    }
}

/// The protocol of an internet password: Apple's four-character value of `kSecAttrProtocol…`.
public struct InternetProtocol: RawRepresentable, Hashable, Sendable {
    /// The four characters; some values end in a space.
    public let rawValue: String

    /// Creates a protocol from its four characters.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// HTTP.
    public static let http = Self(rawValue: "http")
    /// HTTP over TLS.
    public static let https = Self(rawValue: "htps")
    /// FTP.
    public static let ftp = Self(rawValue: "ftp ")
    /// FTP over TLS.
    public static let ftps = Self(rawValue: "ftps")
    /// Secure Shell.
    public static let ssh = Self(rawValue: "ssh ")
    /// IMAP.
    public static let imap = Self(rawValue: "imap")
    /// IMAP over TLS.
    public static let imaps = Self(rawValue: "imps")
    /// SMTP.
    public static let smtp = Self(rawValue: "smtp")
    /// POP3.
    public static let pop3 = Self(rawValue: "pop3")
    /// POP3 over TLS.
    public static let pop3s = Self(rawValue: "pops")
    /// LDAP.
    public static let ldap = Self(rawValue: "ldap")
    /// LDAP over TLS.
    public static let ldaps = Self(rawValue: "ldps")
    /// SMB.
    public static let smb = Self(rawValue: "smb ")

    /// The protocol of a URL scheme; fails if Apple has no value for it.
    public init?(scheme: String) {
        guard let found = Self.schemes[scheme.lowercased()] else { return nil }
        self = found
    }

    /// The URL scheme of the protocol; `nil` if it has none.
    public var scheme: String? { Self.schemes.first { $0.value == self }?.key }

    /// The URL schemes that have a protocol, sorted.
    package static let knownSchemes = schemes.keys.sorted()

    private static let schemes: [String: InternetProtocol] = [
        "http": .http, "https": .https, "ftp": .ftp, "ftps": .ftps, "ssh": .ssh, "imap": .imap, "imaps": .imaps,
        "smtp": .smtp, "pop3": .pop3, "pop3s": .pop3s, "ldap": .ldap, "ldaps": .ldaps, "smb": .smb,
    ]
}

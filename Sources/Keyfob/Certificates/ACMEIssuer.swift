import Foundation

/// An authority that speaks ACME (RFC 8555), such as Let's Encrypt.
public struct ACMEIssuer: Sendable {
    /// Where the authority is and how it can see that a host is ours; kept with the identity.
    public struct Settings: Codable, Hashable, Sendable {
        /// The directory's URL.
        public var directory: String
        /// E-mail addresses by which the authority may reach the owner.
        public var contacts: [String]
        /// Whether the owner agrees to the authority's terms of service.
        public var agreesToTerms: Bool
        /// The document root of a web server of the host, below which answers to HTTP-01 challenges are written.
        public var webRoot: String
        /// A PEM file of authorities whom to trust with the directory itself; `nil` for the system's.
        public var authorityFile: String?

        /// Settings.
        public init(
            directory: String, contacts: [String] = [], agreesToTerms: Bool = false, webRoot: String,
            authorityFile: String? = nil
        ) {
            self.directory = directory
            self.contacts = contacts
            self.agreesToTerms = agreesToTerms
            self.webRoot = webRoot
            self.authorityFile = authorityFile
        }

        /// Host and port of the directory.
        public var host: String {
            let components = URLComponents(string: directory)
            let host = components?.host ?? directory
            return components?.port.map { "\(host):\($0)" } ?? host
        }
    }
}

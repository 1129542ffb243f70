import COpenSSL
import Foundation

extension Certificate {
    /// Whether subject and issuer are the same name.
    public var isSelfIssued: Bool { subject == issuer || subject.canonical == issuer.canonical }

    /// Whether it is self-issued and its own key verifies its signature.
    public var isSelfSigned: Bool { isSelfIssued && hasSignature(of: self) }

    /// Whether `issuer` signed this: names, authority key identifier and key usage fit (X509_check_issued(3)), and the
    /// signature verifies. Says nothing about validity or trust. Never for a certificate that libcrypto cannot read.
    public func isIssued(by issuer: Certificate) -> Bool {
        guard let handle = usableHandle, let above = issuer.usableHandle else { return false }
        let fits = unsafe handle.withPointer { subject in
            unsafe above.withPointer { unsafe X509_check_issued($0, subject) }
        }
        ERR_clear_error()
        return fits == X509_V_OK && hasSignature(of: issuer)
    }

    /// Whether the certificate is for `host`: a DNS name or an IP address in text (RFC 6125).
    ///
    /// A name may have letters of its language. Wildcards stand for one whole label. The common name does not count, as
    /// in today's clients (RFC 9525 6.3). A certificate that libcrypto cannot read is for no host.
    public func matches(host: String) -> Bool {
        let name = Self.asciiName(ofHost: host)
        // A name with a dot in front libcrypto takes for any name below it.
        guard !name.isEmpty, !name.hasPrefix("."), !name.utf8.contains(0), let handle = usableHandle else {
            return false
        }
        return unsafe handle.withPointer { certificate in
            let isAddress = unsafe X509_check_ip_asc(certificate, name, 0)
            // -2: the text is no address, so it is a name.
            let result = isAddress == -2
                ? unsafe X509_check_host(certificate, name, 0, Self.hostFlags, nil)
                : isAddress
            ERR_clear_error()
            return result == 1
        }
    }

    /// Whether `host` is an IP address in text rather than a name.
    package static func isAddress(_ host: String) -> Bool {
        var octets = in6_addr()
        return unsafe inet_pton(AF_INET, host, &octets) == 1 || inet_pton(AF_INET6, host, &octets) == 1
    }

    /// A host's name as certificates have it: without the dot of the root, labels of other letters as Punycode (RFC
    /// 5890 2.3.2.1).
    package static func asciiName(ofHost host: String) -> String {
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        guard !name.utf8.allSatisfy({ $0 < 0x80 }) else { return name }
        var components = URLComponents()
        components.host = name
        // What is no name at all is escaped for a URL, and fits no certificate either way.
        guard let encoded = components.encodedHost, !encoded.contains("%") else { return name }
        return encoded
    }

    static let hostFlags = UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT)

    /// Whether the key of `issuer` verifies the signature, whatever the names are.
    func hasSignature(of issuer: Certificate) -> Bool {
        guard let handle = usableHandle, let key = issuer.publicKey.usableHandle else { return false }
        let result = unsafe handle.withPointer { certificate in
            unsafe key.withPointer { unsafe X509_verify(certificate, $0) }
        }
        ERR_clear_error()
        return result == 1
    }

    /// The X509; `nil` when libcrypto cannot read it.
    var usableHandle: OwnedPointer? {
        do {
            return try handle.owner()
        } catch {
            return nil
        }
    }
}

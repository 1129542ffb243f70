import COpenSSL
import Foundation

extension Certificate {
    /// Whether subject and issuer are the same name.
    public var isSelfIssued: Bool { subject == issuer || subject.canonical == issuer.canonical }

    /// Whether the certificate is self-issued and its own key verifies its signature.
    public var isSelfSigned: Bool { isSelfIssued && hasSignature(of: self) }

    /// Whether `issuer` signed this certificate.
    ///
    /// Names, authority key identifier and key usage must match (X509_check_issued(3)), and the signature must verify.
    /// Validity and trust are not checked. The result is `false` for a certificate that libcrypto cannot read.
    public func isIssued(by issuer: Certificate) -> Bool {
        guard let handle = usableHandle, let above = issuer.usableHandle else { return false }
        let fits = unsafe handle.withPointer { subject in
            unsafe above.withPointer { unsafe X509_check_issued($0, subject) }
        }
        ERR_clear_error()
        return fits == X509_V_OK && hasSignature(of: issuer)
    }

    /// Whether the certificate is for `host`, a DNS name or an IP address in text (RFC 6125).
    ///
    /// A name may have non-ASCII labels. A wildcard stands for one whole label. The common name is ignored (RFC 9525
    /// section 6.3). The result is `false` for a certificate that libcrypto cannot read.
    public func matches(host: String) -> Bool {
        let name = Self.asciiName(ofHost: host)
        // libcrypto treats a name with a leading dot as any name below it.
        guard !name.isEmpty, !name.hasPrefix("."), !name.utf8.contains(0), let handle = usableHandle else {
            return false
        }
        return unsafe handle.withPointer { certificate in
            let isAddress = unsafe X509_check_ip_asc(certificate, name, 0)
            // -2 means that the text is not an address, so it is a name.
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

    /// Returns a host name in the form of certificates: without a trailing dot, and non-ASCII labels as Punycode (RFC
    /// 5890 section 2.3.2.1).
    package static func asciiName(ofHost host: String) -> String {
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        guard !name.utf8.allSatisfy({ $0 < 0x80 }) else { return name }
        var components = URLComponents()
        components.host = name
        // Text that is not a host name is percent-encoded for a URL; it matches no certificate either way.
        guard let encoded = components.encodedHost, !encoded.contains("%") else { return name }
        return encoded
    }

    static let hostFlags = UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT)

    /// Whether the key of `issuer` verifies the signature, regardless of names.
    func hasSignature(of issuer: Certificate) -> Bool {
        guard let handle = usableHandle, let key = issuer.publicKey.usableHandle else { return false }
        let result = unsafe handle.withPointer { certificate in
            unsafe key.withPointer { unsafe X509_verify(certificate, $0) }
        }
        ERR_clear_error()
        return result == 1
    }

    /// The X509; `nil` if libcrypto cannot read it.
    var usableHandle: OwnedPointer? {
        do {
            return try handle.owner()
        } catch {
            return nil
        }
    }
}

import OpenSSL

/// What a request to an authority that speaks ACME may name: what is ordered, and nothing else (RFC 8555 7.4).
///
/// The authority takes a common name for one more host, and refuses a request that names another set than the order
/// when all challenges are done: the order is lost then, and so is the next one.
extension ACMEIssuer {
    /// What an order for these names lists.
    ///
    /// - Throws: `KeychainError` with code `invalidArgument` for a name of a kind that ACME has no challenge for, and
    ///   where there is none at all.
    static func identifiers(of names: [GeneralName]) throws -> [[String: String]] {
        let identifiers = try names.map { name -> [String: String] in
            guard let identifier = name.identifier else {
                throw KeychainError(
                    .invalidArgument,
                    "an ACME authority cannot prove \"\(name)\": it certifies host names and addresses alone.",
                    hint: "Another issuer may certify it, such as --issuer exec:COMMAND. Or make an identity for ACME "
                        + "without it.",
                    details: ["name": name.description])
            }
            return identifier
        }
        guard !identifiers.isEmpty else {
            throw KeychainError(
                .invalidArgument, "ACME certifies host names and addresses, and there is none.",
                hint: "--dns and --ip name them when an identity is made; a common name alone is none of them.")
        }
        // Names are the same in any case, and an order names each once.
        return identifiers.reduce(into: [[String: String]]()) { if !$0.contains($1) { $0.append($1) } }
    }

    /// The subject of a request for these names: the common name that is wished for where it is one of the hosts, else
    /// an empty one. The authority chooses the subject, whatever is asked for.
    ///
    /// - Parameter isAskedFor: Whether somebody asks for the subject; else it is that of the certificate before.
    /// - Throws: `KeychainError` with code `invalidArgument` for a common name that is asked for and is none of the
    ///   names, and as `identifiers(of:)`.
    static func subject(
        _ wished: DistinguishedName, for names: [GeneralName], isAskedFor: Bool
    ) throws -> DistinguishedName {
        let ordered = try Self.identifiers(of: names)
        guard let name = wished.commonName else { return try .empty }
        // As it stands there: an address, or letters of a language, would be another host than the one that is ordered.
        let isHost = GeneralName.dns(name).identifier.map { ordered.contains($0) } ?? false
        // RFC 5280 A.1: ub-common-name.
        if isHost, name.utf8.count <= 64 { return try DistinguishedName(commonName: name) }
        let named = GeneralName(host: name)?.identifier
        let isNamed = named.map { ordered.contains($0) } ?? false
        guard isHost || isNamed || !isAskedFor else {
            throw KeychainError(
                .invalidArgument,
                "the common name \"\(name)\" is none of the names to certify, and ACME certifies nothing else.",
                hint: "Leave --cn away, or CN of --subject: the authority chooses the subject itself. Or name it with "
                    + "--dns or --ip too.",
                details: ["common_name": name])
        }
        return try .empty
    }
}

extension IssuerDescription {
    /// The subject of a request to the issuer, for one that is wished for.
    ///
    /// Before a key is made and anything is ordered: what the issuer refuses in the end is refused here.
    ///
    /// - Parameter isAskedFor: Whether somebody asks for the subject; else it is that of the certificate before.
    /// - Throws: `KeychainError` with code `invalidArgument` for what the issuer does not certify.
    func requestedSubject(
        _ wished: DistinguishedName, for names: [GeneralName], isAskedFor: Bool
    ) throws -> DistinguishedName {
        guard case .acme = self else { return wished }
        return try ACMEIssuer.subject(wished, for: names, isAskedFor: isAskedFor)
    }
}

extension GeneralName {
    /// The name as an order lists it (RFC 8555 7.1.3, RFC 8738); `nil` for kinds that ACME has no challenge for.
    fileprivate var identifier: [String: String]? {
        if case .dns(let host) = self { return ["type": "dns", "value": host.lowercased()] }
        return ipText.map { ["type": "ip", "value": $0] }
    }
}

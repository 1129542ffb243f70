import Keyfob
public import KeyfobOpenSSL

/// The contents of a request to an ACME authority: the ordered names and nothing else (RFC 8555 7.4).
///
/// The authority treats a common name as one more host. It refuses a request whose names differ from the order, after
/// all challenges are done. The order is then lost, and so is the next one.
extension ACMEIssuer {
    /// The identifiers that an order for these names lists.
    ///
    /// - Throws: `KeychainError` with code `invalidArgument` for a kind of name that has no ACME challenge, and if
    ///   there are no names.
    static func identifiers(of names: [GeneralName]) throws -> [[String: String]] {
        let identifiers = try names.map { name -> [String: String] in
            guard let identifier = name.identifier else {
                throw KeychainError(
                    .invalidArgument,
                    "an ACME authority cannot prove \"\(name)\": it certifies host names and addresses alone.",
                    remedies: [
                        Remedy("Another issuer may certify it, such as", .change(.issuer("exec:COMMAND"))),
                        "Or make an identity for ACME without it.",
                    ],
                    details: ["name": name.description])
            }
            return identifier
        }
        guard !identifiers.isEmpty else {
            throw KeychainError(
                .invalidArgument, "ACME certifies host names and addresses, and there is none.",
                remedies: [
                    Remedy(
                        "Name them when the identity is made; a common name is not enough", .change(.alternativeNames))
                ])
        }
        // Names are case-insensitive, and an order lists each name once.
        return identifiers.reduce(into: [[String: String]]()) { if !$0.contains($1) { $0.append($1) } }
    }

    /// The subject of a request for these names.
    ///
    /// It is the wanted common name if that is one of the ordered hosts, else it is empty. The authority chooses the
    /// subject in either case.
    ///
    /// - Parameters:
    ///   - wanted: The subject that the caller asked for, or that of the certificate being renewed.
    ///   - names: The alternative names of the request.
    ///   - isAskedFor: Whether the caller asked for the subject; false for a renewal.
    /// - Throws: `KeychainError` with code `invalidArgument` if the caller asked for a common name that is not one of
    ///   the names, for a kind of name that has no ACME challenge, and if there are no names.
    public func requestedSubject(
        _ wanted: DistinguishedName, for names: [GeneralName], isAskedFor: Bool
    ) throws -> DistinguishedName {
        let ordered = try Self.identifiers(of: names)
        guard let name = wanted.commonName else { return try .empty }
        // Compared as spelled: converting an address or international letters would give another host than the ordered
        // one.
        let isHost = GeneralName.dns(name).identifier.map { ordered.contains($0) } ?? false
        // RFC 5280 A.1: ub-common-name.
        if isHost, name.utf8.count <= 64 { return try DistinguishedName(commonName: name) }
        let named = GeneralName(host: name)?.identifier
        let isNamed = named.map { ordered.contains($0) } ?? false
        guard isHost || isNamed || !isAskedFor else {
            throw KeychainError(
                .invalidArgument,
                "the common name \"\(name)\" is none of the names to certify, and ACME certifies nothing else.",
                remedies: [
                    Remedy("The authority chooses the subject itself", .change(.noCommonName)),
                    Remedy("Or name it as a host or an address too", .change(.alternativeNames)),
                ],
                details: ["common_name": name])
        }
        return try .empty
    }
}

extension GeneralName {
    /// The name as an order lists it (RFC 8555 7.1.3, RFC 8738); `nil` for kinds that ACME has no challenge for.
    fileprivate var identifier: [String: String]? {
        if case .dns(let host) = self { return ["type": "dns", "value": host.lowercased()] }
        return ipText.map { ["type": "ip", "value": $0] }
    }
}

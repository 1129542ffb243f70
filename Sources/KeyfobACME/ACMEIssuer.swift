import Foundation
public import Keyfob
import KeyfobOpenSSL
public import KeyfobPrimitives

/// An authority that speaks ACME (RFC 8555), such as Let's Encrypt.
///
/// ```swift
/// import Keyfob
/// import KeyfobACME
///
/// let issuer = try ACMEIssuer(
///     .init(directory: "https://acme-v02.api.letsencrypt.org/directory", agreesToTerms: true, listener: "80"),
///     keychain: keychain)
/// let web = try keychain.identities.create("web", specification, issuer: issuer).identity
/// ```
///
/// Host names and addresses (RFC 8738) are proved by HTTP-01 challenges (RFC 8555 8.3) or by TLS-ALPN-01 challenges
/// (RFC 8737). A web server of the host answers HTTP-01 from a directory, or the issuer itself listens at a port. Host
/// names and wildcards can also be proved by DNS-01 (RFC 8555 8.4), with a command that makes the record.
///
/// The account key is on the token, like every private key of Keyfob: P-256, with the label `acme account HOST`. A key
/// file would be one more secret to protect, and the holder of the account can revoke its certificates. The key and the
/// account are made at the first order.
public struct ACMEIssuer: CertificateIssuer {
    /// How to reach the authority and how to prove control of a host; stored with the identity.
    public struct Settings: Codable, Hashable, Sendable {
        /// The directory's URL.
        public var directory: String
        /// E-mail addresses by which the authority may reach the owner.
        public var contacts: [String]
        /// Whether the owner agrees to the authority's terms of service.
        public var agreesToTerms: Bool
        /// The document root of a web server of the host, below which answers to HTTP-01 challenges are written.
        public var webRoot: String?
        /// The address for answers to HTTP-01 challenges without a web server: `PORT`, `ADDRESS:PORT` or
        /// `[ADDRESS]:PORT`.
        public var listener: String?
        /// The address for answers to TLS-ALPN-01 challenges: `PORT`, `ADDRESS:PORT` or `[ADDRESS]:PORT`.
        public var tlsListener: String?
        /// A program with its arguments that makes and removes the TXT records of DNS-01 challenges.
        ///
        /// It gets three more arguments: `add` or `remove`, the name of the record, and its content. `remove` also
        /// follows a failed `add`, which may have made part of the record.
        public var dnsCommand: [String]?
        /// A PEM file of authorities to trust for the connection to the directory; `nil` for those of the system.
        public var authorityFile: String?
        /// The kind of certificate, by the name that the authority gives it; `nil` for the usual kind.
        ///
        /// Profiles differ in lifetime and usages, for example. Let's Encrypt certifies addresses only with one.
        public var profile: String?

        /// Creates settings; one of `webRoot`, `listener`, `tlsListener` and `dnsCommand` is required.
        public init(
            directory: String, contacts: [String] = [], agreesToTerms: Bool = false, webRoot: String? = nil,
            listener: String? = nil, tlsListener: String? = nil, dnsCommand: [String]? = nil,
            authorityFile: String? = nil, profile: String? = nil
        ) {
            self.directory = directory
            self.contacts = contacts
            self.agreesToTerms = agreesToTerms
            self.webRoot = webRoot
            self.listener = listener
            self.tlsListener = tlsListener
            self.dnsCommand = dnsCommand
            self.authorityFile = authorityFile
            self.profile = profile
        }

        /// Host and port of the directory.
        public var host: String {
            let components = URLComponents(string: directory)
            let host = components?.host ?? directory
            return components?.port.map { "\(host):\($0)" } ?? host
        }

        /// The address of the authority in the record of an order. Another profile needs another order.
        var recordedAddress: String { directory + (profile.map { "#" + $0 } ?? "") }
    }

    /// An existing account with the authority, such as a paid one, to which the ACME account is bound (RFC 8555 7.3.4).
    ///
    /// It is needed once, when the ACME account is opened, and is never stored.
    public struct ExternalAccount: Sendable {
        /// The identifier that the authority gave with the key.
        public let keyIdentifier: String
        /// The decoded HMAC key.
        let key: SecretBytes

        /// Creates an external account.
        ///
        /// - Parameter key: The key as authorities hand it out: base64url without padding (RFC 4648 5), or base64.
        /// - Throws: `KeychainError` with code `invalidArgument` for an empty identifier or a key in another form.
        public init(keyIdentifier: String, key: SecretBytes) throws {
            guard !keyIdentifier.isEmpty, let decoded = Base64URL.decode(key), !decoded.isEmpty else {
                throw KeychainError(
                    .invalidArgument, "the key of the external account is not base64url, or its identifier is empty.",
                    hint: "Give identifier and key as the authority shows them.")
            }
            self.keyIdentifier = keyIdentifier
            self.key = decoded
        }
    }

    /// How long the authority may take for one step.
    private static let timeout: Duration = .seconds(120)
    /// How long an authority may process an order before another one is placed, in seconds.
    private static let processingTime: TimeInterval = 3600

    let settings: Settings
    private let keychain: Keychain
    private let externalAccount: ExternalAccount?
    private var isStopped: @Sendable () -> Bool

    /// Creates an issuer for an authority.
    ///
    /// - Parameters:
    ///   - keychain: The keychain whose token has the account key.
    ///   - externalAccount: Needed by authorities that open accounts only for existing customers.
    ///   - isStopped: Whether to give up and withdraw the answers to challenges. It is called while waiting for the
    ///     authority, like the `isStopped` of the order.
    /// - Throws: `KeychainError` with code `invalidArgument` if the directory is not an HTTPS URL, and if the settings
    ///   name no way to answer challenges, or several.
    public init(
        _ settings: Settings, keychain: Keychain, externalAccount: ExternalAccount? = nil,
        isStopped: @escaping @Sendable () -> Bool = { false }
    ) throws {
        guard settings.directory.hasPrefix("https://"), URLComponents(string: settings.directory)?.host != nil else {
            throw KeychainError(
                .invalidArgument,
                "\"\(settings.directory)\" is not the URL of an ACME directory, which begins with https://.",
                remedies: [
                    Remedy("Such as", .change(.issuer("acme:https://acme-v02.api.letsencrypt.org/directory")))
                ])
        }
        let ways = [
            settings.webRoot != nil, settings.listener != nil, settings.tlsListener != nil,
            settings.dnsCommand?.isEmpty == false,
        ]
        guard ways.filter({ $0 }).count == 1 else {
            throw KeychainError(
                .invalidArgument, "an ACME issuer needs exactly one way to answer challenges.",
                hint: "A document root, an address to listen at, or a command that makes DNS records.")
        }
        for listener in [settings.listener, settings.tlsListener].compactMap(\.self)
        where ACMEListener.Address(listener) == nil {
            throw ACMEListener.noAddress(listener)
        }
        self.settings = settings
        self.keychain = keychain
        self.externalAccount = externalAccount
        self.isStopped = isStopped
    }

    /// The settings.
    public var issuerDescription: IssuerDescription { .acme(settings) }

    /// Orders a certificate, answers the challenges and fetches the issued certificate. Blocks for seconds to minutes.
    ///
    /// An order that an earlier attempt finalized is resumed if its certificate could not be fetched or was not valid
    /// yet.
    ///
    /// - Throws: `KeychainError`; `issuerFailed` with the authority's reason, `refused` if its terms must be agreed to
    ///   or an external account is needed, `timedOut`, `cancelled` if `isStopped` returned true, `fileUnavailable` if
    ///   answers cannot be written, `invalidArgument` for a request without a host name or address, with a name of
    ///   another kind, or for a profile that the authority does not offer, and the errors of the token.
    public func issue(_ order: CertificateOrder) throws -> IssuedCertificate {
        var issuer = self
        issuer.isStopped = { [isStopped] in isStopped() || order.isStopped() }
        return try issuer.ordered(order)
    }

    private func ordered(_ order: CertificateOrder) throws -> IssuedCertificate {
        let identifiers = try Self.identifiers(of: order.request.extensions.subjectAlternativeNames)
        var session = try ACMESession(settings, pause: sleep(for:), key: accountKey)
        try session.begin(externalAccount)
        if let issued = try resumed(order, &session) { return issued }
        try refuseIfStopped()
        order.record(at: settings.recordedAddress)
        let made = try place(order, for: identifiers, &session)
        guard let orderURL = made.response.header("location"), let finalize = made.text("finalize") else {
            throw KeychainError(.issuerFailed, "\(settings.host) accepted an order without telling its URL.")
        }
        order.report("order ok")
        let challenges = try made.texts("authorizations").map { try authorize($0, &session) }
        if challenges.contains(true) { order.report("challenge ok") }
        _ = try wait(for: orderURL, ["ready", "valid"], &session)
        order.record(url: orderURL, at: settings.recordedAddress)
        return try certificate(of: orderURL, finalize, order, &session)
    }

    /// Places an order (RFC 8555 7.4).
    private func place(
        _ order: CertificateOrder, for identifiers: [[String: String]], _ session: inout ACMESession
    ) throws -> ACMESession.Answer {
        let url = try session.url(of: "newOrder")
        var payload: [String: Any] = ["identifiers": identifiers]
        if let profile = settings.profile { payload["profile"] = profile }
        do {
            if session.hasRenewalInformation, let replaced = order.replaced?.renewalIdentifier {
                do {
                    return try session.post(url, payload.merging(["replaces": replaced]) { first, _ in first })
                } catch let error as KeychainError where Self.mayConcernReplacement(error) {
                    // The order is placed again without the certificate that it replaces. Another order may have
                    // replaced that already, or another authority may have issued it.
                }
            }
            return try session.post(url, payload)
        } catch let error as KeychainError
            where settings.profile == nil && !session.profiles.isEmpty
            && identifiers.contains(where: { $0["type"] == "ip" })
        {
            let offered = session.profiles.joined(separator: ", ")
            throw error.with(
                remedies: error.remedies + [
                    Remedy("Addresses may need a profile, and it offers \(offered)", .change(.profile))
                ])
        }
    }

    /// Whether the server may have refused an order because of the certificate that it replaces: it refused the
    /// contents, not the rate of orders (RFC 9773 5).
    private static func mayConcernReplacement(_ error: KeychainError) -> Bool {
        guard let status = error.details["status"].flatMap({ Int($0) }) else { return false }
        return (400..<500).contains(status) && status != 429
    }

    /// The certificate of a recorded order; `nil` if there is no usable order.
    ///
    /// A stale record must not prevent a new order. The record is ignored if the server does not know the order or
    /// fails to answer, or if the issued certificate is already in the keychain.
    ///
    /// - Throws: `KeychainError`; `timedOut` while the server is still processing a recent order, `cancelled` if
    ///   `isStopped` returned true. The order stays usable in both cases.
    private func resumed(_ order: CertificateOrder, _ session: inout ACMESession) throws -> IssuedCertificate? {
        guard let recorded = order.recorded(at: settings.recordedAddress) else { return nil }
        do {
            let state = try session.post(recorded.url, nil)
            let isReady = state.text("status") == "ready"
            guard isReady || ["processing", "valid"].contains(state.text("status")) else { return nil }
            guard let finalize = state.text("finalize") else { return nil }
            let issued = try certificate(of: recorded.url, isReady ? finalize : nil, order, &session)
            guard try isUsable(issued.certificate, for: order) else { return nil }
            order.report("order of before found")
            return issued
        } catch let error as KeychainError where error.code == .cancelled {
            throw error
        } catch let error as KeychainError {
            let age = Date().timeIntervalSince(recorded.date)
            if error.code == .timedOut, (0..<Self.processingTime).contains(age) { throw error }
            return nil
        }
    }

    /// Whether a certificate that was issued earlier should be installed.
    ///
    /// It must have all requested names, must not be due for renewal, and must not be installed already. One that is
    /// not valid yet is acceptable, because another order would count against the authority's limits.
    private func isUsable(_ certificate: Certificate, for order: CertificateOrder) throws -> Bool {
        guard certificate.names(missingOf: order.request).isEmpty else { return false }
        let (lifetime, now) = (certificate.notAfter.timeIntervalSince(certificate.notBefore), Date())
        guard now < certificate.notBefore + lifetime * RenewalPolicy.dueAfter else { return false }
        // The current certificate remains valid for at most this time once its renewal is due.
        guard certificate.notBefore < now + lifetime * (1 - RenewalPolicy.dueAfter) else { return false }
        return try !order.isStored(certificate)
    }

    /// Finalizes an order, unless an earlier attempt did, and fetches the certificate.
    private func certificate(
        of orderURL: String, _ finalize: String?, _ order: CertificateOrder, _ session: inout ACMESession
    ) throws -> IssuedCertificate {
        // A finalized order is issued and counts against the authority's limits.
        try refuseIfStopped()
        if let finalize { _ = try session.post(finalize, ["csr": Base64URL.encode(order.request.der)]) }
        let done = try wait(for: orderURL, ["valid"], &session)
        guard let certificateURL = done.text("certificate") else {
            throw KeychainError(.issuerFailed, "\(settings.host) issued a certificate without telling its URL.")
        }
        let answer = try session.post(certificateURL, nil, accept: "application/pem-certificate-chain")
        do {
            return try IssuedCertificate(
                Certificate.all(inPEM: answer.response.body), for: order.request, by: settings.host)
        } catch let error as KeyFileError {
            throw KeychainError(
                .issuerFailed, "\(settings.host) sent something that is not a certificate.", cause: error)
        }
    }

    /// The account key; made at the first order.
    private func accountKey() throws -> TokenKey {
        let label = "acme account " + settings.host
        let query = Query<KeyItem>.key(label: label).keyClass(.private)
        if let key = try keychain.find(query).first { return try keychain.keys.tokenKey(for: key) }
        do {
            return try keychain.keys.tokenKey(for: keychain.keys.generate(.p256, label: label, isLabelUnique: true))
        } catch let error as KeychainError where error.code == .duplicateItem {
            // Another process made the key first.
            return try keychain.keys.tokenKey(for: keychain.only(query))
        }
    }

    /// Answers one authorization.
    ///
    /// - Returns: Whether there was a challenge to answer.
    private func authorize(_ url: String, _ session: inout ACMESession) throws -> Bool {
        let authorization = try session.post(url, nil)
        guard authorization.text("status") != "valid" else { return false }
        let name = (authorization.object["identifier"] as? [String: Any])?["value"] as? String ?? ""
        let type = settings.challengeType
        let challenge = authorization.objects("challenges").first { $0["type"] as? String == type }
        guard let challenge, let token = challenge["token"] as? String, let target = challenge["url"] as? String else {
            throw KeychainError(
                .issuerFailed, "\(settings.host) offers no \(type.uppercased()) challenge for \"\(name)\".",
                remedies: type == "dns-01"
                    ? [Remedy("Addresses need HTTP-01", .change(.httpChallenge))]
                    : [Remedy("Wildcards need DNS-01", .change(.dnsChallenge))],
                details: ["name": name])
        }
        let answer = try settings.answer(
            ACMEChallenge(name: name, token: token, keyAuthorization: session.keyAuthorization(token)))
        defer { answer.withdraw() }
        if challenge["status"] as? String == "pending" { _ = try session.post(target, [:]) }
        _ = try wait(for: url, ["valid"], &session, name: name)
        return true
    }

    /// Reads a resource until it has one of these states (RFC 8555 7.1.6).
    private func wait(
        for url: String, _ states: Set<String>, _ session: inout ACMESession, name: String? = nil
    ) throws -> ACMESession.Answer {
        let deadline = Deadline.after(Self.timeout)
        var pause = Duration.milliseconds(250)
        while true {
            let answer = try session.post(url, nil)
            let state = answer.text("status") ?? ""
            if states.contains(state) { return answer }
            guard ["pending", "processing", "ready"].contains(state) else { throw failed(answer, state, name) }
            guard !deadline.hasPassed else {
                throw KeychainError(
                    .timedOut, "\(settings.host) did not finish within two minutes.",
                    hint: "Try again: the authority continues the same order.", details: ["state": state])
            }
            // RFC 8555 7.5.1: the server may say when to ask again. If it asks for more than the remaining time, it is
            // asked once more at the deadline.
            let wanted = answer.response.header("retry-after").flatMap { RetryAfter.pause($0, on: Date()) } ?? pause
            let wait = min(max(wanted, .milliseconds(100)), deadline.remaining ?? Self.timeout)
            try sleep(for: wait)
            pause = min(pause * 1.5, .seconds(5))
        }
    }

    /// - Throws: `KeychainError` with code `cancelled` if `isStopped` returns true.
    private func refuseIfStopped() throws {
        guard !isStopped() else { throw KeychainError.stopped }
    }

    /// - Throws: `KeychainError` with code `cancelled` within 100 ms after `isStopped` returns true.
    private func sleep(for pause: Duration) throws {
        let end = Deadline.after(pause)
        while true {
            try refuseIfStopped()
            guard let left = end.remaining, left > .zero else { return }
            Thread.sleep(forTimeInterval: min(left, .milliseconds(100)) / .seconds(1))
        }
    }

    private func failed(_ answer: ACMESession.Answer, _ state: String, _ name: String?) -> KeychainError {
        guard ["invalid", "deactivated", "expired", "revoked"].contains(state) else {
            return KeychainError(
                .issuerFailed, "\(settings.host) answered with a state that ACME does not know: \"\(state)\".",
                details: ["state": state, "name": name ?? ""])
        }
        let own = answer.object["error"] as? [String: Any]
        let challenged = answer.objects("challenges").lazy.compactMap { $0["error"] as? [String: Any] }.first
        let problem = (own ?? challenged).map { ACMESession.problem($0) }
        let what = name.map { "did not accept the answer for \"\($0)\"" } ?? "issues no certificate"
        let why = problem?.detail ?? "the \(name == nil ? "order" : "authorization") is \(state)"
        return KeychainError(
            .issuerFailed, "\(settings.host) \(what): \(why)", hint: name.map { settings.expectation(for: $0) },
            details: ["problem": problem?.type ?? "", "state": state, "name": name ?? ""])
    }
}

import Foundation
import Glibc
public import KeyfobPrimitives
import OpenSSL

/// An authority that speaks ACME (RFC 8555), such as Let's Encrypt.
///
/// Host names and addresses (RFC 8738) are proved by HTTP-01 challenges (RFC 8555 8.3), which a web server of the host
/// answers from a directory, or the issuer itself at a port; host names and wildcards also by DNS-01 (8.4), with a
/// command that makes the record.
///
/// The account's key lies on the token, as every private key of Keyfob: P-256, under the label `acme account HOST`. A
/// file with it would be one more thing to protect, and whoever has the account can revoke its certificates. It is
/// made at the first order, and the account with it.
public struct ACMEIssuer: CertificateIssuer {
    /// Where the authority is and how it can see that a host is ours; kept with the identity.
    public struct Settings: Codable, Hashable, Sendable {
        /// The directory's URL.
        public var directory: String
        /// E-mail addresses by which the authority may reach the owner.
        public var contacts: [String]
        /// Whether the owner agrees to the authority's terms of service.
        public var agreesToTerms: Bool
        /// The document root of a web server of the host, below which answers to HTTP-01 challenges are written.
        public var webRoot: String?
        /// Where to answer HTTP-01 challenges without a web server: `PORT`, `ADDRESS:PORT` or `[ADDRESS]:PORT`.
        public var listener: String?
        /// A program with its arguments that makes and removes the TXT records of DNS-01 challenges. Three words
        /// follow them: `add` or `remove`, the record's name, and its content. What it failed to add it is told to
        /// remove as well, for part of it may be there.
        public var dnsCommand: [String]?
        /// A PEM file of authorities whom to trust with the directory itself; `nil` for the system's.
        public var authorityFile: String?

        /// Settings; one of `webRoot`, `listener` and `dnsCommand` is needed.
        public init(
            directory: String, contacts: [String] = [], agreesToTerms: Bool = false, webRoot: String? = nil,
            listener: String? = nil, dnsCommand: [String]? = nil, authorityFile: String? = nil
        ) {
            self.directory = directory
            self.contacts = contacts
            self.agreesToTerms = agreesToTerms
            self.webRoot = webRoot
            self.listener = listener
            self.dnsCommand = dnsCommand
            self.authorityFile = authorityFile
        }

        /// Host and port of the directory.
        public var host: String {
            let components = URLComponents(string: directory)
            let host = components?.host ?? directory
            return components?.port.map { "\(host):\($0)" } ?? host
        }
    }

    /// An account that the owner has with the authority elsewhere, such as one that is paid for (RFC 8555 7.3.4).
    ///
    /// It is needed once, when the ACME account is opened, and never kept.
    public struct ExternalAccount: Sendable {
        /// The identifier that the authority gave with the key.
        public let keyIdentifier: String
        /// The key of its HMAC, decoded.
        let key: SecretBytes

        /// An account.
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

    /// How long the authority may take with one step.
    private static let patience: Duration = .seconds(120)

    private let settings: Settings
    private let keychain: Keychain
    private let externalAccount: ExternalAccount?
    private var isStopped: @Sendable () -> Bool

    /// An authority.
    ///
    /// - Parameters:
    ///   - keychain: Where the account's key lies.
    ///   - externalAccount: For an authority that opens accounts only for those who have one elsewhere.
    ///   - isStopped: Whether to give up, and to take back what answers a challenge; asked while the authority is
    ///     waited for, as the order is.
    /// - Throws: `KeychainError` with code `invalidArgument` for a directory that is no HTTPS URL, and for settings
    ///   that name no way to answer challenges, or several.
    public init(
        _ settings: Settings, keychain: Keychain, externalAccount: ExternalAccount? = nil,
        isStopped: @escaping @Sendable () -> Bool = { false }
    ) throws {
        guard settings.directory.hasPrefix("https://"), URLComponents(string: settings.directory)?.host != nil else {
            throw KeychainError(
                .invalidArgument, "\"\(settings.directory)\" is no URL of an ACME directory: it begins with https://.",
                hint: "Such as: --issuer acme:https://acme-v02.api.letsencrypt.org/directory")
        }
        let ways = [settings.webRoot != nil, settings.listener != nil, settings.dnsCommand?.isEmpty == false]
        guard ways.filter({ $0 }).count == 1 else {
            throw KeychainError(
                .invalidArgument, "an ACME authority wants one way to see its challenges answered.",
                hint: "A document root, an address to listen at, or a command that makes DNS records.")
        }
        if let listener = settings.listener, ACMEListener.Address(listener) == nil {
            throw ACMEListener.noAddress(listener)
        }
        self.settings = settings
        self.keychain = keychain
        self.externalAccount = externalAccount
        self.isStopped = isStopped
    }

    /// The settings.
    public var issuerDescription: IssuerDescription { .acme(settings) }

    /// Orders a certificate, answers the challenges and fetches what is issued. Blocks for seconds to minutes.
    ///
    /// An order that an attempt before this one had finalized is taken up again, where its certificate could not be
    /// fetched any more or was not valid yet.
    ///
    /// - Throws: `KeychainError`; `issuerFailed` with the authority's reason, `refused` where its terms have to be
    ///   agreed to or an external account is needed, `timedOut`, `cancelled` where it was to stop, `fileUnavailable`
    ///   where answers cannot be written, `invalidArgument` for a request without a host name or address, or with a
    ///   name of another kind, and what the token refuses.
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
        let orders = PendingOrders(keychain)
        var record = PendingOrder(order, at: settings.directory)
        // The key is there already; of an order for the same there may be more to know than this.
        if record.isKeyNew, orders[order.name]?.key != record.key { orders.note(record, for: order.name) }
        let made = try session.post(session.place("newOrder"), ["identifiers": identifiers])
        guard let orderURL = made.response.header("location"), let finalize = made.text("finalize") else {
            throw KeychainError(.issuerFailed, "\(settings.host) took an order and does not say where it is.")
        }
        order.report("order ok")
        let challenges = try made.texts("authorizations").map { try authorize($0, &session) }
        if challenges.contains(true) { order.report("challenge ok") }
        _ = try wait(for: orderURL, ["ready", "valid"], &session)
        record.url = orderURL
        orders.note(record, for: order.name)
        return try certificate(of: orderURL, finalize, order, &session)
    }

    /// The certificate of an order that is on record; `nil` where there is none, or it is worth nothing.
    ///
    /// What the record says must not keep anybody from a new order: it is passed over where the server does not know
    /// it, cannot answer for it, or has issued what the keychain has had already.
    ///
    /// - Throws: `KeychainError`; `timedOut` where the server says that it is still at it, `cancelled` where it was to
    ///   stop: the order is then worth as much as before.
    private func resumed(_ order: CertificateOrder, _ session: inout ACMESession) throws -> IssuedCertificate? {
        guard let record = PendingOrders(keychain)[order.name], let url = record.url,
            record.isSame(as: PendingOrder(order, at: settings.directory))
        else { return nil }
        do {
            let state = try session.post(url, nil)
            let isReady = state.text("status") == "ready"
            guard isReady || ["processing", "valid"].contains(state.text("status")) else { return nil }
            guard let finalize = state.text("finalize") else { return nil }
            let issued = try certificate(of: url, isReady ? finalize : nil, order, &session)
            guard try isOfUse(issued.certificate, for: order.request) else { return nil }
            order.report("order of before found")
            return issued
        } catch let error as KeychainError where error.code == .cancelled {
            throw error
        } catch let error as KeychainError {
            let age = Date().timeIntervalSince(record.date)
            if error.code == .timedOut, (0..<PendingOrder.patience).contains(age) { throw error }
            return nil
        }
    }

    /// Whether a certificate that was issued before is one to install: not installed already, nor soon to be renewed,
    /// nor without a name. One that is not valid yet is: another order would be one more that counts.
    private func isOfUse(_ certificate: Certificate, for request: CertificationRequest) throws -> Bool {
        guard certificate.names(missingOf: request).isEmpty else { return false }
        let (lifetime, now) = (certificate.notAfter.timeIntervalSince(certificate.notBefore), Date())
        guard now < certificate.notBefore + lifetime * RenewalPolicy.dueAfter else { return false }
        // Nobody waits longer than the certificate before lasts, once its renewal is due.
        guard certificate.notBefore < now + lifetime * (1 - RenewalPolicy.dueAfter) else { return false }
        return try !keychain.index.objects(keychain.keys()).contains { $0.certificateDER == certificate.der }
    }

    /// Has an order finalized, unless that was done before, and fetches what is issued.
    private func certificate(
        of orderURL: String, _ finalize: String?, _ order: CertificateOrder, _ session: inout ACMESession
    ) throws -> IssuedCertificate {
        // What is finalized is issued, and counts against the authority's limits.
        try refuseIfStopped()
        if let finalize { _ = try session.post(finalize, ["csr": Base64URL.encode(order.request.der)]) }
        let done = try wait(for: orderURL, ["valid"], &session)
        guard let certificateURL = done.text("certificate") else {
            throw KeychainError(.issuerFailed, "\(settings.host) issued a certificate and does not say where it is.")
        }
        let answer = try session.post(certificateURL, nil, accept: "application/pem-certificate-chain")
        do {
            return try IssuedCertificate(
                Certificate.all(inPEM: answer.response.body), for: order.request, by: settings.host)
        } catch let error as KeyFileError {
            throw KeychainError(.issuerFailed, "\(settings.host) sent something that is no certificate.", cause: error)
        }
    }

    /// The account's key, made at the first order.
    private func accountKey() throws -> TokenKey {
        let label = "acme account " + settings.host
        let query = Query<KeyItem>.key(label: label).keyClass(.private)
        if let key = try keychain.find(query).first { return try keychain.tokenKey(for: key) }
        do {
            return try keychain.tokenKey(for: keychain.generateKey(.p256, label: label, isLabelUnique: true))
        } catch let error as KeychainError where error.code == .duplicateItem {
            // Another process was faster.
            return try keychain.tokenKey(for: keychain.only(query))
        }
    }

    /// Answers one authorization; whether there was anything to answer.
    private func authorize(_ url: String, _ session: inout ACMESession) throws -> Bool {
        let authorization = try session.post(url, nil)
        guard authorization.text("status") != "valid" else { return false }
        let name = (authorization.object["identifier"] as? [String: Any])?["value"] as? String ?? ""
        let type = settings.challengeType
        let challenge = authorization.objects("challenges").first { $0["type"] as? String == type }
        guard let challenge, let token = challenge["token"] as? String, let place = challenge["url"] as? String else {
            throw KeychainError(
                .issuerFailed, "\(settings.host) offers no \(type.uppercased()) challenge for \"\(name)\".",
                hint: type == "http-01"
                    ? "Wildcards need DNS-01: --dns-hook COMMAND" : "Addresses need HTTP-01: --web-root DIR, or --listen 80",
                details: ["name": name])
        }
        let answer = try settings.answer(
            ACMEChallenge(name: name, token: token, keyAuthorization: session.keyAuthorization(token)))
        defer { answer.withdraw() }
        if challenge["status"] as? String == "pending" { _ = try session.post(place, [:]) }
        _ = try wait(for: url, ["valid"], &session, name: name)
        return true
    }

    /// Reads a resource until it has one of these states (RFC 8555 7.1.6).
    private func wait(
        for url: String, _ states: Set<String>, _ session: inout ACMESession, name: String? = nil
    ) throws -> ACMESession.Answer {
        let deadline = Deadline.after(Self.patience)
        var pause = Duration.milliseconds(250)
        while true {
            let answer = try session.post(url, nil)
            let state = answer.text("status") ?? ""
            if states.contains(state) { return answer }
            guard ["pending", "processing", "ready"].contains(state) else { throw failed(answer, state, name) }
            guard !deadline.hasPassed else {
                throw KeychainError(
                    .timedOut, "\(settings.host) did not finish within two minutes.",
                    hint: "Try again: what it has done it keeps.", details: ["state": state])
            }
            // RFC 8555 7.5.1: the server may say when to ask again. Who asks for longer than anybody waits is asked
            // once more at the end.
            let wanted = answer.response.header("retry-after").flatMap { RetryAfter.pause($0, on: Date()) } ?? pause
            let wait = min(max(wanted, .milliseconds(100)), deadline.remaining ?? Self.patience)
            try sleep(for: wait)
            pause = min(pause * 1.5, .seconds(5))
        }
    }

    /// - Throws: `KeychainError` with code `cancelled` where somebody has asked to stop.
    private func refuseIfStopped() throws {
        guard !isStopped() else { throw KeychainError.stopped }
    }

    /// - Throws: `KeychainError` with code `cancelled` soon after somebody asks to stop.
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

import Foundation
import Keyfob
import KeyfobOpenSSL
import KeyfobPrimitives

/// A session with an ACME server: signed requests, nonces and problem documents (RFC 8555 6).
struct ACMESession {
    /// An answer with its parsed JSON.
    struct Answer {
        let object: [String: Any]
        let response: HTTPRequest.Response

        /// A member that is text.
        func text(_ name: String) -> String? { object[name] as? String }
        /// A member that is a list of text.
        func texts(_ name: String) -> [String] { object[name] as? [String] ?? [] }
        /// A member that is a list of objects.
        func objects(_ name: String) -> [[String: Any]] { object[name] as? [[String: Any]] ?? [] }
    }

    let settings: ACMEIssuer.Settings
    let key: TokenKey
    private let pause: (Duration) throws -> Void
    private let point: [UInt8]
    private let directory: [String: Any]
    private let meta: [String: Any]
    private var nonce: String?
    private var account: String?

    /// Reads the directory (RFC 8555 7.1.1), and retries while the server is busy.
    ///
    /// - Parameters:
    ///   - pause: Waits until a busy server may be asked again. An error that it throws ends the request.
    ///   - key: Returns the account key. Called after the directory is read and the terms are agreed to, so that a
    ///     wrong URL leaves no key on the token.
    /// - Throws: `KeychainError`; `issuerFailed`, `invalidArgument` for a profile that the server does not offer,
    ///   `refused` if terms of service must be agreed to, `mechanismUnsupported` for a key that is not P-256, and the
    ///   errors of `key`.
    init(
        _ settings: ACMEIssuer.Settings, pause: @escaping (Duration) throws -> Void, key: () throws -> TokenKey
    ) throws {
        let answer = try Self.retrying(pause) {
            let response = try settings.request(url: settings.directory).send()
            guard response.status < 400 else { throw Self.directoryRefusal(response, settings) }
            return response
        }
        if let target = answer.redirection {
            throw KeychainError(
                .issuerFailed, "\(settings.host) says that its directory is elsewhere: \(target)",
                hint: "If you trust it, give that URL.",
                details: ["location": target, "status": String(answer.status)])
        }
        directory = try Self.object(answer, settings.host).object
        for name in ["newNonce", "newAccount", "newOrder"] { _ = try Self.url(of: name, in: directory, settings) }
        meta = directory["meta"] as? [String: Any] ?? [:]
        if let profile = settings.profile { try Self.check(profile, in: meta, settings) }
        if let terms = meta["termsOfService"] as? String, !settings.agreesToTerms {
            throw KeychainError(
                .refused, "\(settings.host) asks for agreement to its terms of service: \(terms)",
                remedies: [Remedy("Read them, then", .change(.terms))], details: ["terms": terms])
        }
        let key = try key()
        guard key.publicKey.algorithm == .ec(.p256), let point = key.publicKey.ecPoint, point.count == 65 else {
            throw KeychainError(.mechanismUnsupported, "an ACME account has a key of P-256.")
        }
        self.settings = settings
        self.pause = pause
        self.key = key
        self.point = [UInt8](point)
    }

    /// The names of the profiles that the server offers (draft-ietf-acme-profiles), sorted.
    var profiles: [String] { Self.profiles(in: meta) }

    /// Whether the server says when to renew a certificate (RFC 9773).
    var hasRenewalInformation: Bool { directory["renewalInfo"] is String }

    private static func profiles(in meta: [String: Any]) -> [String] {
        (meta["profiles"] as? [String: Any] ?? [:]).keys.sorted()
    }

    private static func check(
        _ profile: String, in meta: [String: Any], _ settings: ACMEIssuer.Settings
    ) throws(KeychainError) {
        let offered = profiles(in: meta)
        guard !offered.contains(profile) else { return }
        throw KeychainError(
            .invalidArgument, "\(settings.host) offers no profile \"\(profile)\".",
            remedies: offered.isEmpty
                ? ["It offers none: order without a profile."]
                : [Remedy("It offers \(offered.joined(separator: ", "))", .change(.profile))],
            details: ["profile": profile, "profiles": offered.joined(separator: " ")])
    }

    /// Finds or makes the account (RFC 8555 7.3).
    ///
    /// - Parameter externalAccount: The external account to bind a new account to (RFC 8555 7.3.4).
    /// - Throws: `KeychainError`; `refused` if an external account is needed, `issuerFailed`.
    mutating func begin(_ externalAccount: ACMEIssuer.ExternalAccount?) throws {
        let isBound = meta["externalAccountRequired"] as? Bool == true
        // Only opening an account needs the binding; a renewal does not have the external account's key.
        if isBound, try findAccount() { return }
        guard !isBound || externalAccount != nil else {
            throw KeychainError(
                .refused,
                "\(settings.host) opens accounts for its customers only (external account binding).",
                remedies: [Remedy("Get a key identifier and an HMAC key from it, then", .change(.externalAccount))],
                details: ["directory": settings.directory])
        }
        var payload: [String: Any] = ["termsOfServiceAgreed": settings.agreesToTerms]
        if !settings.contacts.isEmpty { payload["contact"] = settings.contacts.map { "mailto:" + $0 } }
        if let externalAccount { payload["externalAccountBinding"] = try binding(to: externalAccount) }
        let made: Answer
        do {
            // The server returns an existing account of the key.
            made = try post(url(of: "newAccount"), payload)
        } catch let error as KeychainError
            where externalAccount != nil && error.details["problem"]?.hasSuffix(":unauthorized") == true
        {
            throw KeychainError(
                .issuerFailed, error.message, hint: "Are the key identifier and the HMAC key those that it gave?",
                details: error.details)
        }
        guard let location = made.response.header("location") else {
            throw KeychainError(.issuerFailed, "\(settings.host) opened an account without telling its URL.")
        }
        account = location
    }

    /// Looks for an existing account of the key (RFC 8555 7.3.1).
    ///
    /// - Returns: Whether there is one.
    private mutating func findAccount() throws -> Bool {
        do {
            account = try post(url(of: "newAccount"), ["onlyReturnExisting": true]).response.header("location")
            return account != nil
        } catch let error as KeychainError where error.details["problem"]?.hasSuffix(":accountDoesNotExist") == true {
            return false
        }
    }

    /// The account's public key, signed with the external account's key (RFC 8555 7.3.4).
    private func binding(to external: ACMEIssuer.ExternalAccount) throws -> [String: Any] {
        let header = ["alg": "HS256", "kid": external.keyIdentifier, "url": try url(of: "newAccount")]
        let protected = Base64URL.encode(try Self.json(header))
        let content = Base64URL.encode(Data(jwk.utf8))
        let code = try HMACSHA256(key: external.key).authenticationCode(for: Array("\(protected).\(content)".utf8))
        return ["protected": protected, "payload": content, "signature": Base64URL.encode(code)]
    }

    /// The URL of a resource in the directory.
    func url(of name: String) throws -> String { try Self.url(of: name, in: directory, settings) }

    private static func url(
        of name: String, in directory: [String: Any], _ settings: ACMEIssuer.Settings
    ) throws -> String {
        guard let url = directory[name] as? String else {
            throw KeychainError(
                .issuerFailed, "\(settings.host) is not an ACME server: its directory has no \(name).",
                hint: "Check the URL of the directory.", details: ["directory": settings.directory])
        }
        return url
    }

    /// The text that proves possession of the account key to the server (RFC 8555 8.1).
    func keyAuthorization(_ token: String) -> String { token + "." + Base64URL.encode(Digest.sha256(Data(jwk.utf8))) }

    /// Sends a signed request; without a payload, a POST-as-GET (RFC 8555 6.3).
    ///
    /// A request that only reads is retried while the server is busy or if the connection breaks, so that an unfinished
    /// order need not start over.
    ///
    /// - Throws: `KeychainError` with code `issuerFailed` and the server's problem; the errors of `pause`.
    mutating func post(_ url: String, _ payload: [String: Any]?, accept: String? = nil) throws -> Answer {
        guard payload == nil else { return try postOnce(url, payload, accept: accept) }
        return try Self.retrying(pause) { try postOnce(url, nil, accept: accept) }
    }

    /// Sends a read-only request, and retries while the server is busy or if the connection breaks.
    ///
    /// - Throws: The last error of `send`, and the errors of `pause`.
    private static func retrying<Result>(
        _ pause: (Duration) throws -> Void, _ send: () throws -> Result
    ) throws -> Result {
        let deadline = Deadline.after(retryTimeout)
        var interval = Duration.milliseconds(500)
        while true {
            do { return try send() } catch let error as KeychainError {
                let wanted = error.details["retryAfter"].flatMap { Int($0) }.map { Duration.seconds($0) } ?? interval
                guard isTransient(error), wanted < deadline.remaining ?? retryTimeout else { throw error }
                try pause(max(wanted, interval))
                interval = min(interval * 2, .seconds(5))
            }
        }
    }

    /// How long a busy server is retried.
    private static let retryTimeout: Duration = .seconds(60)

    /// Whether a retry may succeed soon: the server is busy, or the connection broke.
    private static func isTransient(_ error: KeychainError) -> Bool {
        if let status = error.details["status"] { return Int(status).map { isTransient($0) } ?? false }
        // Exit codes of curl(1): partial file, empty reply, failure to send, failure to receive.
        return error.details["curl"].map { ["18", "52", "55", "56"].contains($0) } ?? false
    }

    private static func isTransient(_ status: Int) -> Bool { [429, 500, 502, 503, 504].contains(status) }

    private mutating func postOnce(_ url: String, _ payload: [String: Any]?, accept: String?) throws -> Answer {
        guard url.hasPrefix("https://") else {
            throw KeychainError(
                .issuerFailed, "\(settings.host) names a URL that does not begin with https://: \"\(url)\".",
                details: ["url": url])
        }
        for attempt in 0..<6 {
            let body = try signed(url, payload)
            var request = settings.request("POST", url: url)
            request.headers.append(("Content-Type", "application/jose+json"))
            request.body = body
            if let accept { request.headers.append(("Accept", accept)) }
            let response = try request.send()
            nonce = response.header("replay-nonce")
            if (200..<300).contains(response.status) {
                if accept != nil { return Answer(object: [:], response: response) }
                return try Self.object(response, settings.host)
            }
            if let target = response.redirection {
                // A signature is valid for one URL only (RFC 8555 6.4).
                throw KeychainError(
                    .issuerFailed,
                    "\(settings.host) redirects \(url) to \(target) (status \(response.status)), against RFC 8555.",
                    details: ["url": url, "location": target, "status": String(response.status)])
            }
            let problem = Self.problem(response)
            // RFC 8555 6.5: a nonce may be refused at any time; the refusal brings a new one.
            if problem.type.hasSuffix(":badNonce"), attempt < 5 { continue }
            throw Self.refusal(response, problem, settings)
        }
        throw KeychainError(.issuerFailed, "\(settings.host) refused six nonces of its own.")
    }

    /// The error for an answer that refuses a request.
    ///
    /// - Parameter hint: The hint if the server does not say when to ask again.
    static func refusal(
        _ response: HTTPRequest.Response, _ problem: (type: String, detail: String), _ settings: ACMEIssuer.Settings,
        hint: String? = nil
    ) -> KeychainError {
        var details = ["problem": problem.type, "status": String(response.status)]
        // RFC 8555 6.6: when the rate limit ends.
        let pause = response.header("retry-after").flatMap { RetryAfter.pause($0, on: Date()) }
        let seconds = pause.map { Int($0.components.seconds) }
        details["retryAfter"] = seconds.map { String($0) }
        let waitHint: String? = seconds.flatMap {
            $0 < 60 ? nil : "It wants to be asked again in \(($0 + 59) / 60) minutes."
        }
        return KeychainError(
            .issuerFailed, "\(settings.host) refused: \(problem.detail)", hint: waitHint ?? hint, details: details)
    }

    /// The error if the server refuses to return its directory: a busy server may answer later, another may have none.
    private static func directoryRefusal(
        _ response: HTTPRequest.Response, _ settings: ACMEIssuer.Settings
    ) -> KeychainError {
        refusal(
            response, problem(response), settings,
            hint: isTransient(response.status) ? "Try again later." : "Check the URL of the directory.")
    }

    /// A JWS in flattened JSON form (RFC 7515 7.2.2), with ES256.
    private mutating func signed(_ url: String, _ payload: [String: Any]?) throws -> Data {
        let nonce = try takeNonce()
        var header: [String: Any] = ["alg": "ES256", "nonce": nonce, "url": url]
        if let account { header["kid"] = account } else { header["jwk"] = try Self.parsed(Data(jwk.utf8)) }
        let protected = Base64URL.encode(try Self.json(header))
        let content = try payload.map { Base64URL.encode(try Self.json($0)) } ?? ""
        let der = try key.sign(Array("\(protected).\(content)".utf8), using: .ecdsa(.sha256))
        let signature = try ECDSASignature(der: der, size: 32).raw
        return try Self.json([
            "protected": protected, "payload": content, "signature": Base64URL.encode(Data(signature)),
        ])
    }

    private mutating func takeNonce() throws -> String {
        if let nonce {
            self.nonce = nil
            return nonce
        }
        let url = try url(of: "newNonce")
        return try Self.retrying(pause) {
            let response = try settings.request("HEAD", url: url).send()
            if let nonce = response.header("replay-nonce") { return nonce }
            guard response.status < 400 else { throw Self.refusal(response, Self.problem(response), settings) }
            throw KeychainError(
                .issuerFailed, "\(settings.host) sent no nonce.", details: ["status": String(response.status)])
        }
    }

    /// The account's public key as a JWK whose members are in the order that its thumbprint requires (RFC 7638).
    private var jwk: String {
        let (x, y) = (Base64URL.encode(Data(point[1..<33])), Base64URL.encode(Data(point[33..<65])))
        return "{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"\(x)\",\"y\":\"\(y)\"}"
    }

    private static func json(_ object: [String: Any]) throws -> Data {
        try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
    }

    private static func parsed(_ data: Data) throws -> [String: Any] {
        guard let object = try JSONSerialization.jsonObject(with: data) as? [String: Any] else {
            throw KeychainError(.issuerFailed, "it is not a JSON object.")
        }
        return object
    }

    static func object(_ response: HTTPRequest.Response, _ host: String) throws -> Answer {
        do {
            // An answer may have no content.
            guard !response.body.isEmpty else { return Answer(object: [:], response: response) }
            guard response.status < 300 else { throw KeychainError(.issuerFailed, "status \(response.status)") }
            return Answer(object: try parsed(response.body), response: response)
        } catch {
            throw KeychainError(
                .issuerFailed, "\(host) answered with something that is not ACME (status \(response.status)).",
                hint: "Check the URL of the directory.", cause: error)
        }
    }

    /// The problem document of an answer (RFC 7807), with the problems of single names (RFC 8555 6.7.1).
    static func problem(_ response: HTTPRequest.Response) -> (type: String, detail: String) {
        // An answer that is not JSON has no detail.
        let object = (try? parsed(response.body)) ?? [:]
        return problem(object, status: response.status)
    }

    static func problem(_ object: [String: Any], status: Int = 0) -> (type: String, detail: String) {
        let type = object["type"] as? String ?? "about:blank"
        var detail = object["detail"] as? String ?? "status \(status)"
        for part in object["subproblems"] as? [[String: Any]] ?? [] {
            let name = (part["identifier"] as? [String: Any])?["value"] as? String ?? ""
            detail += "; \(name): \(part["detail"] as? String ?? "")"
        }
        return (type, detail)
    }
}

extension ACMEIssuer.Settings {
    /// A request to the authority.
    func request(_ method: String = "GET", url: String) -> HTTPRequest {
        var request = HTTPRequest(method, url: url)
        request.authorityFile = authorityFile
        request.remedyIfUntrusted = Remedy(
            "If it is an authority of your own, name its root", .change(.authorityFile))
        return request
    }
}

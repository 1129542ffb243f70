import Foundation
import Testing

/// Let's Encrypt's test server, `pebble`, with its name server and a web server of the host: real ACME (RFC 8555), on
/// this machine only.
final class PebbleServer {
    /// Whether this machine has it.
    static let isInstalled = ["/usr/bin/pebble", "/usr/bin/pebble-challtestsrv"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    private(set) var directory = ""
    /// The port at which the authority looks for answers to HTTP-01 challenges, in place of port 80.
    private(set) var httpPort = ""
    /// The port at which the authority looks for answers to TLS-ALPN-01 challenges, in place of port 443.
    private(set) var tlsPort = ""
    /// The URL at which the name server takes records.
    private(set) var nameServer = ""
    private var processes: [Process] = []

    /// Starts everything with files in the test's directory: `acme-ca.pem`, and `www` as document root.
    ///
    /// Every fifth nonce is refused, which a client must tolerate (RFC 8555 6.5).
    ///
    /// - Parameters:
    ///   - hasWebServer: Whether the host has a web server.
    ///   - externalAccounts: Keys by their identifiers; if there are any, an account needs one.
    init(_ home: IdentityHome, hasWebServer: Bool = true, externalAccounts: [String: String] = [:]) throws {
        try home.makeFilesOfACMEServer()
        // Another test may take a port between its choice and its use.
        for _ in 0..<5 {
            try startAll(home, hasWebServer, externalAccounts, ports: home.freePorts(6))
            if try isUp(home, hasWebServer) { return }
            stop()
        }
        Issue.record("pebble does not answer.")
    }

    private func startAll(
        _ home: IdentityHome, _ hasWebServer: Bool, _ externalAccounts: [String: String], ports: [String]
    ) throws {
        directory = "https://127.0.0.1:\(ports[0])/dir"
        httpPort = ports[2]
        tlsPort = ports[5]
        nameServer = "http://127.0.0.1:\(ports[4])"
        let keys = externalAccounts.map { "\"\($0.key)\": \"\($0.value)\"" }.joined(separator: ", ")
        let binding = keys.isEmpty
            ? "" : ", \"externalAccountBindingRequired\": true, \"externalAccountMACKeys\": {\(keys)}"
        try home.shell(
            """
            cat > pebble.json <<END
            {"pebble": {"listenAddress": "127.0.0.1:\(ports[0])", "managementListenAddress": "127.0.0.1:\(ports[1])",
            "certificate": "$PWD/acme.pem", "privateKey": "$PWD/acme.key", "httpPort": \(ports[2]), "tlsPort": \(ports[5])\(binding)}}
            END
            """)
        try start("/usr/bin/pebble-challtestsrv", [
            "-defaultIPv4", "127.0.0.1", "-defaultIPv6", "", "-dns01", "127.0.0.1:\(ports[3])", "-http01", "",
            "-https01", "", "-tlsalpn01", "", "-management", "127.0.0.1:\(ports[4])",
        ])
        if hasWebServer {
            try start("/usr/bin/env", [
                "python3", "-m", "http.server", ports[2], "--bind", "127.0.0.1", "--directory", home.file("www"),
            ])
        }
        try start(
            "/usr/bin/pebble",
            ["-config", home.file("pebble.json"), "-dnsserver", "127.0.0.1:\(ports[3])"],
            ["PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "10"])
    }

    /// Waits until all programs answer. Returns false if one has ended.
    private func isUp(_ home: IdentityHome, _ hasWebServer: Bool) throws -> Bool {
        for _ in 0..<1200 {
            guard processes.allSatisfy(\.isRunning) else { return false }
            let answer = try home.shell(
                """
                curl -s -m 5 -o /dev/null --cacert acme-ca.pem \(directory) && curl -s -m 5 -o /dev/null \(nameServer)/ \
                    && { \(!hasWebServer) || curl -s -m 5 -o /dev/null http://127.0.0.1:\(httpPort)/; } && echo up || sleep 0.1
                """)
            if answer == "up\n" { return true }
        }
        return false
    }

    private func start(_ path: String, _ arguments: [String], _ environment: [String: String] = [:]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        processes.append(process)
    }

    // Not SIGTERM, which threads of this process may have blocked; their children inherit that.
    private func stop() {
        for process in processes where process.isRunning { kill(process.processIdentifier, SIGKILL) }
        processes = []
    }

    deinit { stop() }
}

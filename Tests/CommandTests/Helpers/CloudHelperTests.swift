import Foundation
import TestSupport
import Testing

/// The exec credential plugin of kubectl, and the credential process of the AWS tools.
@Suite struct CloudHelperTests {
    private static let kubectl = ["/usr/bin/kubectl", "/usr/local/bin/kubectl"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    private let helpers: HelperHome

    init() throws { helpers = try .linked() }

    private func keyfob(_ arguments: String..., environment: [String: String] = [:]) throws -> Tool.Result {
        try helpers.home.keyfob(["helper"] + arguments, environment: environment)
    }

    private func info(_ version: String) -> [String: String] {
        ["KUBERNETES_EXEC_INFO": #"{"kind":"ExecCredential","apiVersion":"\#(version)","spec":{"interactive":false}}"#]
    }

    // MARK: kubectl

    @Test(.enabled(if: kubectl != nil), arguments: ["v1", "v1beta1"])
    func `kubectl sends the token to a server`(version: String) throws {
        try helpers.shell(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout server.key -out server.pem \
                -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 2>&1
            echo 'Bearer t0ken' > allowed
            mkdir www && echo '{"gitVersion":"v1.99.0"}' > www/version
            """)
        let server = try AuthenticatedServer(helpers, isSecure: true)
        try helpers.home.set("k8s/prod", "t0ken")
        let kubectl = try #require(Self.kubectl)
        let answer = try helpers.shell(
            """
            export KUBECONFIG="$PWD/kubeconfig"
            exec 3>&1 >&2
            \(kubectl) config set-cluster c --server=https://\(server.host) --certificate-authority=server.pem
            \(kubectl) config set-credentials u --exec-api-version=client.authentication.k8s.io/\(version) \
                --exec-command=\(Tool.commandPath) --exec-interactive-mode=Never \
                --exec-arg=helper --exec-arg=kubectl --exec-arg=k8s/prod
            \(kubectl) config set-context x --cluster=c --user=u
            \(kubectl) config use-context x
            \(kubectl) get --raw /version >&3
            """)
        #expect(answer.contains("v1.99.0"))
    }

    @Test func `a token is printed in the version that the client asks for`() throws {
        try helpers.home.set("k8s/prod", "t0ken")
        for version in ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"] {
            let line = #"{"apiVersion":"\#(version)","kind":"ExecCredential","status":{"token":"t0ken"}}"# + "\n"
            #expect(try keyfob("kubectl", "k8s/prod", environment: info(version)).output == line)
        }
        #expect(try keyfob("kubectl", "k8s/prod").output.contains("k8s.io/v1\""))
        for environment in [info("client.authentication.k8s.io/v1alpha1"), ["KUBERNETES_EXEC_INFO": "["]] {
            let result = try keyfob("kubectl", "k8s/prod", environment: environment)
            #expect(result.status == 9 && result.output.isEmpty, "\(result.output)")
        }
    }

    @Test func `a stored status keeps its members`() throws {
        let status = #"{"token":"t","expirationTimestamp":"2030-01-01T00:00:00Z"}"#
        try helpers.home.set("whole", #"{"kind":"ExecCredential","status":\#(status)}"#)
        #expect(try keyfob("kubectl", "whole").output.contains(#""status":\#(status)}"#))
        try helpers.home.set("pair", #"{"clientCertificateData":"c","clientKeyData":"k","other":"x"}"#)
        #expect(try keyfob("kubectl", "pair").output.contains(#""status":{"clientCertificateData":"c","clientKeyData":"k"}}"#))
        try helpers.home.set("half", #"{"clientCertificateData":"c"}"#)
        #expect(try keyfob("kubectl", "half").status == 9)
        try helpers.home.set("lines", "a\nb")
        #expect(try keyfob("kubectl", "lines").status == 9)
    }

    // MARK: AWS

    @Test func `an access key is the account and the secret of an item`() throws {
        try helpers.home.set("aws/dev", "s/cret", ["--user", "AKIA1"])
        let line = #"{"Version":1,"AccessKeyId":"AKIA1","SecretAccessKey":"s/cret"}"# + "\n"
        #expect(try keyfob("aws", "aws/dev").output == line)
        try helpers.home.set("aws/none", "s/cret")
        let result = try keyfob("aws", "aws/none")
        #expect(result.status == 9 && result.output.isEmpty && result.error.contains("no account"), "\(result.error)")
    }

    @Test(arguments: [false, true])
    func `a temporary key is what aws sts prints`(isWrapped: Bool) throws {
        let key = #""AccessKeyId":"ASIA1","SecretAccessKey":"s","SessionToken":"t","Expiration":"2030-01-01T00:00:00+00:00""#
        try helpers.home.set("aws/sts", isWrapped ? "{\"Credentials\":{\(key)}}" : "{\(key)}")
        #expect(try keyfob("aws", "aws/sts").output == "{\"Version\":1,\(key)}\n")
        try helpers.home.set("aws/bad", #"{"SessionToken":"t"}"#)
        #expect(try keyfob("aws", "aws/bad").status == 9)
    }

    @Test(arguments: ["kubectl", "aws"])
    func `a missing item is one line of error`(helper: String) throws {
        let result = try keyfob(helper, "missing")
        #expect(result.status == 3 && result.output.isEmpty)
        #expect(result.error.count(where: { $0 == "\n" }) == 1 && result.error.hasPrefix("keyfob: "), "\(result.error)")
    }
}

import Foundation
import TestSupport
import Testing

/// A small ACME server with errors on demand, where a real server has none.
///
/// It accepts every signature and every challenge. The names of a request must be those of the order, including the
/// common name, as Let's Encrypt requires. Its certificates are real ones, made by openssl.
final class ScriptedACMEServer {
    let directory: String
    private let process: SpawnedProcess

    /// Starts with files in the test's directory: `acme-ca.pem`, `www` as document root, and `orders`, a line for each.
    /// If there is a script `issue-late`, that script issues. While there is a file `profiles`, the server offers the
    /// profiles in it, and addresses need one. While there is a file `renewal-info`, it is the renewal information of
    /// every certificate, and each question for it is a line of `questions`. The file `retry-after` contains the
    /// validity of an answer in seconds; the default is 21,600. While there is a file `replaced`, every certificate has
    /// been replaced already.
    ///
    /// - Parameter fault: The error, such as `busy:order`: its kind and its place. It applies to two requests, or to
    ///   all; `hold` to those that come while there is a file `held`.
    init(_ home: IdentityHome, fault: String) throws {
        try home.makeFilesOfACMEServer()
        let null = unsafe open("/dev/null", O_RDWR)
        defer { close(null) }
        process = try SpawnedProcess(
            ["python3", "-c", Self.script, home.directory.path, fault], environment: ["PATH": "/usr/bin:/bin"],
            streams: (null, null, null))
        // It takes the given port, and reports when it listens there.
        let port = try home.shell("for i in $(seq 600); do cat port 2> /dev/null && exit 0; sleep 0.1; done; exit 1")
        directory = "https://127.0.0.1:\(port)/dir"
    }

    deinit { stop() }

    /// Ends the server.
    func stop() { process.kill() }

    private static let script = """
        import base64, ipaddress, json, os, re, ssl, subprocess, sys
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
        folder, (fault, _, place) = sys.argv[1], sys.argv[2].partition(":")
        os.chdir(folder)
        token = "A" * 32
        state = {"order": "pending", "authz": "pending", "left": 2, "nonce": 0, "names": []}
        def decoded(text): return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        def names_of_request():
            text = subprocess.run(
                ["openssl", "req", "-inform", "DER", "-in", "in.csr", "-noout", "-text", "-nameopt", "multiline"],
                check=True, capture_output=True, text=True).stdout
            found = re.search("Subject Alternative Name:.*\\n *(.*)", text)
            names = {("dns", name.lower()) for name in re.findall("commonName += (.*)", text)[-1:]}
            for name in found[1].split(", ") if found else []:
                kind, _, value = name.partition(":")
                if kind == "IP Address": names.add(("ip", str(ipaddress.ip_address(value))))
                else: names.add((kind.lower(), value.lower()))
            return names
        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_): pass
            def reply(self, status, body=None, **headers):
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                state["nonce"] += 1
                self.send_response(status)
                # RFC 8555 6.5: with what succeeds, and with each answer to a POST.
                if status < 400 or self.command == "POST": self.send_header("Replay-Nonce", "n%d" % state["nonce"])
                for name, value in headers.items(): self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD": self.wfile.write(data)
            def do_HEAD(self):
                if not self.goes_wrong(self.path[1:]): self.reply(200)
            def do_GET(self):
                path = self.path[1:]
                if self.goes_wrong(path): return
                if path.startswith("renewalInfo/"):
                    with open("questions", "a") as file: file.write(path + "\\n")
                    wait = open("retry-after").read() if os.path.exists("retry-after") else "21600"
                    return self.reply(200, json.load(open("renewal-info")), Retry_After=wait)
                directory = {n: base + n for n in ("newNonce", "newAccount", "newOrder")}
                if os.path.exists("renewal-info"): directory["renewalInfo"] = base + "renewalInfo"
                if os.path.exists("profiles"): directory["meta"] = {"profiles": json.load(open("profiles"))}
                self.reply(200, directory)
            def order(self):
                scheme = base.replace("https", "http") if fault == "plain" else base
                return {"status": state["order"], "authorizations": [base + "authz"], "finalize": scheme + "finalize",
                        "certificate": base + "cert"}
            def authz(self):
                return {"status": state["authz"], "identifier": state["names"][0], "challenges": [
                    {"type": "http-01", "url": base + "chall", "token": token, "status": state["authz"]}]}
            def goes_wrong(self, path):
                if fault == "hold":
                    if path != place or not os.path.exists("held"): return False
                    self.reply(200, getattr(self, path)() | {"status": "processing"})
                    return True
                if path != place or fault != "limit" and state["left"] == 0: return False
                state["left"] -= 1
                if fault == "busy": self.reply(503, b"<html>busy</html>", Retry_After="1")
                elif fault == "limit": self.reply(
                    429, {"type": "urn:ietf:params:acme:error:rateLimited", "detail": "too many certificates"},
                    Retry_After="3600")
                elif fault == "missing": self.reply(404, b"<html>nothing here</html>")
                elif fault == "break": self.connection.shutdown(2)
                elif fault == "garbage": self.reply(200, b"{{{")
                elif fault == "list": self.reply(200, [1, 2])
                elif fault.startswith("state="): self.reply(200, getattr(self, path)() | {"status": fault[6:]})
                elif fault == "move": self.reply(302, b"", Location=base + "elsewhere")
                else: return False
                return True
            def do_POST(self):
                jws = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                payload, path = jws["payload"] and json.loads(decoded(jws["payload"])), self.path[1:]
                if self.goes_wrong(path): return
                if path == "newAccount": self.reply(201, {"status": "valid"}, Location=base + "account")
                elif path == "newOrder":
                    state.update(names=payload["identifiers"], order="pending", authz="pending")
                    with open("orders", "a") as file: file.write(json.dumps(state["names"]) + "\\n")
                    others = {name: payload[name] for name in sorted(payload) if name != "identifiers"}
                    with open("wishes", "a") as file: file.write(json.dumps(others) + "\\n")
                    if "replaces" in payload and os.path.exists("replaced"):
                        return self.reply(409, {
                            "type": "urn:ietf:params:acme:error:alreadyReplaced", "detail": "it was replaced"})
                    has_address = any(name["type"] == "ip" for name in state["names"])
                    if has_address and os.path.exists("profiles") and "profile" not in payload:
                        return self.reply(400, {
                            "type": "urn:ietf:params:acme:error:rejectedIdentifier", "detail": "no addresses here"})
                    self.reply(201, self.order(), Location=base + "order")
                elif path == "authz": self.reply(200, self.authz())
                elif path == "chall":
                    state["authz"], state["order"] = "valid", "ready"
                    self.reply(200, self.authz()["challenges"][0])
                elif path == "finalize":
                    with open("in.csr", "wb") as file: file.write(decoded(payload["csr"]))
                    if names_of_request() != {(name["type"], name["value"]) for name in state["names"]}:
                        return self.reply(403, {
                            "type": "urn:ietf:params:acme:error:unauthorized",
                            "detail": "the request does not name the identifiers of the order"})
                    late = ["sh", "-c", "openssl req -inform DER -in in.csr | ./issue-late > out.pem"]
                    subprocess.run(
                        late if os.path.exists("issue-late") else
                        ["openssl", "x509", "-req", "-inform", "DER", "-in", "in.csr", "-CA", "acme-ca.pem", "-CAkey",
                         "acme-ca.key", "-CAcreateserial", "-days", "5", "-copy_extensions", "copy", "-extfile", "leaf.ext",
                         "-out", "out.pem"],
                        check=True)
                    state["order"] = "valid"
                    self.reply(200, self.order())
                elif path == "order": self.reply(200, self.order())
                elif path == "cert": self.reply(200, open("out.pem", "rb").read())
                else: self.reply(404, {})
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        base = "https://127.0.0.1:%d/" % server.server_port
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain("acme.pem", "acme.key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
        with open("leaf.ext", "w") as file: file.write("authorityKeyIdentifier=keyid\\n")
        with open("port.new", "w") as file: file.write(str(server.server_port))
        os.rename("port.new", "port")
        server.serve_forever()
        """
}

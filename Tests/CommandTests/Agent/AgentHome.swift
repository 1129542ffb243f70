import Foundation
import Glibc
import TestSupport
import Testing

/// A user with keys on the token: `deploy`, which the tests serve, and `other`, which they do not.
struct AgentHome: ScriptHome {
    let home: TestHome

    /// - Parameter keys: Whether the two keys are made.
    init(keys: Bool = true) throws {
        home = try TestHome.unattended()
        try FileManager.default.createDirectory(
            atPath: home.directory.file("bin"), withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(
            atPath: home.directory.file("bin/keyfob"), withDestinationPath: Tool.commandPath)
        guard keys else { return }
        try shell("keyfob key generate deploy >/dev/null; keyfob key generate other >/dev/null")
    }

    var environment: [String: String] {
        home.environment.merging([
            "PATH": file("bin") + ":/usr/sbin:/usr/bin:/bin", "KEYFOB_NO_INPUT": "1", "TMPDIR": home.directory.path,
        ]) { $1 }
    }

    /// The path of a file of the test.
    func file(_ name: String) -> String { home.directory.file(name) }

    /// Runs a script with an agent in the background, which ends with the script.
    @discardableResult
    func shell(
        withAgent options: String, _ script: String, environment more: [String: String] = [:]
    ) throws -> String {
        try shell(
            "eval \"$(keyfob agent \(options))\"; trap 'kill $SSH_AGENT_PID' EXIT\n" + script, environment: more)
    }

    /// Functions of Python that speak the protocol of the agent.
    static let python = """
        import os, socket, struct, subprocess, sys, time
        def connect():
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(100)
            s.connect(os.environ["SSH_AUTH_SOCK"])
            return s
        def frame(body): return struct.pack(">I", len(body)) + body
        def answer(s):
            try:
                head = s.recv(4, socket.MSG_WAITALL)
                return s.recv(struct.unpack(">I", head)[0], socket.MSG_WAITALL) if len(head) == 4 else None
            except ConnectionError: return None
        def ask(s, body):
            try: s.sendall(frame(body))
            except ConnectionError: return None
            return answer(s)
        def string(body): return struct.pack(">I", len(body)) + body
        LIST = bytes([11])
        def is_alive(): return ask(connect(), LIST)[0] == 12
        def key():
            body = ask(connect(), LIST)
            return body[9:9 + struct.unpack(">I", body[5:9])[0]]
        def sign_request(blob): return bytes([13]) + string(blob) + string(b"message") + bytes(4)

        """

    /// Runs a script of Python with an agent, and returns what it prints.
    func python(
        withAgent options: String = "--ssh deploy", _ script: String, environment more: [String: String] = [:]
    ) throws -> String {
        try home.directory.write((Self.python + script).utf8, to: "client.py")
        return try shell(withAgent: options, "python3 client.py", environment: more)
    }
}

import Foundation
import KeyfobPrimitives
import TestSupport
import Testing

@testable import Keyfob
@testable import KeyfobToken

@Suite struct HealingTests {
    @Test func `a complete token file is valid, and no truncated one is`() throws {
        let softHSM = try SoftHSMProcess()
        let token = try softHSM.makeToken("whole")
        let bytes = [UInt8](try Data(contentsOf: token.directory.appendingPathComponent("token.object")))
        let file = try #require(TokenFile(bytes))
        #expect(file.label == "whole" && file.hasUserPIN && file.serial.count == 16)
        for count in 0..<bytes.count { #expect(TokenFile(Array(bytes.prefix(count))) == nil, "\(count) bytes") }
        #expect(TokenFile(bytes + [0]) == nil)
        let shown = try run("softhsm2-util", ["--show-slots"], environment: softHSM.environment)
        #expect(shown.stdout.contains(file.serial))
    }

    @Test(arguments: [0, 7, 100, 319])
    func `an emptied or truncated token file is restored, and its key signs again`(count: Int) throws {
        let softHSM = try SoftHSMProcess()
        let token = try softHSM.makeToken("hurt")
        try softHSM.makeKey("hurt")
        #expect(try softHSM.directory.heal() == .init(restored: [], unusable: []))
        try softHSM.directory.refreshCopies()
        try softHSM.empty(token, to: count)
        if count == 0 { #expect(try !softHSM.keySigns("hurt")) }
        #expect(try softHSM.directory.token(serial: token.serial, label: "hurt") == nil)
        #expect(try softHSM.directory.heal().restored == [token])
        #expect(try softHSM.keySigns("hurt"))
        #expect(try softHSM.directory.heal().restored.isEmpty)
    }

    @Test func `every changed byte of a token file is damage, except in the counter that SoftHSM changes`() throws {
        let softHSM = try SoftHSMProcess()
        let token = try softHSM.makeToken("flipped")
        let bytes = [UInt8](try Data(contentsOf: token.directory.appendingPathComponent("token.object")))
        let file = try #require(TokenFile(bytes))
        #expect(!file.isDamaged(since: file))
        for offset in bytes.indices {
            var changed = bytes
            changed[offset] ^= 0xFF
            // The file begins with a counter.
            #expect(TokenFile(changed)?.isDamaged(since: file) ?? true == (offset >= 8), "byte \(offset)")
        }
        for fill in [0, 0xFF] as [UInt8] {
            var changed = bytes
            for offset in bytes.indices.suffix(file.userPIN.count) { changed[offset] = fill }
            #expect(try #require(TokenFile(changed)).isDamaged(since: file))
        }
    }

    @Test func `a damaged token without a copy is not restored, and other tokens stay unchanged`() throws {
        let softHSM = try SoftHSMProcess()
        let hurt = try softHSM.makeToken("hurt")
        let whole = try softHSM.makeToken("whole")
        try softHSM.empty(hurt)
        let healing = try softHSM.directory.heal()
        #expect(healing.restored.isEmpty)
        #expect(healing.unusable == [hurt.directory.lastPathComponent])
        #expect(try softHSM.directory.tokens() == [whole])
        // No copy is made of an unusable file either.
        try softHSM.directory.refreshCopies()
        #expect(try softHSM.directory.heal().unusable == [hurt.directory.lastPathComponent])
    }

    /// Names of directories beside a token's directory. SoftHSM opens each of them.
    @Test(arguments: [".bak", "", "hidden"])
    func `a duplicate of a token is reported before SoftHSM would end the process`(kind: String) throws {
        let softHSM = try SoftHSMProcess()
        let token = try softHSM.makeToken("double")
        _ = try softHSM.makeToken("other")
        let name = token.directory.lastPathComponent
        let copy = softHSM.directory.tokensDirectory.appendingPathComponent(
            kind == "" ? UUID().uuidString.lowercased() : kind == "hidden" ? "." + name : name + kind)
        try FileManager.default.copyItem(at: token.directory, to: copy)
        #expect(try run("softhsm2-util", ["--show-slots"], environment: softHSM.environment).status != 0)
        let looks: [() throws -> Void] = [
            { try softHSM.directory.heal() }, { try softHSM.directory.requireDistinctTokens() },
        ]
        for look in looks {
            do {
                try look()
                Issue.record("SoftHSM would be loaded")
            } catch let error as KeychainError {
                #expect(error.code == .tokenAmbiguous && error.message.contains(token.serial), "\(error)")
                for path in [token.directory.path, copy.path] {
                    #expect(error.hint?.contains(path) ?? false, "\(error)")
                }
            }
        }
        // A symbolic link is not a duplicate, because SoftHSM does not follow it.
        try FileManager.default.removeItem(at: copy)
        try FileManager.default.createSymbolicLink(at: copy, withDestinationURL: token.directory)
        try softHSM.directory.heal()
        #expect(try run("softhsm2-util", ["--show-slots"], environment: softHSM.environment).status == 0)
    }

    @Test func `repairing waits for a file that a login is rewriting`() throws {
        let softHSM = try SoftHSMProcess()
        let token = try softHSM.makeToken("busy")
        try softHSM.directory.refreshCopies()
        let file = token.directory.appendingPathComponent("token.object")
        let bytes = try Data(contentsOf: file)
        let lock = softHSM.directory.lockFile
        // A busy machine may delay the writer until the file is treated as unusable.
        let isWaitedFor = try (0..<5).contains { _ in
            try softHSM.empty(token)
            let isOver = Lock(false)
            let writer = POSIXThread.start("login") {
                // Starts when `heal` waits, which holds the lock.
                while code({ try FileLock.holding(lock, deadline: .after(.zero)) {} }) == nil {
                    guard !isOver.withLock({ $0 }) else { return }
                    usleep(1000)
                }
                usleep(20_000)
                do { try bytes.write(to: file) } catch { Issue.record(error) }
            }
            let healing = try softHSM.directory.heal()
            isOver.withLock { $0 = true }
            try #require(writer).join()
            return healing == .init(restored: [], unusable: [])
        }
        #expect(isWaitedFor)
    }

    /// Starts a thread that rewrites a token's file as logins do, until the returned value is `true`.
    ///
    /// The file is empty half of the time, but never long enough to be repaired.
    private func emptyAgainAndAgain(_ token: URL) throws -> Lock<Bool> {
        let path = token.appendingPathComponent("token.object").path
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        let isOver = Lock(false)
        let writer = Thread {
            // Written in place, as SoftHSM does it.
            let file = unsafe open(path, O_WRONLY)
            while !isOver.withLock({ $0 }) {
                ftruncate(file, 0)
                usleep(50)
                unsafe pwrite(file, bytes, bytes.count, 0)
                usleep(50)
            }
            close(file)
        }
        writer.start()
        return isOver
    }

    @Test func `a token whose file logins keep emptying is never reported as absent`() throws {
        let softHSM = try SoftHSMProcess()
        let token = try softHSM.makeToken("busy")
        let isOver = try emptyAgainAndAgain(token.directory)
        defer { isOver.withLock { $0 = true } }
        let absences = try (0..<500).count { _ in
            try softHSM.directory.awaitToken(serial: token.serial, label: "busy") == .absent
        }
        #expect(absences == 0)
    }

    @Test func `a token that logins are rewriting is destroyed and not treated as missing`() throws {
        let softHSM = try SoftHSMProcess()
        for round in 0..<8 {
            let token = try softHSM.makeToken("busy\(round)")
            let isOver = try emptyAgainAndAgain(token.directory)
            defer { isOver.withLock { $0 = true } }
            try softHSM.directory.destroyToken(serial: token.serial, label: token.label)
            #expect(!FileManager.default.fileExists(atPath: token.directory.path))
        }
    }

    @Test func `the copy is updated after a PIN change and not after a login`() throws {
        let softHSM = try SoftHSMProcess()
        let token = try softHSM.makeToken("pin")
        try softHSM.directory.refreshCopies()
        let copy = softHSM.directory.copyFile(token.directory.lastPathComponent)
        let first = try Data(contentsOf: copy)
        #expect(try softHSM.tool("pin", ["-O"]).status == 0)
        try softHSM.directory.refreshCopies()
        #expect(try Data(contentsOf: copy) == first)
        #expect(try softHSM.tool("pin", ["--change-pin", "--new-pin", "567890"]).status == 0)
        try softHSM.directory.refreshCopies()
        #expect(try Data(contentsOf: copy) != first)
        try softHSM.empty(token)
        try softHSM.directory.heal()
        let result = try run(
            "pkcs11-tool",
            ["--module", TestToken.modulePath, "--token-label", "pin", "--login", "--pin", "567890", "-O"],
            environment: softHSM.environment)
        #expect(result.status == 0)
    }

    /// Logs in and out as fast as possible until it is killed.
    private static let loop = """
        #include <p11-kit/pkcs11.h>
        #include <dlfcn.h>
        #include <string.h>
        int main(int argc, char **argv) {
            void *library = dlopen(argv[1], RTLD_NOW);
            CK_C_GetFunctionList list = (CK_C_GetFunctionList)dlsym(library, "C_GetFunctionList");
            CK_FUNCTION_LIST *f;
            CK_SLOT_ID slots[16];
            CK_ULONG count = 16, i;
            CK_SESSION_HANDLE session;
            if (list(&f) || f->C_Initialize(NULL) || f->C_GetSlotList(CK_TRUE, slots, &count)) return 2;
            for (i = 0; i < count; i++) {
                CK_TOKEN_INFO info;
                if (f->C_GetTokenInfo(slots[i], &info) || memcmp(info.label, argv[2], strlen(argv[2]))) continue;
                if (f->C_OpenSession(slots[i], CKF_SERIAL_SESSION | CKF_RW_SESSION, NULL, NULL, &session)) return 3;
                for (;;) {
                    if (f->C_Login(session, CKU_USER, (unsigned char *)"1234", 4)) return 4;
                    f->C_Logout(session);
                }
            }
            return 5;
        }
        """

    @Test func `after 120 kills during continuous logins the token opens and its key signs`() throws {
        let softHSM = try SoftHSMProcess()
        _ = try softHSM.makeToken("killed")
        try softHSM.makeKey("killed")
        try softHSM.directory.refreshCopies()
        let source = try softHSM.temporary.write(Self.loop.utf8, to: "loop.c")
        let program = softHSM.temporary.file("loop")
        let compiled = try run("cc", ["-DCRYPTOKI_COMPAT", "-I/usr/include/p11-kit-1", "-o", program, source, "-ldl"])
        try #require(compiled.status == 0, "\(compiled.stderr)")

        var restored = 0
        for _ in 0..<60 {
            let children = try (0..<2).map { _ in
                try SpawnedProcess(
                    [program, TestToken.modulePath, "killed"],
                    environment: ProcessInfo.processInfo.environment.merging(softHSM.environment) { $1 },
                    streams: (STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO))
            }
            usleep(UInt32.random(in: 15_000...40_000))
            for child in children { child.kill() }
            let healing = try softHSM.directory.heal()
            #expect(healing.unusable.isEmpty)
            restored += healing.restored.count
        }
        // Empties the file if no kill did, so that a restoration is always tested.
        if restored == 0 { try softHSM.empty(try #require(softHSM.directory.tokens().first)) }
        try softHSM.directory.heal()
        #expect(try softHSM.keySigns("killed"))
        print("the kills emptied token.object \(restored) times")
    }
}

import Foundation
import KeyfobPrimitives
import TestSupport
import Testing

@testable import Keyfob

@Suite struct HealingTests {
    @Test func `a token file is well-formed as a whole and cut off nowhere`() throws {
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
    func `an emptied or cut token file is put back and its key signs again`(count: Int) throws {
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

    @Test func `whatever byte of a token file changes, it is damage unless SoftHSM changes that byte itself`() throws {
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

    @Test func `without a copy nothing is invented, and the other tokens are left alone`() throws {
        let softHSM = try SoftHSMProcess()
        let hurt = try softHSM.makeToken("hurt")
        let whole = try softHSM.makeToken("whole")
        try softHSM.empty(hurt)
        let healing = try softHSM.directory.heal()
        #expect(healing.restored.isEmpty)
        #expect(healing.unusable == [hurt.directory.lastPathComponent])
        #expect(try softHSM.directory.tokens() == [whole])
        // A copy is not made of what is unusable, either.
        try softHSM.directory.refreshCopies()
        #expect(try softHSM.directory.heal().unusable == [hurt.directory.lastPathComponent])
    }

    /// Names of directories beside a token's; SoftHSM opens what is called by any of them.
    @Test(arguments: [".bak", "", "hidden"])
    func `a copy of a token beside it is told before SoftHSM ends the process for it`(kind: String) throws {
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
        // What SoftHSM does not read is nobody's double.
        try FileManager.default.removeItem(at: copy)
        try FileManager.default.createSymbolicLink(at: copy, withDestinationURL: token.directory)
        try softHSM.directory.heal()
        #expect(try run("softhsm2-util", ["--show-slots"], environment: softHSM.environment).status == 0)
    }

    @Test func `a file that a login is rewriting is waited for`() throws {
        let softHSM = try SoftHSMProcess()
        let token = try softHSM.makeToken("busy")
        try softHSM.directory.refreshCopies()
        let file = token.directory.appendingPathComponent("token.object")
        let bytes = try Data(contentsOf: file)
        let lock = softHSM.directory.lockFile
        // A busy machine may keep the writer from its work for as long as an unusable file is not believed.
        let isWaitedFor = try (0..<5).contains { _ in
            try softHSM.empty(token)
            let isOver = Lock(false)
            let writer = POSIXThread.start("login") {
                // Not before it is waited for: the lock is held then.
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

    /// Has a thread do to a token's file what logins do, until the result is true: empty it, and write it again. It is
    /// empty for half of the time, and never for long enough to be healed.
    private func emptyAgainAndAgain(_ token: URL) throws -> Lock<Bool> {
        let path = token.appendingPathComponent("token.object").path
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        let isOver = Lock(false)
        let writer = Thread {
            // As SoftHSM does it: in place.
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

    @Test func `a token whose file logins empty again and again is never said to be absent`() throws {
        let softHSM = try SoftHSMProcess()
        let token = try softHSM.makeToken("busy")
        let isOver = try emptyAgainAndAgain(token.directory)
        defer { isOver.withLock { $0 = true } }
        let absences = try (0..<500).count { _ in
            try softHSM.directory.awaitToken(serial: token.serial, label: "busy") == .absent
        }
        #expect(absences == 0)
    }

    @Test func `a token that logins are rewriting is destroyed, not taken for one that is gone`() throws {
        let softHSM = try SoftHSMProcess()
        for round in 0..<8 {
            let token = try softHSM.makeToken("busy\(round)")
            let isOver = try emptyAgainAndAgain(token.directory)
            defer { isOver.withLock { $0 = true } }
            try softHSM.directory.destroyToken(serial: token.serial, label: token.label)
            #expect(!FileManager.default.fileExists(atPath: token.directory.path))
        }
    }

    @Test func `the copy follows a PIN change and is not rewritten for a login`() throws {
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

    /// Logs in and out, as fast as it can, until it is killed.
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

    @Test func `after 120 kills in tight loops of logins the token opens and its key signs`() throws {
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
        // Also where chance spared the file, the last step of the proof is made.
        if restored == 0 { try softHSM.empty(try #require(softHSM.directory.tokens().first)) }
        try softHSM.directory.heal()
        #expect(try softHSM.keySigns("killed"))
        print("the kills emptied token.object \(restored) times")
    }
}

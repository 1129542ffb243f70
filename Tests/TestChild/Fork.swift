import Foundation
import Keyfob
import KeyfobPrimitives
import OpenSSL

/// A process that forks while it has a keychain open.
extension TestChild {
    /// Swift hides fork(2), because little of a Swift program may be used after it.
    static func cFork() -> Int32 {
        guard let symbol = unsafe dlsym(nil, "fork") else { exit(70) }
        return unsafe unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)()
    }

    /// Forks, and works on both sides; `how` says with what.
    ///
    /// - `same`: with the keychain that the parent opened. `anew`: the child opens it again.
    /// - `orphan`: as `same`, and the parent is gone.
    /// - `signing`: as `same`, while other threads of the parent sign: the child works or is refused, and never hangs.
    static func fork(
        _ keychain: Keychain, _ how: [String], _ directories: Directories, _ options: Keychain.Options
    ) throws {
        let how = how.first ?? ""
        try keychain.add(GenericPassword(service: "before", account: "a"), secret: SecretBytes(utf8: "before"))
        let key = try keychain.tokenKey(for: keychain.generateKey(.p256, label: "key"))
        try work(keychain, key, "warm-up")
        if how == "signing" {
            for _ in 0..<3 {
                Thread.detachNewThread {
                    do { while true { try sign(key) } } catch { exit(72) }
                }
            }
            usleep(50_000)
        }
        // Who waits for ever is ended by the kernel, and so found out.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGALRM)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        let child = cFork()
        alarm(200)
        guard child != 0 else {
            do {
                if how == "anew" {
                    let own = try Keychain.open(keychain.name, in: directories, options: options)
                    try work(own, own.tokenKey(for: own.only(.keys.keyClass(.private).having(.label, .string("key")))), "child")
                } else {
                    try work(keychain, key, "child")
                }
                say("child done")
                _exit(0)
            } catch let error as KeychainError {
                say("child: \(error.code)")
                _exit(error.code == .refused ? 0 : 1)
            } catch {
                say("child: \(error)")
                _exit(1)
            }
        }
        if how == "orphan" { _exit(0) }
        try work(keychain, key, "parent")
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) < 0 && errno == EINTR {}
        say("parent done")
        _exit(status == 0 ? 0 : 1)
    }

    /// Forks again and again while other threads sign and seal; says how many children worked, were refused, and hung.
    static func forks(_ keychain: Keychain, _ count: Int) throws {
        try keychain.add(GenericPassword(service: "before", account: "a"), secret: SecretBytes(utf8: "before"))
        let key = try keychain.tokenKey(for: keychain.generateKey(.p256, label: "key"))
        try sign(key)
        for _ in 0..<2 {
            Thread.detachNewThread {
                do { while true { try sign(key) } } catch { exit(72) }
            }
        }
        Thread.detachNewThread {
            do {
                while true {
                    let item = try keychain.only(.genericPassword(service: "before"))
                    _ = try keychain.secret(of: item)
                }
            } catch { exit(73) }
        }
        usleep(20_000)
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGALRM)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        var (done, refused, hung) = (0, 0, 0)
        for index in 0..<count {
            let child = cFork()
            guard child != 0 else {
                // Who waits for ever is ended by the kernel, and so found out.
                alarm(120)
                do {
                    try sign(key)
                    try keychain.add(
                        GenericPassword(service: "child \(index)", account: "a"), secret: SecretBytes(utf8: "s"))
                    _exit(0)
                } catch let error as KeychainError {
                    _exit(error.code == .refused ? 2 : 1)
                } catch {
                    _exit(1)
                }
            }
            var status: Int32 = 0
            while unsafe waitpid(child, &status, 0) < 0 && errno == EINTR {}
            switch status {
            case 0: done += 1
            case 2 << 8: refused += 1
            case SIGALRM: hung += 1
            default: exit(74)
            }
            // Who says nothing for minutes is killed.
            if index % 25 == 24 { say(".") }
            usleep(.random(in: 0...500))
        }
        say("\(done) \(refused) \(hung)")
        _exit(0)
    }

    private static func sign(_ key: TokenKey) throws {
        let message = Array("message".utf8)
        let signature = try key.sign(message, using: .ecdsa(.sha256))
        guard try key.publicKey.verify(signature, of: message, using: .ecdsa(.sha256)) else {
            throw KeychainError(.failed, "the signature is another key's.")
        }
    }

    private static func work(_ keychain: Keychain, _ key: TokenKey, _ prefix: String) throws {
        for index in 0..<20 {
            let text = "\(prefix)-\(index)"
            try keychain.add(GenericPassword(service: text, account: "a"), secret: SecretBytes(utf8: text))
            for name in [text, "before"] {
                let item = try keychain.only(.genericPassword(service: name))
                guard try keychain.secret(of: item) == SecretBytes(utf8: name) else {
                    throw KeychainError(.failed, "another secret was read.")
                }
            }
            try sign(key)
        }
        _ = try keychain.generateKey(.p256, label: prefix)
    }
}

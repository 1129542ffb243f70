import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// Repeats one operation on a keychain until it is killed or done.
///
/// Arguments: the keychain's root and tokens directories, its name, the operation, and what it needs. Before and after
/// each step it reports on standard output, unbuffered: `>` begun, `<` done.
@main struct TestChild {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 5 else { exit(64) }
        if arguments[4] == "tokens" { return try tokens(arguments[5], Int(arguments[6]) ?? 0) }
        if arguments[4] == "share" { return try share(arguments[5], group: arguments[6], label: arguments[7]) }
        if arguments[4] == "program" { return try program(Array(arguments.dropFirst(5))) }
        if arguments[4] == "give" { return try give(arguments[5], to: arguments[6], as: arguments[7]) }
        if arguments[4] == "issuer" { return try setForeignIssuer(of: arguments[5]) }
        if arguments[4] == "stall" { return try endInStall(arguments[5], arguments[6]) }
        if arguments[4] == "release" { return try endInFinalisation(arguments[5]) }
        if arguments[4] == "claim" { return try claim(arguments[5], arguments[6]) }
        if arguments[4] == "create" { return try create(arguments[5], arguments[6]) }
        var directories = Directories(root: URL(fileURLWithPath: arguments[1], isDirectory: true))
        directories.tokens = URL(fileURLWithPath: arguments[2], isDirectory: true)
        if arguments[4] == "load" { return try load(directories, arguments[3], Array(arguments.dropFirst(5))) }
        var options = Keychain.Options()
        options.timeout = .seconds(60)
        let keychain = try Keychain.open(arguments[3], in: directories, options: options)
        let rest = Array(arguments.dropFirst(5))
        try keychain.unlock()
        say("ready")
        switch arguments[4] {
        case "identities": try identities(keychain, rest[0], Int(rest[1]) ?? 0)
        case "services": try services(keychain, rest[0], Int(rest[1]) ?? 0)
        case "replacements": try replacements(keychain, rest[0], Int(rest[1]) ?? 0)
        case "keys": try keys(keychain, rest[0])
        case "renewals": try renewals(keychain, rest[0])
        case "labels": try labels(keychain, rest[0], rest.count > 1 ? Int(rest[1]) : nil)
        case "add": try add(keychain, rest[0])
        case "secrets": try secrets(keychain, Int(rest[0]) ?? 0)
        case "rewrite": try rewrite(rest[0])
        case "hold": try hold(rest[0])
        case "objects": try objects(keychain)
        case "certificates": try certificates(keychain, rest[0])
        case "files": try files(keychain, rest[0])
        case "mixed": try mixed(keychain, rest[0], Int(rest[1]) ?? 0)
        case "fork": try fork(keychain)
        case "end": try endAtWork(keychain)
        default: exit(64)
        }
    }

    static func say(_ text: String) {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }

    /// Imports the identities of a directory and removes them again, without end.
    private static func identities(_ keychain: Keychain, _ path: String, _ count: Int) throws {
        while true {
            for index in 0..<count {
                let folder = URL(fileURLWithPath: path, isDirectory: true)
                let certificate = try Certificate(der: Data(contentsOf: folder.appendingPathComponent("\(index).der")))
                let key = try PrivateKey.load(Data(contentsOf: folder.appendingPathComponent("\(index).pem")))
                let hash = certificate.publicKey.identifier
                let query = Query<Identity>().having(.publicKeyHash, .data(hash))
                if try keychain.find(query).isEmpty {
                    say(">+\(index)")
                    _ = try keychain.identities.importKeyPair(key: key, certificate: certificate)
                    say("<+\(index)")
                } else {
                    say(">-\(index)")
                    try keychain.delete(query)
                    say("<-\(index)")
                }
            }
        }
    }

    /// Renews an identity and retires the previous version, without end.
    private static func renewals(_ keychain: Keychain, _ name: String) throws {
        for index in 0... {
            let identity = try keychain.only(.identity(label: name))
            say(">r")
            try keychain.identities.renew(identity, key: index % 2 == 0 ? .new(nil) : .same, issuer: SelfIssuer())
            say("<r")
            for version in try keychain.identities.versions(of: name) where version.nameOfVersion != nil {
                try keychain.identities.retire(version)
            }
        }
    }

    /// Gives all keys and certificates other labels, `PREFIX-0`, `PREFIX-1`, …: a number of times, or without end.
    private static func labels(_ keychain: Keychain, _ prefix: String, _ count: Int?) throws {
        for index in 0..<(count ?? .max) {
            say(">\(prefix)-\(index)")
            for itemClass in [ItemClass.key, .certificate] {
                _ = try keychain.update(Criteria(itemClass), [.label: .string("\(prefix)-\(index)")])
            }
            say("<\(prefix)-\(index)")
        }
    }

    private static func keys(_ keychain: Keychain, _ prefix: String) throws {
        for index in 0... {
            say(">+\(prefix)-\(index)")
            _ = try keychain.keys.generate(.p256, label: "\(prefix)-\(index)")
            say("<+\(prefix)-\(index)")
        }
    }

    /// Adds one item in each round; a line from standard input starts the round.
    private static func add(_ keychain: Keychain, _ prefix: String) throws {
        while let round = readLine() {
            do {
                try keychain.add(
                    GenericPassword(service: "\(prefix)-\(round)", account: "a"),
                    secret: SecretBytes(utf8: "\(getpid())"))
                say("added")
            } catch let error as KeychainError where error.code == .duplicateItem {
                say("duplicate")
            }
        }
    }

    /// Lists everything, twice, and reads the first secrets.
    private static func secrets(_ keychain: Keychain, _ count: Int) throws {
        for _ in 0..<2 { say("\(try keychain.find(.genericPasswords).count)") }
        for item in try keychain.find(.genericPasswords).prefix(count) {
            say(try keychain.secret(of: item)?.copyString() ?? "none")
        }
    }

    /// Loads SoftHSM with dlopen(3), or initialises and finalises it through our module, and then asks for a directory.
    private static func claim(_ path: String, _ how: String) throws {
        let library = "/usr/lib/softhsm/libsofthsm2.so"
        switch how {
        case "foreign": _ = unsafe dlopen(library, RTLD_NOW)
        // Without a configuration it may refuse to start, and is loaded all the same.
        case "released": _ = try? Module.load(path: library).slots()
        default: break
        }
        do {
            try SoftHSMDirectory(root: URL(fileURLWithPath: path, isDirectory: true)).activate()
            say("activated")
        } catch { say(error.code.rawValue) }
    }

    /// Creates tokens while other threads ask SoftHSM for all tokens, which makes it read their files.
    private static func tokens(_ path: String, _ count: Int) throws {
        let directory = SoftHSMDirectory(root: URL(fileURLWithPath: path, isDirectory: true))
        try directory.activate()
        let module = try directory.module()
        for _ in 0..<3 {
            Thread.detachNewThread {
                while true {
                    for slot in (try? module.slots()) ?? [] { _ = try? slot.tokenInfo() }
                }
            }
        }
        for index in 0..<count {
            let made = try directory.createToken(label: "token-\(index)", deadline: .after(.seconds(60)))
            guard try directory.token(serial: made.token.serial, label: made.token.label)?.hasUserPIN == true else {
                exit(1)
            }
            say("made")
        }
        // exit(3) would unload SoftHSM while threads are inside it.
        _exit(0)
    }

    /// Executes each line from standard input. Prints the code of an error that a change ends with.
    private static func objects(_ keychain: Keychain) throws {
        let slot = try keychain.objects.slot()
        func change(_ body: () throws -> Void) throws {
            do {
                try body()
                say("made")
            } catch let error as KeychainError { say(error.code.rawValue) }
        }
        while let line = readLine() {
            switch line {
            case "look":
                do { say(try slot.tokenInfo().label) } catch { say("broken") }
            case "list":
                say(try keychain.find(.keys).compactMap(\.label).sorted().joined(separator: ","))
            case "remove":
                try change { _ = try keychain.delete(.keys) }
            case "rename":
                try change { _ = try keychain.update(Criteria(.key), [.label: "renamed"]) }
            default:
                try change { _ = try keychain.keys.generate(.p256, label: line) }
            }
        }
    }

    /// Adds the certificates of a directory in one call.
    private static func certificates(_ keychain: Keychain, _ path: String) throws {
        let folder = URL(fileURLWithPath: path, isDirectory: true)
        let items = try FileManager.default.contentsOfDirectory(atPath: path).map { name in
            try CertificateItem(Certificate(der: Data(contentsOf: folder.appendingPathComponent(name))))
        }
        try keychain.certificates.add(contentsOf: items)
        say("made")
    }

    /// Writes a file that every user can read in a directory that does not exist yet, and records that a command is to
    /// be run.
    private static func files(_ keychain: Keychain, _ path: String) throws {
        let folder = URL(fileURLWithPath: path, isDirectory: true)
        try PublicDirectory.make(at: folder)
        try OpenFile.replace(path + "/chain.pem", with: SecretBytes(utf8: "chain"), mode: 0o644)
        try PendingHooks(keychain).add("web")
        say("made")
    }

    /// Creates a keychain with its own token below a directory; it becomes the default if there is none.
    private static func create(_ path: String, _ name: String) throws {
        let directories = Directories(root: URL(fileURLWithPath: path, isDirectory: true))
        let creation: Keychains.Creation
        do {
            creation = try Keychains(directories).create(name, on: .new(.file), makesDefault: true)
        } catch let error as KeychainError { return say(error.code.rawValue) }
        say("made")
        // Closing the vault writes more.
        withExtendedLifetime(creation) {}
    }

    /// Rewrites a file as SoftHSM does on a slow disk: empty and locked, until the content is written again after a
    /// line or the end of standard input.
    private static func rewrite(_ path: String) throws {
        let file = try locked(path)
        let content = try file.readToEnd() ?? Data()
        try file.truncate(atOffset: 0)
        say("empty")
        awaitInput()
        try file.write(contentsOf: content)
        say("done")
    }

    /// Holds SoftHSM's lock on a file, without using it, until the input ends.
    private static func hold(_ path: String) throws {
        let file = try locked(path)
        say("locked")
        awaitInput()
        try file.close()
    }

    /// Waits for the end of the input, for a minute: the process that ends it may be waiting for a lock that is held in
    /// the meantime.
    private static func awaitInput() {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&input, 1, 60_000)
    }

    private static func locked(_ path: String) throws -> FileHandle {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        guard unsafe fcntl(file.fileDescriptor, F_SETLK, &lock) == 0 else { exit(1) }
        return file
    }

    private static func mixed(_ keychain: Keychain, _ prefix: String, _ count: Int) throws {
        for index in 0..<count {
            let service = "\(prefix)-\(index)"
            try keychain.add(GenericPassword(service: service, account: "a"), secret: SecretBytes(utf8: service))
            guard let found = try keychain.find(.genericPassword(service: service)).first,
                try keychain.secret(of: found) == SecretBytes(utf8: service)
            else { exit(1) }
            if index % 2 == 0 { try keychain.delete(found) }
        }
        say("done")
    }
}

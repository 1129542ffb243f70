import CLinux
import Foundation
import KeyfobPrimitives

/// The `pinentry` source: the client side of the Assuan protocol, as far as pinentry needs it.
@safe struct Pinentry: ~Copyable {
    private let socket: OpenFile
    private let deadline: Deadline
    // Never read; kills and reaps the program on deinitialization.
    private let child: ChildProcess

    /// Asks a person through the pinentry program. Blocks until the answer or the deadline.
    ///
    /// - Throws: `KeychainError` with code `cancelled` if the person cancels; `timedOut` at the deadline; `pinRequired`
    ///   if there is no pinentry or it has no display.
    static func ask(_ purpose: PINPurpose, in environment: PINEnvironment) throws(KeychainError) -> SecretBytes {
        let pinentry = try start(environment)
        try pinentry.greet()
        try pinentry.describe(purpose)
        while true {
            let secret = try pinentry.pin(prompt: "PIN:")
            guard purpose.confirms else { return secret }
            if try pinentry.pin(prompt: "Again:") == secret { return secret }
            try pinentry.send("SETERROR " + Self.escaped("The two entries differ. Please try again."))
        }
    }

    private static func start(_ environment: PINEnvironment) throws(KeychainError) -> Pinentry {
        var ends: (Int32, Int32) = (0, 0)
        // A socket rather than two pipes: writing to a pinentry that has died then makes send(2) fail instead of
        // raising SIGPIPE.
        let result = unsafe keyfob_socket_pair(&ends.0, &ends.1)
        guard result == 0 else { throw .file("open", "a socket", errno) }
        let ours = OpenFile(adopting: ends.0, path: "pinentry")
        let theirs = OpenFile(adopting: ends.1, path: "pinentry")
        do throws(KeychainError) {
            let child = try ChildProcess(
                [environment.pinentryProgram], input: theirs.descriptor, output: theirs.descriptor, inOwnGroup: false)
            return Pinentry(socket: ours, deadline: .after(environment.pinentryDeadline), child: child)
        } catch {
            throw KeychainError(
                .pinRequired, "the pinentry program \"\(environment.pinentryProgram)\" cannot be started.",
                hint: "Install one (apt install pinentry-curses), or give another PIN source.", cause: error)
        }
    }

    private func greet() throws(KeychainError) {
        _ = try answer(to: nil)
        let variables = ProcessInfo.processInfo.environment
        if let terminal = variables["GPG_TTY"] ?? Self.terminalName {
            try option("ttyname=" + terminal)
            if let type = variables["TERM"] { try option("ttytype=" + type) }
        }
    }

    private static var terminalName: String? {
        var buffer = [UInt8](repeating: 0, count: 256)
        let result = unsafe buffer.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return EINVAL }
            return unsafe ttyname_r(2, base.assumingMemoryBound(to: CChar.self), bytes.count - 1)
        }
        return result == 0 ? String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self) : nil
    }

    /// Sends an option. Ignores the error of a pinentry that does not know it.
    private func option(_ text: String) throws(KeychainError) {
        try write("OPTION " + Self.escaped(text))
        while true {
            let line = try readLine()
            if line.hasPrefix("OK") || line.hasPrefix("ERR") { return }
        }
    }

    private func describe(_ purpose: PINPurpose) throws(KeychainError) {
        try send("SETTITLE keyfob")
        try send("SETDESC " + Self.escaped(purpose.prompt))
    }

    private func pin(prompt: String) throws(KeychainError) -> SecretBytes {
        try send("SETPROMPT " + Self.escaped(prompt))
        return try answer(to: "GETPIN")
    }

    private func send(_ command: String) throws(KeychainError) {
        _ = try answer(to: command)
    }

    /// Sends `command` and collects the data lines up to `OK`.
    private func answer(to command: String?) throws(KeychainError) -> SecretBytes {
        if let command { try write(command) }
        var data = SecretBytes([])
        while true {
            let line = try readLine()
            if line.hasPrefix("OK") { return data }
            if line.hasPrefix("D ") {
                data = SecretBytes(joining: [data, line.percentDecoded(from: 2)])
                guard data.count <= PINSource.maximumLength + 1 else { return data }
            } else if line.hasPrefix("ERR") {
                throw Self.error(line.copyString() ?? "")
            }
            // Ignore "S" (status) and "#" (comment) lines.
        }
    }

    private static func error(_ line: String) -> KeychainError {
        let code = line.split(separator: " ").dropFirst().first.flatMap { UInt32($0) } ?? 0
        switch code & 0xFFFF {
        // GPG_ERR_CANCELED, GPG_ERR_NOT_CONFIRMED, GPG_ERR_FULLY_CANCELED.
        case 99, 114, 198: return KeychainError(.cancelled, "cancelled.")
        case 62: return timeout
        default:
            return KeychainError(
                .pinRequired, "pinentry could not ask for the PIN (error \(code & 0xFFFF)).",
                hint: "It may have no display here; give another PIN source.", details: ["code": String(code)])
        }
    }

    private static var timeout: KeychainError {
        KeychainError(.timedOut, "pinentry got no answer in time.")
    }

    private func write(_ line: String) throws(KeychainError) {
        var bytes = ArraySlice(Array(line.utf8) + [0x0A])
        while !bytes.isEmpty {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Foundation.send(socket.descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
            }
            if count > 0 { bytes = bytes.dropFirst(count) } else if errno != EINTR { throw Self.closed }
        }
    }

    /// Reads one line, without its newline. Assuan limits a line to 1,000 bytes.
    private func readLine() throws(KeychainError) -> SecretBytes {
        var count = 0
        let line = try unsafe SecretBytes(count: 1002) { (buffer) throws(KeychainError) in
            guard let base = buffer.baseAddress else { return }
            while count < buffer.count {
                guard waitForInput(socket.descriptor, deadline) else { throw Self.timeout }
                // Byte by byte: later bytes stay in the kernel, and no second buffer holds a part of the PIN.
                let received = unsafe read(socket.descriptor, base + count, 1)
                if received == 1 {
                    if unsafe base[count] == 0x0A { return }
                    count += 1
                } else if received == 0 || errno != EINTR {
                    throw Self.closed
                }
            }
            throw Self.closed
        }
        return line.prefix(count)
    }

    private static var closed: KeychainError {
        KeychainError(
            .pinRequired, "pinentry ended without an answer.",
            hint: "It may have no display here; give another PIN source.")
    }

    /// Percent-encodes characters that would end or alter the line.
    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            switch scalar {
            case "%": "%25"
            case "\n": "%0A"
            case "\r": "%0D"
            default: String(scalar)
            }
        }.joined()
    }
}

extension SecretBytes {
    fileprivate func hasPrefix(_ text: String) -> Bool {
        unsafe withUnsafeBytes { unsafe $0.starts(with: text.utf8) }
    }

    /// The bytes from `start` on, with `%XX` decoded.
    fileprivate func percentDecoded(from start: Int) -> SecretBytes {
        var length = 0
        let decoded = unsafe withUnsafeBytes { source in
            unsafe SecretBytes(count: max(0, source.count - start)) { target in
                var index = start
                while index < source.count {
                    var byte = unsafe source[index]
                    if byte == UInt8(ascii: "%"), index + 2 < source.count,
                        let high = unsafe Character(UnicodeScalar(source[index + 1])).hexDigitValue,
                        let low = unsafe Character(UnicodeScalar(source[index + 2])).hexDigitValue
                    {
                        byte = UInt8(high << 4 | low)
                        index += 2
                    }
                    unsafe target[length] = byte
                    length += 1
                    index += 1
                }
            }
        }
        return decoded.prefix(length)
    }
}

import Foundation
import Glibc
import KeyfobPrimitives
import TestSupport

/// A terminal whose keyboard is the test.
final class PseudoTerminal: Sendable {
    /// The device that a program opens.
    let path: String
    private let keyboard: Int32
    private let screen: Int32

    init() throws {
        var (keyboard, screen): (Int32, Int32) = (-1, -1)
        var name = [CChar](repeating: 0, count: 128)
        guard unsafe openpty(&keyboard, &screen, &name, nil, nil) == 0 else { throw POSIXError(.ENOTTY) }
        self.keyboard = keyboard
        // Held open so that the device keeps its settings between two openings.
        self.screen = screen
        path = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit {
        close(screen)
        close(keyboard)
    }

    /// Whether typing is echoed now.
    var echoes: Bool {
        var settings = termios()
        return unsafe tcgetattr(screen, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) != 0
    }

    /// The number of typed bytes that have not been read.
    var waiting: Int32 {
        var settings = termios()
        guard unsafe tcgetattr(screen, &settings) == 0 else { return -1 }
        // Otherwise an unfinished line does not count.
        settings.c_lflag &= ~tcflag_t(ICANON)
        var count: Int32 = 0
        guard unsafe tcsetattr(screen, TCSANOW, &settings) == 0, unsafe ioctl(screen, UInt(FIONREAD), &count) == 0 else {
            return -1
        }
        return count
    }

    /// The output, read until it ends in `text`, or for two minutes. A busy machine may show the prompt late. The
    /// program discards text typed before the prompt, and then waits without end.
    func output(until text: String) -> String {
        // Bytes, not characters: a line ends in CR LF here, which to `String` is one character.
        var seen: [UInt8] = []
        let deadline = Deadline.after(.seconds(120))
        while !seen.suffix(text.utf8.count).elementsEqual(text.utf8), !deadline.hasPassed {
            var poll = pollfd(fd: keyboard, events: Int16(POLLIN), revents: 0)
            guard unsafe Glibc.poll(&poll, 1, 100) == 1 else { continue }
            var byte: UInt8 = 0
            guard unsafe read(keyboard, &byte, 1) == 1 else { break }
            seen.append(byte)
        }
        return String(decoding: seen, as: UTF8.self)
    }

    /// Types `text` at once.
    func type(_ text: String) {
        var text = text
        text.withUTF8 { bytes in _ = unsafe write(keyboard, bytes.baseAddress, bytes.count) }
    }

    /// Starts a program whose controlling terminal is this one.
    func start(_ command: [String], environment: [String: String]) throws -> SpawnedProcess {
        let screen = unsafe open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        defer { close(screen) }
        return try SpawnedProcess(
            ["setsid", "--ctty", "--wait"] + command, environment: environment, streams: (screen, screen, screen))
    }

    /// Changes the size of the window.
    func resize(rows: UInt16, columns: UInt16) {
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = unsafe ioctl(keyboard, UInt(TIOCSWINSZ), &size)
    }

    /// Types each of `lines` after `prompt` was shown once more.
    func type(_ lines: [String], after prompt: String) -> Typist {
        let typist = Typist()
        let thread = Thread { [self] in
            var seen = ""
            for line in lines {
                seen += output(until: prompt)
                type(line)
            }
            seen += output(until: "\n")
            typist.finish(seen)
        }
        thread.start()
        return typist
    }

    /// The thread at the keyboard.
    final class Typist: Sendable {
        private let seen = Lock<String?>(nil)

        fileprivate func finish(_ text: String) {
            seen.withLock { $0 = text }
            seen.broadcast()
        }

        /// The whole output.
        func wait() -> String {
            seen.wait(until: .after(.seconds(180))) { $0 } ?? ""
        }
    }
}

import COpenSSL

/// A libcrypto function failed; holds everything its thread's error stack held.
///
/// The texts are OpenSSL's fixed reason strings. The free-form data that OpenSSL may attach to an entry is
/// dropped: it can hold input.
public struct OpenSSLError: Error, Sendable, CustomStringConvertible {
    /// One entry of the error stack (ERR_get_error(3)).
    public struct Entry: Sendable, Hashable {
        /// The part of OpenSSL that reported it, such as "asn1 encoding routines".
        public let library: String
        /// The fixed text of the reason, such as "wrong tag".
        public let reason: String
        /// The packed number that `openssl errstr` explains.
        public let code: UInt

        /// The number of the library within `code` (ERR_GET_LIB(3)).
        public var libraryNumber: Int32 { ERR_GET_LIB(code) }
        /// The number of the reason within `code` (ERR_GET_REASON(3)).
        public var reasonNumber: Int32 { ERR_GET_REASON(code) }
    }

    /// The C function that failed.
    public let function: String
    /// The drained stack, oldest entry first. May be empty: some functions fail without a word.
    public let stack: [Entry]

    /// Takes the whole error stack of the calling thread, which is empty afterwards.
    init(draining function: StaticString) {
        self.function = function.description
        self.stack = Self.drain()
    }

    /// Function, reasons and codes on one line.
    public var description: String {
        guard !stack.isEmpty else { return "\(function) failed" }
        let reasons = stack.map { "\($0.reason) (\($0.library), 0x\(String($0.code, radix: 16)))" }
        return "\(function) failed: " + reasons.joined(separator: "; ")
    }

    /// Whether the stack has an entry with these numbers.
    func has(library: Int32, reason: Int32) -> Bool {
        stack.contains { $0.libraryNumber == library && $0.reasonNumber == reason }
    }

    private static func drain() -> [Entry] {
        var entries: [Entry] = []
        while true {
            let code = ERR_get_error()
            guard code != 0 else { return entries }
            entries.append(Entry(
                library: unsafe text(ERR_lib_error_string(code)), reason: unsafe text(ERR_reason_error_string(code)),
                code: code))
        }
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String {
        guard let pointer = unsafe pointer else { return "unknown" }
        return unsafe String(cString: pointer)
    }
}

/// Throws unless `result` is positive: what nearly every libcrypto function returns on success.
func check(_ function: StaticString, _ result: Int32) throws(OpenSSLError) {
    guard result > 0 else { throw OpenSSLError(draining: function) }
}

/// The pointer, or the error that left it null.
@unsafe func check(_ function: StaticString, _ pointer: OpaquePointer?) throws(OpenSSLError) -> OpaquePointer {
    guard let pointer = unsafe pointer else { throw OpenSSLError(draining: function) }
    return unsafe pointer
}

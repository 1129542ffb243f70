import COpenSSL

/// A failure of a libcrypto function, with the entries of the thread's error stack.
///
/// The texts are OpenSSL's fixed reason strings. The free-form data of an entry is dropped, because it may contain
/// input.
public struct OpenSSLError: Error, Sendable, CustomStringConvertible {
    /// One entry of the error stack (ERR_get_error(3)).
    public struct Entry: Sendable, Hashable {
        /// The OpenSSL library that reported the error, such as "asn1 encoding routines".
        public let library: String
        /// The fixed text of the reason, such as "wrong tag".
        public let reason: String
        /// The packed error code, which `openssl errstr` explains.
        public let code: UInt

        /// The number of the library within `code` (ERR_GET_LIB(3)).
        public var libraryNumber: Int32 { ERR_GET_LIB(code) }
        /// The number of the reason within `code` (ERR_GET_REASON(3)).
        public var reasonNumber: Int32 { ERR_GET_REASON(code) }
    }

    /// The C function that failed.
    public let function: String
    /// The entries, oldest first. It may be empty: some functions fail without an entry.
    public let stack: [Entry]

    /// Creates an error from the calling thread's error stack, and clears the stack.
    init(draining function: StaticString) {
        self.function = function.description
        self.stack = Self.drain()
    }

    /// The function, reasons and codes on one line.
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

/// Throws unless `result` is positive, the success value of nearly every libcrypto function.
func check(_ function: StaticString, _ result: Int32) throws(OpenSSLError) {
    guard result > 0 else { throw OpenSSLError(draining: function) }
}

/// Returns the pointer, or throws the error stack if it is null.
@unsafe func check(_ function: StaticString, _ pointer: OpaquePointer?) throws(OpenSSLError) -> OpaquePointer {
    guard let pointer = unsafe pointer else { throw OpenSSLError(draining: function) }
    return unsafe pointer
}

public import Foundation

/// Returns the meaning of a result code for users; `SecCopyErrorMessageString` of SecBase.h.
///
/// The result for an unknown code is its number. Never blocks.
///
/// - Parameters:
///   - status: The code.
///   - reserved: Ignored.
@discardableResult
public func SecCopyErrorMessageString(_ status: OSStatus, _ reserved: UnsafeMutableRawPointer?) -> CFString? {
    NSString(string: StatusDescription.sentence(status))
}

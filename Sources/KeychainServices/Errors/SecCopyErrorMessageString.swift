public import Foundation

/// What a result code means, for people; `SecCopyErrorMessageString` of SecBase.h.
///
/// A code that is not known gives its number. Never blocks.
///
/// - Parameters:
///   - status: The code.
///   - reserved: Without meaning.
@discardableResult
public func SecCopyErrorMessageString(_ status: OSStatus, _ reserved: UnsafeMutableRawPointer?) -> CFString? {
    NSString(string: StatusDescription.sentence(status))
}

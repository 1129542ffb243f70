import Foundation

/// Tells truth values from numbers; until the functions of items bring theirs.
enum Boolean {
    /// The truth value, or `nil` for anything else.
    static func value(_ object: AnyObject) -> Bool? {
        object === kCFBooleanTrue ? true : object === kCFBooleanFalse ? false : nil
    }
}

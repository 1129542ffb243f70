import Glibc

/// Calls `body` with texts in the form of `argv`, ended by a null pointer.
func withCStrings<Result>(
    _ strings: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    let array = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: strings.count + 1)
    for (index, string) in strings.enumerated() { unsafe (array + index).initialize(to: strdup(string)) }
    unsafe (array + strings.count).initialize(to: nil)
    defer {
        for index in strings.indices { unsafe free(array[index]) }
        unsafe array.deallocate()
    }
    return unsafe body(array)
}

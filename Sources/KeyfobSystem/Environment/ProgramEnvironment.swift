package import KeyfobPrimitives

/// The variables of a program, whose values may be secrets and may have any bytes.
package struct ProgramEnvironment {
    private struct Variable {
        let name: [UInt8]
        let value: SecretBytes
    }

    private var variables: [Variable] = []

    /// Creates an environment without variables.
    package init() {}

    /// Adds an entry of environ(7), `NAME=VALUE`. An entry without an equals sign is left out.
    package mutating func append(entry: UnsafeRawBufferPointer) {
        guard let end = unsafe entry.firstIndex(of: UInt8(ascii: "=")) else { return }
        let value = unsafe SecretBytes(entry[(end + 1)...])
        variables.append(Variable(name: unsafe Array(entry[..<end]), value: value))
    }

    /// Sets a variable; `nil` removes it.
    ///
    /// The caller may have given several entries of the name, and programs differ in which of them they read. All of
    /// them are removed.
    package mutating func set(_ name: String, to value: SecretBytes?) {
        let bytes = Array(name.utf8)
        let index = variables.firstIndex { $0.name == bytes } ?? variables.endIndex
        variables.removeAll { $0.name == bytes }
        if let value { variables.insert(Variable(name: bytes, value: value), at: index) }
    }

    /// Removes the variables whose names `isUnwanted` returns true for.
    package mutating func remove(where isUnwanted: ([UInt8]) -> Bool) {
        variables.removeAll { isUnwanted($0.name) }
    }

    /// The value of a variable as text; `nil` if it is not set or is not UTF-8.
    package func text(_ name: String) -> String? {
        variables.first { $0.name.elementsEqual(name.utf8) }?.value.copyString()
    }

    /// The variables whose values fulfil a condition. Those that are not UTF-8 are left out.
    package func texts(where isWanted: (String) -> Bool) -> [(name: String, value: String)] {
        variables.compactMap { variable in
            guard let name = String(validating: variable.name, as: UTF8.self),
                let value = variable.value.copyString(), isWanted(value)
            else { return nil }
            return (name, value)
        }
    }

    /// Calls `body` with the variables in the form of environ(7). The memory is wiped afterwards.
    package func withEntries<Result>(
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        let sizes = variables.map { $0.name.count + $0.value.count + 2 }
        let entries = unsafe SecretBytes(count: sizes.reduce(0, +)) { buffer in
            var position = 0
            func put(_ bytes: UnsafeRawBufferPointer) {
                let room = unsafe UnsafeMutableRawBufferPointer(buffer)[position...]
                unsafe UnsafeMutableRawBufferPointer(rebasing: room).copyMemory(from: bytes)
                position += bytes.count
            }
            for variable in variables {
                unsafe variable.name.withUnsafeBytes { unsafe put($0) }
                unsafe buffer[position] = UInt8(ascii: "=")
                position += 1
                unsafe variable.value.withUnsafeBytes { unsafe put($0) }
                // The buffer is zero, so the next byte ends the entry.
                position += 1
            }
        }
        return unsafe entries.withUnsafeBytes { bytes in
            let pointers = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: sizes.count + 1)
            defer { unsafe pointers.deallocate() }
            var position = 0
            for (index, size) in sizes.enumerated() {
                // The kernel and posix_spawn(3) only read the entries.
                let start = unsafe bytes.baseAddress.map { unsafe UnsafeMutableRawPointer(mutating: $0) + position }
                unsafe (pointers + index).initialize(to: start?.assumingMemoryBound(to: CChar.self))
                position += size
            }
            unsafe (pointers + sizes.count).initialize(to: nil)
            return unsafe body(pointers)
        }
    }
}

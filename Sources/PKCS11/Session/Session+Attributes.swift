import CP11Kit
public import KeyfobPrimitives

/// Reading attributes.
extension Session {
    /// Reads attributes of an object, all at once.
    ///
    /// Takes one call of the module, or three if a value is larger than the first buffer: one with that buffer, one for
    /// the size, one for the value. It takes more if the value grows in between. An attribute that the object lacks or
    /// the token keeps secret is `nil` in the result; that is not an error. All attributes are `nil` for an object
    /// without a class, which a killed process may have left behind.
    ///
    /// Corresponds to `C_GetAttributeValue`.
    ///
    /// - Throws: `ReturnValue.objectHandleInvalid` if the object does not exist, `deviceError`; `generalError` from
    ///   SoftHSM when asked for a date that was set; `attributeValueInvalid` for a value larger than 64 MiB;
    ///   `bufferTooSmall` for a value that grows each time it is read.
    public func attributes(
        _ types: [AttributeType], of object: ObjectHandle
    ) throws(PKCS11Error) -> AttributeValues {
        var values = [[UInt8]?](repeating: nil, count: types.count)
        let sizes = types.map(\.generousSize)
        let answer = unsafe try read(types, sizes: sizes, of: object) { values[$0] = unsafe Array($1) }
        if answer != .complete {
            // An attribute without a value was too large, is secret, or does not exist; its size shows which.
            let unknown = types.indices.filter { values[$0] == nil && types[$0].fixedSize == nil }
            try readBySize(unknown, types, of: object, into: &values)
        }
        var result = AttributeValues()
        for (type, value) in zip(types, values) {
            if let value { result.append(type, value) }
        }
        return result
    }

    /// Reads the attributes at the given indices, each with the size that the token reports.
    private func readBySize(
        _ unknown: [Int], _ types: [AttributeType], of object: ObjectHandle, into values: inout [[UInt8]?]
    ) throws(PKCS11Error) {
        var wanted = unknown.map { (index: $0, size: -1) }
        for round in 0...Self.largestGrowth where !wanted.isEmpty {
            let needed = try attributeSizes(wanted.map { types[$0.index] }, of: object)
            // Without a size the token does not show the value; a value that did not come although there was room is
            // not shown either.
            wanted = zip(wanted, needed).compactMap { last, size in
                size.flatMap { $0 > last.size ? (last.index, $0 + 64) : nil }
            }
            guard let first = wanted.first else { return }
            guard round < Self.largestGrowth else { throw Self.growing(types[first.index]) }
            let answer = unsafe try read(
                wanted.map { types[$0.index] }, sizes: wanted.map(\.size), of: object
            ) { values[wanted[$0].index] = unsafe Array($1) }
            if answer == .complete { return }
            // Another process may be lengthening the value.
            wanted.removeAll { values[$0.index] != nil }
        }
    }

    /// How often a value may grow between the call that asks for its size and the one that reads it.
    private static let largestGrowth = 3

    /// The error for a value that keeps growing. The value exists, so it must not be reported as absent.
    private static func growing(_ type: AttributeType) -> PKCS11Error {
        PKCS11Error(
            function: .getAttributeValue, returnValue: .bufferTooSmall,
            detail: "\(type) grew each time that it was to be read")
    }

    /// Reads one attribute into memory that is wiped on release.
    ///
    /// Corresponds to `C_GetAttributeValue`.
    ///
    /// - Returns: The value, or `nil` if the token does not show it.
    /// - Throws: `ReturnValue.objectHandleInvalid` if the object does not exist, `deviceError`; `generalError` from
    ///   SoftHSM when asked for a date that was set; `attributeValueInvalid` for a value larger than 64 MiB;
    ///   `bufferTooSmall` for a value that grows each time it is read.
    public func secretAttribute(
        _ type: AttributeType, of object: ObjectHandle
    ) throws(PKCS11Error) -> SecretBytes? {
        guard var size = try attributeSizes([type], of: object)[0] else { return nil }
        for _ in 0..<Self.largestGrowth {
            var value: SecretBytes?
            let answer = unsafe try read([type], sizes: [size], of: object) { value = unsafe SecretBytes($1) }
            if value != nil || answer == .complete { return value }
            // The value grew between the calls.
            guard let larger = try attributeSizes([type], of: object)[0], larger > size else { return nil }
            size = larger
        }
        throw Self.growing(type)
    }

    private enum Answer {
        case complete, partial
    }

    /// Reads values into buffers of `sizes` with one call; `receive` gets the index and bytes of each value that was
    /// read.
    private func read(
        _ types: [AttributeType], sizes: [Int], of object: ObjectHandle,
        _ receive: (Int, UnsafeRawBufferPointer) -> Void
    ) throws(PKCS11Error) -> Answer {
        let headers = unsafe types.count * MemoryLayout<CK_ATTRIBUTE>.stride
        let aligned = sizes.map { ($0 + 7) / 8 * 8 }
        var answer = Answer.complete
        var failure: PKCS11Error?
        // Values may be secret, so use a block that is wiped on release.
        let block = unsafe SecretBytes(count: headers + aligned.reduce(0, +)) { _ in }
        unsafe block.withUnsafeBytes { bytes in
            guard let base = unsafe UnsafeMutableRawPointer(mutating: bytes.baseAddress) else { return }
            let list = unsafe base.bindMemory(to: CK_ATTRIBUTE.self, capacity: types.count)
            var offset = headers
            for index in types.indices {
                unsafe list[index] = CK_ATTRIBUTE(
                    type: types[index].rawValue, pValue: base + offset, ulValueLen: CK_ULONG(sizes[index]))
                offset += aligned[index]
            }
            do throws(PKCS11Error) {
                answer = try unsafe read(list, count: types.count, of: object)
            } catch {
                failure = error
            }
            for index in types.indices where failure == nil {
                let length = unsafe list[index].ulValueLen
                // CK_UNAVAILABLE_INFORMATION is larger than any size; so is a length that a faulty module may claim.
                guard length <= CK_ULONG(sizes[index]), let start = unsafe list[index].pValue else { continue }
                unsafe receive(index, UnsafeRawBufferPointer(start: start, count: Int(length)))
            }
        }
        if let failure { throw failure }
        return answer
    }

    /// The largest value that memory is allocated for: 64 MiB.
    static var largestValue: CK_ULONG { 1 << 26 }

    /// Asks for the sizes of values with one call; `nil` for a value that the token does not show.
    private func attributeSizes(
        _ types: [AttributeType], of object: ObjectHandle
    ) throws(PKCS11Error) -> [Int?] {
        var list = unsafe types.map { unsafe CK_ATTRIBUTE(type: $0.rawValue, pValue: nil, ulValueLen: 0) }
        let count = types.count
        let pointer = UnsafeMutablePointer<CK_ATTRIBUTE>.allocate(capacity: count)
        unsafe pointer.initialize(from: &list, count: count)
        defer { unsafe pointer.deallocate() }
        _ = try unsafe read(pointer, count: count, of: object)
        var sizes: [Int?] = []
        for index in 0..<count {
            let length = unsafe pointer[index].ulValueLen
            try sizes.append(Self.size(length, of: types[index]))
        }
        return sizes
    }

    /// Converts the length of a value that the module reported.
    ///
    /// - Returns: The size, or `nil` for `CK_UNAVAILABLE_INFORMATION`: the token does not show the value.
    /// - Throws: `attributeValueInvalid` if the value is too large. It exists, so it must not be reported as absent.
    static func size(_ length: CK_ULONG, of type: AttributeType) throws(PKCS11Error) -> Int? {
        if length == .max { return nil }
        guard length <= largestValue else {
            throw PKCS11Error(
                function: .getAttributeValue, returnValue: .attributeValueInvalid,
                detail: "\(type) has \(length) bytes, and \(largestValue) are the most")
        }
        return Int(length)
    }

    /// Makes the C call. The return values that the specification does not count as true errors give a partial answer.
    private func read(
        _ list: UnsafeMutablePointer<CK_ATTRIBUTE>, count: Int, of object: ObjectHandle
    ) throws(PKCS11Error) -> Answer {
        let getAttributeValue = try unsafe functions.entry(
            functions.table.pointee.C_GetAttributeValue, .getAttributeValue)
        try begin(.getAttributeValue)
        defer { end() }
        let returnValue = pending(.getAttributeValue) {
            unsafe getAttributeValue(handle, object.rawValue, list, CK_ULONG(count))
        }
        CallTrace.note(.getAttributeValue, returnValue)
        switch returnValue {
        case CKR_OK:
            return .complete
        case CKR_ATTRIBUTE_SENSITIVE, CKR_ATTRIBUTE_TYPE_INVALID, CKR_BUFFER_TOO_SMALL:
            return .partial
        case CKR_ATTRIBUTE_VALUE_INVALID:
            // SoftHSM's answer for an object without a class; it has not filled in anything.
            for index in 0..<count { unsafe list[index].ulValueLen = .max }
            return .complete
        default:
            throw failure(.getAttributeValue, returnValue)
        }
    }
}

import CP11Kit
import KeyfobPrimitives

/// A list of attributes, to search for or to give a new object.
public struct AttributeTemplate: Sendable, ExpressibleByArrayLiteral, CustomStringConvertible {
    /// The attributes in the order in which they are sent.
    public private(set) var attributes: [Attribute]

    /// Creates a template of `attributes`.
    public init(_ attributes: [Attribute] = []) {
        self.attributes = attributes
    }

    /// Creates a template of the literal's elements.
    public init(arrayLiteral elements: Attribute...) {
        self.init(elements)
    }

    /// Appends an attribute. Tokens reject a template that contains a type twice, except in a search.
    public mutating func append(_ attribute: Attribute) {
        attributes.append(attribute)
    }

    /// Appends all attributes of `other`.
    public mutating func append(contentsOf other: AttributeTemplate) {
        attributes += other.attributes
    }

    /// The first attribute of `type`. Setting replaces or appends it; setting `nil` removes it.
    public subscript(type: AttributeType) -> Attribute? {
        get { attributes.first { $0.type == type } }
        set {
            guard let index = attributes.firstIndex(where: { $0.type == type }) else {
                if let newValue { attributes.append(newValue) }
                return
            }
            if let newValue {
                attributes[index] = newValue
            } else {
                attributes.remove(at: index)
            }
        }
    }

    /// The types and sizes; never the values.
    public var description: String { "[" + attributes.map(\.description).joined(separator: ", ") + "]" }
}

extension AttributeTemplate {
    /// Calls `body` with the attributes as C structures; with `nil` and zero for an empty template.
    ///
    /// The memory is valid only during the call. It is wiped afterwards if it contained a secret.
    func withCTemplate<Result>(
        _ body: (UnsafeMutablePointer<CK_ATTRIBUTE>?, CK_ULONG) throws(PKCS11Error) -> Result
    ) throws(PKCS11Error) -> Result {
        if attributes.isEmpty { return try body(nil, 0) }
        // Align values like a CK_ULONG, because modules read numbers in place.
        let alignment = MemoryLayout<CK_ULONG>.alignment
        let headers = unsafe attributes.count * MemoryLayout<CK_ATTRIBUTE>.stride
        let size = attributes.reduce(headers) { ($0 + $1.count + alignment - 1) / alignment * alignment }
        // Secret and public values share one block, which is wiped on release.
        let block = unsafe SecretBytes(count: size) { unsafe fill(UnsafeMutableRawBufferPointer($0)) }
        return try unsafe block.withUnsafeBytes { (bytes) throws(PKCS11Error) in
            let base = unsafe UnsafeMutableRawPointer(mutating: bytes.baseAddress)
            return try unsafe body(
                base?.assumingMemoryBound(to: CK_ATTRIBUTE.self), CK_ULONG(attributes.count))
        }
    }

    private func fill(_ block: UnsafeMutableRawBufferPointer) {
        guard let base = block.baseAddress else { return }
        let alignment = MemoryLayout<CK_ULONG>.alignment
        var offset = unsafe attributes.count * MemoryLayout<CK_ATTRIBUTE>.stride
        for (index, attribute) in attributes.enumerated() {
            let target = unsafe base + offset
            switch attribute.storage {
            case .bytes(let bytes):
                unsafe bytes.withUnsafeBytes { source in
                    if let start = source.baseAddress {
                        unsafe target.copyMemory(from: start, byteCount: source.count)
                    }
                }
            case .secret(let secret):
                unsafe secret.withUnsafeBytes { source in
                    if let start = source.baseAddress {
                        unsafe target.copyMemory(from: start, byteCount: source.count)
                    }
                }
            }
            let header = unsafe CK_ATTRIBUTE(
                type: attribute.type.rawValue, pValue: attribute.count == 0 ? nil : target,
                ulValueLen: CK_ULONG(attribute.count))
            unsafe base.storeBytes(
                of: header, toByteOffset: index * MemoryLayout<CK_ATTRIBUTE>.stride, as: CK_ATTRIBUTE.self)
            offset = (offset + attribute.count + alignment - 1) / alignment * alignment
        }
    }
}

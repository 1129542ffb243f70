import Foundation
import Keyfob

extension Item {
    /// An attribute as text: a string unchanged, a number in decimal, a date as RFC 3339, and bytes that are not UTF-8
    /// in hexadecimal.
    func text(_ name: AttributeName) -> String {
        switch attributes[name] {
        case .string(let text)?: text
        case .data(let data)?:
            String(validating: data, as: UTF8.self)
                ?? "0x" + data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        case .number(let number)?: String(number)
        case .date(let date)?: RFC3339.string(from: date)
        case nil: ""
        }
    }

    /// The name that lists show and that commands accept.
    var nameText: String {
        let names: [AttributeName] = itemClass == .internetPassword ? [.label, .server] : [.service, .label]
        return names.lazy.map { text($0) }.first { !$0.isEmpty } ?? ""
    }
}

package import Keyfob
import KeyfobPrimitives

/// The attributes by which a keychain tells passwords apart.
package struct PasswordKey: Hashable, Sendable {
    package var isInternet: Bool
    /// The service, or the server of an internet password.
    package var place: String
    package var account: String
    /// The code of the protocol; empty for none.
    package var protocolCode: String
    package var port: Int
    package var path: String

    package init(
        isInternet: Bool, place: String, account: String, protocolCode: String = "", port: Int = 0, path: String = ""
    ) {
        (self.isInternet, self.place, self.account) = (isInternet, place, account)
        (self.protocolCode, self.port, self.path) = (protocolCode, port, path)
    }
}

extension PasswordKey {
    /// The key of a stored password.
    package init(_ item: Item) {
        let isInternet = item.itemClass == .internetPassword
        func text(_ name: AttributeName) -> String { item.attributes[name]?.text ?? "" }
        self.init(
            isInternet: isInternet, place: text(isInternet ? .server : .service), account: text(.account),
            protocolCode: text(.protocol), port: item.attributes[.port]?.number.flatMap { Int(exactly: $0) } ?? 0,
            path: text(.path))
    }
}

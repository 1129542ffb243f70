import ArgumentParser
import Foundation
import Keyfob
import KeyfobOpenSSL
import PKCS11

/// A certificate given by a name, a file or another property.
///
/// The order is: an item of that name in the keychain, an existing file or standard input, an item found by
/// fingerprint, common name or URI.
struct CertificateSource: ExpressibleByArgument {
    /// The argument as typed.
    let text: String

    init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        text = argument
    }

    static var defaultCompletionKind: CompletionKind { NameCompletion.certificates }

    /// The file, if the argument denotes one. An argument with a slash is a path even if the file does not exist.
    private var file: FileArgument? {
        var isFolder: ObjCBool = false
        guard text == "-" || text.contains("/") && !PKCS11URI.hasScheme(text)
            || (unsafe FileManager.default.fileExists(atPath: text, isDirectory: &isFolder) && !isFolder.boolValue)
        else { return nil }
        return FileArgument(argument: text)
    }

    /// The name for messages.
    var name: String { file?.name ?? text }

    /// Whether the certificate comes from a file.
    var isFile: Bool { file != nil }

    /// Loads the certificate, and the other certificates of the same file.
    ///
    /// The certificate of a file is the first one that issued none of the others.
    ///
    /// - Parameters:
    ///   - isRemoved: Whether something will be removed. An item must then be given by its own name, not by its common
    ///     name.
    ///   - timeout: The value of `--timeout`, if given.
    ///   - keychain: Opens the keychain. Not called for an argument that can only be a file.
    /// - Throws: `KeychainError` if the file cannot be read; `itemNotFound` or `ambiguous` if the name does not match
    ///   one item.
    func load(
        isRemoved: Bool = false, waiting timeout: TimeSpan?, from keychain: () throws -> Keychain
    ) throws -> (certificate: Certificate, others: [Certificate], label: String) {
        // The name of an item takes precedence, because a file of that name may be in the directory by chance.
        if let file, try text == "-" || text.contains("/") || !isItem(in: keychain) {
            let all = try file.certificates(waiting: timeout)
            let leaf = Certificate.leaf(of: all)
            return (leaf, all.filter { $0 != leaf }, file.name)
        }
        do {
            let name = ItemName(text)
            let item = try (isRemoved ? name.own : name).certificate(in: keychain())
            return (try item.certificate(), [], item.label ?? text)
        } catch let error as KeychainError
            where error.code == .itemNotFound && !PKCS11URI.hasScheme(text)
            && !FileManager.default.fileExists(atPath: text)
        {
            throw error.replacing(message: error.message.dropLast() + ", and there is no such file.")
        }
    }

    /// Whether the keychain has a certificate of this name; false if there is no keychain yet.
    private func isItem(in keychain: () throws -> Keychain) throws -> Bool {
        do { return try !keychain().certificates.publicCertificates(label: text).isEmpty } catch let error
            as KeychainError
            where error.code == .notInitialized
        { return false }
    }
}

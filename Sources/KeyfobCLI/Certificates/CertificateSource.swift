import ArgumentParser
import Foundation
import Keyfob
import OpenSSL
import PKCS11

/// A certificate that is meant: an item of the keychain by its name, a file that is there, standard input, or an item
/// by another of its marks.
struct CertificateSource: ExpressibleByArgument {
    /// What was typed.
    let text: String

    init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        text = argument
    }

    static var defaultCompletionKind: CompletionKind { NameCompletion.certificates }

    /// The file, where it is one. A name with a slash is a path even where nothing is there.
    private var file: FileArgument? {
        var isFolder: ObjCBool = false
        guard text == "-" || text.contains("/") && !PKCS11URI.hasScheme(text)
            || (unsafe FileManager.default.fileExists(atPath: text, isDirectory: &isFolder) && !isFolder.boolValue)
        else { return nil }
        return FileArgument(argument: text)
    }

    /// What messages call it.
    var name: String { file?.name ?? text }

    /// Whether the certificate comes from a file.
    var isFile: Bool { file != nil }

    /// The certificate, first where it is a file's, and others of the same file.
    ///
    /// - Parameters:
    ///   - isRemoved: Whether something of it is taken away, which an item must be called by its own name for.
    ///   - timeout: `--timeout`, where it was given.
    ///   - keychain: Opens the keychain; not called for what can only be a file.
    /// - Throws: `KeychainError` of the file; as `ItemName.certificate(in:)`.
    func load(
        isRemoved: Bool = false, waiting timeout: TimeSpan?, from keychain: () throws -> Keychain
    ) throws -> (certificate: Certificate, others: [Certificate], label: String) {
        // A name is first of all that of an item: a file of the same name lies in the directory by chance.
        if let file, try text == "-" || text.contains("/") || !isItem(in: keychain) {
            let all = try KeyFile.certificates(file.read(waiting: timeout), fileName: file.name)
            let leaf = all.first { one in !all.contains { $0 != one && $0.isIssued(by: one) } } ?? all[0]
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
            throw KeychainError(
                error.code, error.message.dropLast() + ", and there is no such file.", hint: error.hint,
                details: error.details)
        }
    }

    /// Whether the keychain has a certificate of the name; where there is no keychain yet, it has not.
    private func isItem(in keychain: () throws -> Keychain) throws -> Bool {
        do { return try !keychain().publicCertificates(label: text).isEmpty } catch let error as KeychainError
            where error.code == .notInitialized
        { return false }
    }
}

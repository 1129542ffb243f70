package import Foundation
package import Keyfob
import KeyfobOpenSSL

/// A plan in a file, which is carried out only if manifests and keychain are still as they were.
///
/// It has no secret: values are read again when it is carried out.
package struct SavedPlan: Codable, Sendable {
    private static let version = "keyfob/plan-v1"

    private let apiVersion: String
    package let keychain: String
    /// The absolute paths of the manifests.
    package let manifests: [String]
    /// Whether protected items are removed.
    package let unprotects: Bool
    /// The SHA-256 of the manifests.
    private let manifestDigest: String
    /// The SHA-256 of the changes and of the items that they are about.
    private let stateDigest: String
    /// The changes, for people and other programs.
    private let entries: [Entry]

    private struct Entry: Codable, Equatable {
        let kind: String
        let name: String
        let action: String
        let members: [String]
    }

    /// - Parameters:
    ///   - paths: The absolute paths of the manifests.
    ///   - texts: The texts of the manifests, in the same order.
    package init(
        _ plan: Plan, for keychain: String, paths: [String], texts: [Manifest.Text], unprotects: Bool
    ) {
        apiVersion = Self.version
        self.keychain = keychain
        manifests = paths
        self.unprotects = unprotects
        manifestDigest = Self.digest(of: texts)
        stateDigest = plan.digest
        entries = Self.entries(of: plan)
    }

    private static func entries(of plan: Plan) -> [Entry] {
        plan.changes.filter { $0.action != .none }.map {
            Entry(
                kind: $0.kind.rawValue, name: $0.name, action: $0.action.rawValue,
                members: $0.differences.map(\.member))
        }
    }

    /// Reads a plan; `nil` if the data is something else, such as a manifest.
    ///
    /// - Throws: `KeychainError` with code `manifest.invalid` for a plan that is damaged.
    package init?(_ data: Data, from name: String) throws(KeychainError) {
        struct Start: Decodable { let apiVersion: String }
        // Text that is not JSON is not a plan.
        guard let start = try? JSONDecoder().decode(Start.self, from: data), start.apiVersion == Self.version else {
            return nil
        }
        do { self = try JSONDecoder().decode(SavedPlan.self, from: data) } catch {
            throw KeychainError(
                .manifestInvalid, "\(name) is a damaged plan; nothing was changed.", hint: "Make the plan again.",
                details: ["file": name])
        }
    }

    /// The content of the file.
    package var data: Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // Texts always have a form in JSON.
        return try! encoder.encode(self) + Data("\n".utf8)
    }

    /// Refuses manifests that were changed since.
    ///
    /// - Throws: `KeychainError` with code `refused`.
    package func require(_ texts: [Manifest.Text]) throws(KeychainError) {
        guard Self.digest(of: texts) == manifestDigest else { throw stale("a manifest was changed") }
    }

    /// Refuses a keychain or files in which something else has to be done by now, and a plan that shows other changes.
    ///
    /// - Parameter keychain: The keychain that the manifests are about.
    /// - Throws: `KeychainError` with code `refused`.
    package func require(_ plan: Plan, for keychain: String) throws(KeychainError) {
        guard plan.digest == stateDigest else { throw stale("the keychain or a file was changed") }
        guard keychain.isIdentical(to: self.keychain), Self.entries(of: plan) == entries else {
            throw stale("the plan itself was changed")
        }
    }

    private func stale(_ what: String) -> KeychainError {
        KeychainError(
            .refused, "\(what) since the plan was made; nothing was changed.", hint: "Make the plan again.",
            details: ["keychain": keychain])
    }

    private static func digest(of texts: [Manifest.Text]) -> String {
        Digest.sha256(Data(texts.map { Digest.sha256(Data($0.text.utf8)).hexadecimal }.joined().utf8)).hexadecimal
    }
}

extension Plan {
    /// The SHA-256 of the changes, and of the versions of the items that they are about.
    fileprivate var digest: String {
        let lines = changes.filter { $0.action != .none }.map(\.words)
            + hooks.map { ["run"] + $0.arguments }
        // Texts always have a form in JSON.
        return Digest.sha256(try! JSONEncoder().encode(lines)).hexadecimal
    }
}

extension Change {
    /// The identity of the change, without values that depend on the time, such as an age.
    fileprivate var words: [String] {
        [kind.rawValue, name, action.rawValue] + differences.map(\.member)
            + items.map { item in
                let identity = item.reference?.identity.hexadecimal ?? ""
                let date = item.attributes[.modificationDate]?.date?.timeIntervalSince1970 ?? 0
                return "\(identity) \(date)"
            } + certificates.map(\.sha256Fingerprint.hexadecimal)
    }

    private var items: [Item] {
        let adjusted = adjustment.map { [$0.item] } ?? []
        return switch operation {
        case .updateSecret(_, let item, _), .removeSecret(let item): adjusted + [item]
        case .generateKey(_, let keys), .removeKeys(let keys): adjusted + keys.map(\.item)
        case .renewIdentity(_, let identity, _): adjusted + [identity.item]
        case .removeCertificate(let item): adjusted + [item.item]
        default: adjusted
        }
    }

    private var certificates: [Certificate] {
        switch operation {
        case .importIdentity(_, let files): [files.certificate]
        case .addCertificate(let entry): [entry.certificate]
        case .distrust(let certificate): [certificate]
        default: []
        }
    }
}

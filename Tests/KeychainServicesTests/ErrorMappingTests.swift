import Foundation
import Keyfob
import Testing

@testable import KeychainServices

/// The mapping between keychain codes and result codes, in both directions.
@Suite struct ErrorMappingTests {
    @Test func `The table has every code that a keychain reports`() throws {
        let source = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources/KeyfobSystem/Errors/KeychainError.swift")
        let text = try String(contentsOf: source, encoding: .utf8)
        let codes = text.matches(of: /public static let \w+ = Self\(rawValue: "([a-z0-9_.]+)"\)/).map { String($0.1) }
        try #require(codes.count > 40)
        let missing = codes.filter { !OSStatus.isInTable(KeychainError.Code(rawValue: $0)) }
        #expect(missing == [])
    }

    @Test(arguments: [
        (KeychainError.Code.itemNotFound, OSStatus(-25300)),
        (.duplicateItem, -25299), (.noSuchAttribute, -25303), (.noSuchClass, -25306), (.invalidArgument, -50),
        (.invalidReference, -50), (.dataTooLarge, -25302), (.pinIncorrect, -25293), (.pinLocked, -25293),
        (.pinRequired, -25308), (.passphraseIncorrect, -25293), (.locked, -25308), (.tokenAbsent, -25291),
        (.moduleNotLoaded, -25291), (.tokenReadOnly, -25292), (.mechanismUnsupported, -4), (.keyNotExtractable, -4),
        (.tokenFull, -108), (.noSuchKeychain, -25294), (.duplicateKeychain, -25296), (.notInitialized, -25307),
        (.vaultDamaged, -25291), (.vaultUnavailable, -25291), (.vaultTooNew, -25310), (.fileDamaged, -26275),
        (.filePassphraseIncorrect, -25293), (.pkcs12Tampered, -25264), (.certificateExpired, -67818),
        (.certificateNotYetValid, -67819), (.cancelled, -128), (.fileUnavailable, -36), (.diskFull, -34), (.failed, -26276),
    ]) func `A code becomes the result code of the reference`(code: KeychainError.Code, status: OSStatus) {
        #expect(OSStatus(code) == status)
        #expect(OSStatus(KeychainError(code, "message")) == status)
    }

    @Test func `A code of a later version becomes errSecInternalComponent`() {
        #expect(OSStatus(KeychainError.Code(rawValue: "moon.full")) == errSecInternalComponent)
        struct Strange: Error {}
        #expect(OSStatus(Strange()) == errSecInternalComponent)
    }

    @Test(arguments: [
        ("CKR_PIN_EXPIRED", KeychainError.Code.pinLocked, errSecInteractionNotAllowed),
        ("CKR_PIN_LOCKED", .pinLocked, errSecAuthFailed),
        ("CKR_OBJECT_HANDLE_INVALID", .failed, errSecItemNotFound),
        ("CKR_ENCRYPTED_DATA_INVALID", .failed, errSecDecode),
        ("CKR_ENCRYPTED_DATA_INVALID", .vaultDamaged, errSecNotAvailable),
        ("CKR_ATTRIBUTE_VALUE_INVALID", .failed, errSecParam),
        ("CKR_ARGUMENTS_BAD", .failed, errSecParam),
        ("CKR_VENDOR_DEFINED", .failed, errSecInternal),
        ("CKR_FUNCTION_NOT_SUPPORTED", .mechanismUnsupported, errSecUnimplemented),
        ("CKR_KEY_SIZE_RANGE", .mechanismUnsupported, errSecKeySizeNotAllowed),
    ]) func `The token's return value refines a code that covers several`(
        name: String, code: KeychainError.Code, status: OSStatus
    ) {
        #expect(OSStatus(KeychainError(code, "message", details: ["ckr": name])) == status)
    }

    @Test(arguments: [
        ("8", KeychainError.Code.refused, errSecReadOnly), ("3", .refused, errSecNotAvailable),
        ("13", .diskFull, errSecNotAvailable), ("10", .vaultUnavailable, errSecIO),
        ("7", .vaultUnavailable, errSecAllocate), ("14", .vaultUnavailable, errSecNotAvailable),
        ("5", .vaultBusy, errSecDatabaseLocked), ("11", .vaultDamaged, errSecNotAvailable),
    ]) func `SQLite's result refines a code that covers several`(
        number: String, code: KeychainError.Code, status: OSStatus
    ) {
        #expect(OSStatus(KeychainError(code, "message", details: ["sqlite": number])) == status)
    }

    @Test(arguments: StatusDescription.all) func `Every result code except success has a code`(row: StatusDescription) {
        #expect((KeychainError.Code(row.status) == nil) == (row.status == errSecSuccess))
    }

    @Test(arguments: StatusDescription.all) func `A result code with a keychain code converts there and back`(
        row: StatusDescription
    ) throws {
        guard let code = KeychainError.Code(row.status), code != .failed else { return }
        // Apple's codes with the same meaning share a keychain code, which maps back to the usual one.
        let usual: [OSStatus: OSStatus] = [
            errSecInvalidItemRef: errSecParam, errSecAuthNeeded: errSecInteractionNotAllowed,
            errSecInteractionRequired: errSecInteractionNotAllowed, errSecKeyIsSensitive: errSecUnimplemented,
            errSecPassphraseRequired: errSecAuthFailed, errSecUnknownFormat: errSecUnsupportedFormat,
            errSecMissingEntitlement: errSecPolicyDenied,
        ]
        #expect(OSStatus(code) == usual[row.status] ?? row.status)
    }

    @Test func `A CFError has the domain of result codes, the code and a description`() throws {
        let error = NSError(status: KeychainError(.itemNotFound, "there is no such item."))
        #expect(CFErrorGetDomain(error) as String == NSOSStatusErrorDomain)
        #expect(CFErrorGetCode(error) == -25300)
        #expect(CFErrorCopyDescription(error) as String == SecCopyErrorMessageString(-25300, nil) as String?)
        #expect(OSStatus(error) == errSecItemNotFound)
    }

    @Test func `A Foundation error has no result code`() {
        #expect(OSStatus(NSError(domain: NSCocoaErrorDomain, code: -50)) == errSecInternalComponent)
    }
}

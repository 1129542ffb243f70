import Foundation
import Testing

@testable import KeychainServices

/// Every result code against Apple's number and name.
@Suite struct StatusCodeTests {
    @Test(arguments: codes + others) func `A result code has its number and its name`(row: Row) {
        #expect(row.status == row.number)
        #expect(StatusDescription(row.number)?.name == row.name)
    }

    @Test func `The table of messages has exactly the codes of the reference`() {
        #expect(Set(StatusDescription.all.map(\.status)) == Set((Self.codes + Self.others).map(\.number)))
        #expect(StatusDescription.all.count == Self.codes.count + Self.others.count)
    }

    @Test func `Every code has its own message`() {
        #expect(Set(StatusDescription.all.map(\.message)).count == StatusDescription.all.count)
    }

    @Test(arguments: aliases) func `Other names stand for the same numbers`(row: Row) {
        #expect(row.status == row.number)
    }

    @Test func `The message of an unknown code contains its number`() {
        #expect(SecCopyErrorMessageString(-12345, nil) as String? == "OSStatus -12345")
        #expect(StatusDescription(-12345) == nil)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let number: OSStatus
        let name: String
        let status: OSStatus
        var testDescription: String { name }
        init(_ number: OSStatus, _ name: String, _ status: OSStatus) {
            (self.number, self.name, self.status) = (number, name, status)
        }
    }

    static let codes: [Row] = [
        Row(0, "errSecSuccess", errSecSuccess),
        Row(-4, "errSecUnimplemented", errSecUnimplemented),
        Row(-34, "errSecDiskFull", errSecDiskFull),
        Row(-36, "errSecIO", errSecIO),
        Row(-49, "errSecOpWr", errSecOpWr),
        Row(-50, "errSecParam", errSecParam),
        Row(-61, "errSecWrPerm", errSecWrPerm),
        Row(-108, "errSecAllocate", errSecAllocate),
        Row(-128, "errSecUserCanceled", errSecUserCanceled),
        Row(-909, "errSecBadReq", errSecBadReq),
        Row(-2070, "errSecInternalComponent", errSecInternalComponent),
        Row(-4960, "errSecCoreFoundationUnknown", errSecCoreFoundationUnknown),
        Row(-34017, "errSecWaitForCallback", errSecWaitForCallback),
        Row(-34018, "errSecMissingEntitlement", errSecMissingEntitlement),
        Row(-34019, "errSecUpgradePending", errSecUpgradePending),
        Row(-34020, "errSecRestrictedAPI", errSecRestrictedAPI),
        Row(-25291, "errSecNotAvailable", errSecNotAvailable),
        Row(-25292, "errSecReadOnly", errSecReadOnly),
        Row(-25293, "errSecAuthFailed", errSecAuthFailed),
        Row(-25294, "errSecNoSuchKeychain", errSecNoSuchKeychain),
        Row(-25295, "errSecInvalidKeychain", errSecInvalidKeychain),
        Row(-25296, "errSecDuplicateKeychain", errSecDuplicateKeychain),
        Row(-25297, "errSecDuplicateCallback", errSecDuplicateCallback),
        Row(-25298, "errSecInvalidCallback", errSecInvalidCallback),
        Row(-25299, "errSecDuplicateItem", errSecDuplicateItem),
        Row(-25300, "errSecItemNotFound", errSecItemNotFound),
        Row(-25301, "errSecBufferTooSmall", errSecBufferTooSmall),
        Row(-25302, "errSecDataTooLarge", errSecDataTooLarge),
        Row(-25303, "errSecNoSuchAttr", errSecNoSuchAttr),
        Row(-25304, "errSecInvalidItemRef", errSecInvalidItemRef),
        Row(-25305, "errSecInvalidSearchRef", errSecInvalidSearchRef),
        Row(-25306, "errSecNoSuchClass", errSecNoSuchClass),
        Row(-25307, "errSecNoDefaultKeychain", errSecNoDefaultKeychain),
        Row(-25308, "errSecInteractionNotAllowed", errSecInteractionNotAllowed),
        Row(-25309, "errSecReadOnlyAttr", errSecReadOnlyAttr),
        Row(-25310, "errSecWrongSecVersion", errSecWrongSecVersion),
        Row(-25311, "errSecKeySizeNotAllowed", errSecKeySizeNotAllowed),
        Row(-25312, "errSecNoStorageModule", errSecNoStorageModule),
        Row(-25313, "errSecNoCertificateModule", errSecNoCertificateModule),
        Row(-25314, "errSecNoPolicyModule", errSecNoPolicyModule),
        Row(-25315, "errSecInteractionRequired", errSecInteractionRequired),
        Row(-25316, "errSecDataNotAvailable", errSecDataNotAvailable),
        Row(-25317, "errSecDataNotModifiable", errSecDataNotModifiable),
        Row(-25318, "errSecCreateChainFailed", errSecCreateChainFailed),
        Row(-25319, "errSecInvalidPrefsDomain", errSecInvalidPrefsDomain),
        Row(-25320, "errSecInDarkWake", errSecInDarkWake),
        Row(-25330, "errSecAuthNeeded", errSecAuthNeeded),
        Row(-25240, "errSecACLNotSimple", errSecACLNotSimple),
        Row(-25241, "errSecPolicyNotFound", errSecPolicyNotFound),
        Row(-25242, "errSecInvalidTrustSetting", errSecInvalidTrustSetting),
        Row(-25243, "errSecNoAccessForItem", errSecNoAccessForItem),
        Row(-25244, "errSecInvalidOwnerEdit", errSecInvalidOwnerEdit),
        Row(-25245, "errSecTrustNotAvailable", errSecTrustNotAvailable),
        Row(-25256, "errSecUnsupportedFormat", errSecUnsupportedFormat),
        Row(-25257, "errSecUnknownFormat", errSecUnknownFormat),
        Row(-25258, "errSecKeyIsSensitive", errSecKeyIsSensitive),
        Row(-25259, "errSecMultiplePrivKeys", errSecMultiplePrivKeys),
        Row(-25260, "errSecPassphraseRequired", errSecPassphraseRequired),
        Row(-25261, "errSecInvalidPasswordRef", errSecInvalidPasswordRef),
        Row(-25262, "errSecInvalidTrustSettings", errSecInvalidTrustSettings),
        Row(-25263, "errSecNoTrustSettings", errSecNoTrustSettings),
        Row(-25264, "errSecPkcs12VerifyFailure", errSecPkcs12VerifyFailure),
        Row(-26267, "errSecNotSigner", errSecNotSigner),
        Row(-26270, "errSecPolicyDenied", errSecPolicyDenied),
        Row(-26275, "errSecDecode", errSecDecode),
        Row(-26276, "errSecInternal", errSecInternal),
        Row(-67585, "errSecServiceNotAvailable", errSecServiceNotAvailable),
        Row(-67587, "errSecDeviceReset", errSecDeviceReset),
        Row(-67588, "errSecDeviceFailed", errSecDeviceFailed),
        Row(-67596, "errSecQuotaExceeded", errSecQuotaExceeded),
        Row(-67602, "errSecHostNameMismatch", errSecHostNameMismatch),
        Row(-67808, "errSecVerifyFailed", errSecVerifyFailed),
        Row(-67813, "errSecInvalidLoginName", errSecInvalidLoginName),
        Row(-67814, "errSecAlreadyLoggedIn", errSecAlreadyLoggedIn),
        Row(-67817, "errSecCertificateCannotOperate", errSecCertificateCannotOperate),
        Row(-67818, "errSecCertificateExpired", errSecCertificateExpired),
        Row(-67819, "errSecCertificateNotValidYet", errSecCertificateNotValidYet),
        Row(-67820, "errSecCertificateRevoked", errSecCertificateRevoked),
        Row(-67843, "errSecNotTrusted", errSecNotTrusted),
        Row(-67869, "errSecDatabaseLocked", errSecDatabaseLocked),
    ]

    static let aliases: [Row] = [
        Row(-4, "errSecUnsupportedOperation", errSecUnsupportedOperation),
        Row(-4, "errSecUnsupportedAlgorithm", errSecUnsupportedAlgorithm),
        Row(-26275, "errSecInvalidCertificate", errSecInvalidCertificate),
        Row(-26275, "errSecInvalidKey", errSecInvalidKey),
        Row(-50, "errSecItemInvalidKey", errSecItemInvalidKey),
        Row(-50, "errSecItemInvalidKeyType", errSecItemInvalidKeyType),
        Row(-50, "errSecItemInvalidValue", errSecItemInvalidValue),
        Row(-50, "errSecItemClassMissing", errSecItemClassMissing),
        Row(-50, "errSecItemMatchUnsupported", errSecItemMatchUnsupported),
        Row(-50, "errSecMatchLimitUnsupported", errSecMatchLimitUnsupported),
        Row(-50, "errSecUseItemListUnsupported", errSecUseItemListUnsupported),
        Row(-50, "errSecReturnDataUnsupported", errSecReturnDataUnsupported),
        Row(-50, "errSecReturnAttributesUnsupported", errSecReturnAttributesUnsupported),
        Row(-50, "errSecReturnRefUnsupported", errSecReturnRefUnsupported),
        Row(-50, "errSecReturnPersistentRefUnsupported", errSecReturnPersistentRefUnsupported),
        Row(-50, "errSecReturnMissingPointer", errSecReturnMissingPointer),
        Row(-50, "errSecValueRefUnsupported", errSecValueRefUnsupported),
        Row(-50, "errSecValuePersistentRefUnsupported", errSecValuePersistentRefUnsupported),
        Row(-50, "errSecItemIllegalQuery", errSecItemIllegalQuery),
        Row(-50, "errSecUnsupportedPadding", errSecUnsupportedPadding),
    ]
}

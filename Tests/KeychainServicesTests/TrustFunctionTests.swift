import Dispatch
import Foundation
import KeyfobPrimitives
import Testing

@testable import KeychainServices

/// The functions around a trust evaluation.
@Suite struct TrustFunctionTests {
    private func trust(_ policies: [SecPolicy], anchor: String? = "root") throws -> SecTrust {
        let chain = try ["leaf", "intermediate"].map { try Authority.certificate($0) } as CFArray
        var made: SecTrust?
        #expect(unsafe SecTrustCreateWithCertificates(chain, policies as CFArray, &made) == errSecSuccess)
        let trust = try #require(made)
        try SecTrustSetAnchorCertificates(trust, anchor.map { [try Authority.certificate($0)] as CFArray } ?? NSArray())
        return trust
    }

    private func failure(_ trust: SecTrust) -> OSStatus? {
        var error: CFError?
        let isTrusted = unsafe SecTrustEvaluateWithError(trust, &error)
        #expect(isTrusted == (error == nil))
        return error.map { OSStatus($0.code) }
    }

    @Test func `The flags of revocation have their values`() {
        #expect(kSecRevocationOCSPMethod == 1 && kSecRevocationCRLMethod == 2 && kSecRevocationPreferCRL == 4)
        #expect(kSecRevocationRequirePositiveResponse == 8 && kSecRevocationNetworkAccessDisabled == 16)
        #expect(kSecRevocationUseAnyAvailableMethod == 3 && SEC_KEY_IMPORT_EXPORT_PARAMS_VERSION == 0)
    }

    @Test func `A revocation policy without flags is refused`() {
        #expect(SecPolicyCreateRevocation(0) == nil && SecPolicyCreateRevocation(kSecRevocationPreferCRL) != nil)
    }

    @Test func `A required answer about revocation is not available`() throws {
        let any = try #require(SecPolicyCreateRevocation(kSecRevocationUseAnyAvailableMethod))
        let required = try #require(
            SecPolicyCreateRevocation(kSecRevocationUseAnyAvailableMethod | kSecRevocationRequirePositiveResponse))
        let tls = SecPolicyCreateSSL(true, "web.example" as CFString)
        #expect(try failure(trust([tls, any])) == nil)
        #expect(try failure(trust([tls, required])) == errSecIncompleteCertRevocationCheck)
        #expect(try failure(trust([required, tls])) == errSecIncompleteCertRevocationCheck)
        #expect(try failure(trust([required], anchor: "own")) == errSecCreateChainFailed)
        // An anchor is not checked for revocation.
        #expect(try failure(trust([required], anchor: "leaf")) == nil)
        let properties = [kSecPolicyRevocationFlags: kSecRevocationRequirePositiveResponse] as CFDictionary
        let other = try #require(SecPolicyCreateWithProperties(kSecPolicyAppleRevocation, properties))
        let refused = try trust([other])
        #expect(failure(refused) == errSecIncompleteCertRevocationCheck)
        // An exception can cover the failure.
        let exceptions = SecTrustCopyExceptions(refused)
        #expect(SecTrustSetExceptions(refused, exceptions) && failure(refused) == nil)
    }

    @Test(arguments: [("root", true), ("own", false)])
    func `An evaluation on a queue reports its result there`(row: (anchor: String, isTrusted: Bool)) throws {
        let trust = try trust([SecPolicyCreateBasicX509()], anchor: row.anchor)
        let found = Lock<[String]>([])
        let group = DispatchGroup()
        let queue = DispatchQueue(label: "evaluations")
        for queue in [queue, nil] {
            group.enter()
            let status = SecTrustEvaluateAsync(trust, queue) { evaluated, result in
                found.withLock { $0.append("\(evaluated === trust) \(result == .unspecified)") }
                group.leave()
            }
            #expect(status == errSecSuccess)
        }
        group.enter()
        let status = SecTrustEvaluateAsyncWithError(trust, queue) { evaluated, isTrusted, error in
            found.withLock { $0.append("\(evaluated === trust) \(isTrusted && error == nil)") }
            group.leave()
        }
        #expect(status == errSecSuccess)
        group.wait()
        #expect(found.withLock { $0 } == Array(repeating: "true \(row.isTrusted)", count: 3))
    }

    @Test func `An evaluation describes what is wrong with which certificate`() throws {
        let good = try #require(SecTrustCopyProperties(trust([SecPolicyCreateBasicX509()])) as? [[String: String]])
        #expect(good.map { $0["title"] } == ["web.example", "CN=Intermediate".replacingOccurrences(of: "CN=", with: ""), "Root"])
        #expect(good.allSatisfy { $0["error"] == nil })
        let policy = SecPolicyCreateSSL(true, "other.example" as CFString)
        let bad = try #require(SecTrustCopyProperties(trust([policy])) as? [[String: String]])
        #expect(bad.first?["error"] == SecCopyErrorMessageString(errSecHostNameMismatch, nil) as String?)
        #expect(bad.dropFirst().allSatisfy { $0["error"] == nil })
    }

    @Test func `The certificates of a chain are the same objects until the question changes`() throws {
        let leaf = try Authority.certificate("leaf")
        var made: SecTrust?
        unsafe SecTrustCreateWithCertificates(
            [leaf, try Authority.certificate("intermediate")] as CFArray, SecPolicyCreateBasicX509(), &made)
        let trust = try #require(made)
        weak var anchor: SecCertificate?
        do {
            let root = try Authority.certificate("root")
            anchor = root
            SecTrustSetAnchorCertificates(trust, [root] as CFArray)
        }
        var anchors: CFArray?
        #expect(unsafe SecTrustCopyCustomAnchorCertificates(trust, &anchors) == errSecSuccess)
        #expect((anchors?.object(at: 0) as? SecCertificate) === anchor && anchor != nil)
        anchors = nil
        // Code for Apple's platforms points into the array of a chain after releasing it.
        let pointer = unsafe CFArrayGetValueAtIndex(SecTrustCopyCertificateChain(trust), 0)
        let isOfLeaf = unsafe pointer == UnsafeRawPointer(Unmanaged.passUnretained(leaf).toOpaque())
        #expect(isOfLeaf)
        for (index, name) in ["leaf", "intermediate", "root"].enumerated() {
            weak let one = SecTrustGetCertificateAtIndex(trust, index)
            #expect(one != nil && SecTrustGetCertificateAtIndex(trust, index) === one, "\(name)")
            #expect(SecTrustCopyCertificateChain(trust)?.object(at: index) as? SecCertificate === one, "\(name)")
        }
        SecTrustSetAnchorCertificates(trust, nil)
        #expect(anchor == nil)
    }

    @Test func `A certificate of the chain that the caller did not supply lives as long as the answer`() throws {
        let bench = try SecItemFixture()
        bench.expect(0, bench.add(["v_Ref": try Authority.certificate("intermediate")]))
        var made: SecTrust?
        unsafe SecTrustCreateWithCertificates(try Authority.certificate("leaf"), SecPolicyCreateBasicX509(), &made)
        let trust = try #require(made)
        SecTrustSetAnchorCertificates(trust, [try Authority.certificate("root")] as CFArray)
        weak let found = bench.use { SecTrustGetCertificateAtIndex(trust, 1) }
        #expect(found != nil && SecTrustGetCertificateAtIndex(trust, 1) === found)
        SecTrustSetPolicies(trust, SecPolicyCreateSSL(true, nil))
        #expect(found == nil)
    }

    @Test func `Only answers of an OCSP service and timestamps are accepted`() throws {
        let trust = try trust([SecPolicyCreateBasicX509()])
        for (object, status) in [
            (nil, 0), (NSData(), 0), ([Data(), Data([1])] as NSArray, 0), (NSArray(), 0), ("x" as NSString, -50), (["x"] as NSArray, -50),
        ] as [(CFTypeRef?, OSStatus)] {
            #expect(SecTrustSetOCSPResponse(trust, object) == status)
            if let object = object as? NSArray { #expect(SecTrustSetSignedCertificateTimestamps(trust, object) == status) }
        }
        #expect(SecTrustSetSignedCertificateTimestamps(trust, nil) == 0)
    }

    @Test func `The older names of a certificate's parts give the same values`() throws {
        let certificate = try Authority.certificate("leaf")
        let serial = SecCertificateCopySerialNumberData(certificate, nil)
        #expect(SecCertificateCopySerialNumber(certificate, nil) == serial && SecCertificateCopySerialNumber(certificate) == serial)
        #expect(SecCertificateCopyNormalizedIssuerContent(certificate, nil) == SecCertificateCopyNormalizedIssuerSequence(certificate))
        #expect(SecCertificateCopyNormalizedSubjectContent(certificate, nil) == SecCertificateCopyNormalizedSubjectSequence(certificate))
    }
}

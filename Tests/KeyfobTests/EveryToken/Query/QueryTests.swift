import Foundation
import KeyfobOpenSSL
import KeyfobPrimitives
import KeyfobTesting
import Testing
import TestSupport

@testable import Keyfob

extension EveryToken {
    @Suite struct QueryTests {
        @Test func `limits, orders, the synchronizable filter and access groups`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            for (service, label, group, sync) in [("b", "2", "one", 0), ("a", "3", "two", 0), ("c", "1", "one", 0), ("d", "0", "one", 1)] {
                try keychain.add(
                    Item(.genericPassword, [
                        .service: .string(service), .label: .string(label), .accessGroup: .string(group),
                        .synchronizable: .number(Int64(sync)),
                    ]), secret: nil)
            }
            func services(_ change: (inout Criteria) -> Void) throws -> String {
                var criteria = Criteria(.genericPassword)
                change(&criteria)
                return try keychain.findItems(criteria).compactMap { $0.attributes[.service]?.text }.joined()
            }
            #expect(try services { _ in } == "bac")
            #expect(try services { $0.limit = 2 } == "ba")
            #expect(try services { $0.limit = 0 } == "")
            #expect(try services { $0.order = .label } == "cba")
            #expect(try services { ($0.order, $0.limit) = (.label, 1) } == "c")
            #expect(try services { $0.includesSynchronizable = true } == "bacd")
            #expect(try services { $0.attributes[.synchronizable] = true } == "d")
            #expect(try services { $0.attributes[.synchronizable] = false } == "bac")
            #expect(try services { $0.accessGroups = ["one"] } == "bc")
            #expect(try services { $0.accessGroups = ["one", "two"] } == "bac")
            #expect(try services { $0.accessGroups = [] } == "")
            #expect(try services { ($0.accessGroups, $0.limit, $0.includesSynchronizable) = (["one"], 2, true) } == "bc")
            #expect(try services { $0.attributes[.label] = .data(Data("2".utf8)) } == "b")
            #expect(try services { $0.attributes = [.label: "2", .service: "a"] } == "")
            try keychain.update(.genericPassword(service: "b"), [.comment: "x"])
            #expect(try services { $0.order = .modified }.first == "b")
            #expect(code { _ = try services { $0.limit = -1 } } == .invalidArgument)
            #expect(code { _ = try services { $0.subjectContains = "x" } } == .invalidArgument)
            #expect(code { _ = try services { $0.attributes[.server] = "x" } } == .noSuchAttribute)
            #expect(code { _ = try keychain.only(.genericPasswords) } == .ambiguous)
            #expect(code { _ = try keychain.only(.genericPassword(service: "z")) } == .itemNotFound)
        }

        @Test func `a class is removed as a whole, and a change with a limit is refused`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            for index in 0..<5 {
                try keychain.add(GenericPassword(service: "s\(index)"), secret: nil)
                try keychain.add(InternetPassword(server: "h\(index)", account: ""), secret: nil)
            }
            #expect(code { try keychain.delete(.genericPasswords.limit(1)) } == .invalidArgument)
            #expect(code { try keychain.update(.genericPasswords.limit(1), [.comment: "x"]) } == .invalidArgument)
            #expect(try keychain.delete(.genericPasswords) == 5)
            #expect(code { try keychain.delete(.genericPasswords) } == .itemNotFound)
            #expect(try keychain.find(.internetPasswords).count == 5)
        }

        @Test(.needs(.importsECKeys, .storesCertificates)) func `certificates are found by subject, host, date, issuer and in order of expiry`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            for (name, days) in [("late.example", 60), ("early.example", 10), ("middle.example", 30)] {
                try keychain.add(CertificateItem(Certificate(der: TestCertificate(name, days: days).der)))
            }
            func labels(_ query: Query<CertificateItem>) throws -> [String?] { try keychain.find(query).map(\.label) }
            #expect(try labels(.certificates.ordered(by: .expires)) == ["early.example", "middle.example", "late.example"])
            #expect(try labels(.certificates.subjectContains("LATE")) == [])
            #expect(try labels(.certificates.subjectContains("LATE", ignoringCase: true)) == ["late.example"])
            #expect(try labels(.certificates.host("early.example")) == ["early.example"])
            #expect(try labels(.certificates.validOn(Date().addingTimeInterval(20 * 86400)).ordered(by: .label))
                == ["late.example", "middle.example"])
            let late = try keychain.only(.certificate(label: "late.example")).certificate()
            #expect(try labels(.certificates.issuer(late.issuer.der)) == ["late.example"])
        }
    }
}

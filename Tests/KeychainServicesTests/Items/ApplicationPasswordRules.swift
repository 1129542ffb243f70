import Foundation
import Keyfob
import KeyfobPrimitives
import Testing

@testable import KeychainServices

extension Rule {
    private static var control: SecAccessControl { SecAccessControl(protection: "ak", flags: .applicationPassword) }
    private static func with(_ password: String) -> [String: Any] { ["u_CredRef": Data(password.utf8)] }
    private static var secret: Data { Data("secret".utf8) }

    /// Items under an application password.
    static let applicationPasswords: [Rule] = [
        Rule("4.6", "data under a password is returned with the password, in every shape") { bench in
            for itemClass in ["genp", "inet"] {
                let item: [String: Any] = ["class": itemClass, "acct": "a"]
                let added = bench.adding(item + ["accc": control, "v_Data": secret] + with("pass") + wantsData)
                #expect(added.status == 0 && added.data == secret)
                #expect(bench.copying(item + wantsData + with("pass")).data == secret)
                let whole = wantsData + wantsAttributes + wantsPersistent + wantsAll
                #expect(bench.copying(item + whole + with("pass")).dictionaries?.first?["v_Data"] as? Data == secret)
                for (wrong, status) in [(with("other"), -25293), ([:], -25293), (with(""), -50)] as [([String: Any], OSStatus)] {
                    for shape in [wantsData, whole] {
                        let answer = bench.copying(item + shape + wrong)
                        #expect(answer.status == status && !answer.isTouched)
                    }
                    #expect(bench.copying(item + wantsAttributes + wrong).dictionary?["accc"] as? SecAccessControl == control)
                }
                bench.expect(-25299, bench.add(item + ["accc": control, "v_Data": secret] + with("pass")))
                bench.expect(0, bench.delete(item))
            }
        },
        Rule("4.6", "without the password, nothing that it protects is changed") { bench in
            let item = genp("a", "s")
            bench.expect(0, bench.add(item + ["accc": control, "v_Data": secret] + with("pass")))
            let free = SecAccessControl(protection: "ak", flags: [])
            let changes: [[String: Any]] = [["v_Data": Data("new".utf8)], ["accc": free], ["pdmn": "ck"]]
            for change in changes {
                bench.expect(-25293, bench.update(item, change))
                bench.expect(-25293, bench.update(item + with("other"), change))
            }
            #expect(bench.copying(item + wantsData + with("pass")).data == secret)
            // Changing unprotected attributes does not require the password.
            bench.expect(0, bench.update(item, ["labl": "l", "svce": "t"]))
            #expect(bench.copying(genp("a", "t") + wantsData + with("pass")).data == secret)
            bench.expect(0, bench.update(genp("a", "t") + with("pass"), ["v_Data": Data("new".utf8), "svce": "s"]))
            bench.expect(-25293, bench.copying(item + wantsData).status)
            #expect(bench.copying(item + wantsData + with("pass")).data == Data("new".utf8))
            #expect(bench.copying(item + wantsAttributes).dictionary?["labl"] as? String == "l")
            bench.expect(0, bench.update(item + with("pass"), ["accc": free]))
            #expect(bench.copying(item + wantsData).data == Data("new".utf8))
            bench.expect(0, bench.update(item + with("pass2"), ["accc": control]))
            bench.expect(-25293, bench.copying(item + wantsData + with("pass")).status)
            #expect(bench.copying(item + wantsData + with("pass2")).data == Data("new".utf8))
            bench.expect(0, bench.update(item + with("pass2"), ["pdmn": "ck"]))
            #expect(bench.copying(item + wantsData).data == Data("new".utf8))
        },
        Rule("4.6", "several items are changed with the passwords of all of them, or none is") { bench in
            bench.expect(0, bench.add(genp("a", "s", ["accc": control, "v_Data": secret]) + with("pass")))
            bench.expect(0, bench.add(genp("b", "s", ["v_Data": secret])))
            bench.expect(0, bench.add(genp("c", "s", ["accc": control, "v_Data": secret]) + with("other")))
            let all: [String: Any] = ["class": "genp", "svce": "s"]
            bench.expect(-25293, bench.update(all + with("pass"), ["v_Data": Data("new".utf8)]))
            #expect(bench.copying(genp("b", "s") + wantsData).data == secret)
            bench.expect(0, bench.delete(genp("c", "s")))
            bench.expect(0, bench.update(all + with("pass"), ["v_Data": Data("new".utf8)]))
            #expect(bench.copying(all + wantsData + wantsAll + with("pass")).array as? [Data] == [Data("new".utf8), Data("new".utf8)])
            bench.expect(-25293, bench.copying(genp("a", "s") + wantsData).status)
            #expect(bench.copying(genp("b", "s") + wantsData).data == Data("new".utf8))
        },
        Rule("4.6", "an item that was added without a password has none") { bench in
            bench.expect(0, bench.add(genp("a", "s", ["accc": control, "v_Data": secret])))
            #expect(bench.copying(genp("a", "s") + wantsData).data == secret)
            bench.expect(0, bench.update(genp("a", "s"), ["v_Data": Data("new".utf8)]))
            #expect(bench.copying(genp("a", "s") + wantsData).data == Data("new".utf8))
            bench.expect(0, bench.copy(genp("a", "s")))
            bench.expect(0, bench.add(genp("b", "s", ["accc": control])))
            let none = bench.copying(genp("b", "s") + wantsData)
            #expect(none.status == 0 && none.value == nil)
            bench.expect(0, bench.copy(genp("b", "s")))
            // Bytes that look like a seal are ordinary data if the item has no password.
            let seal = try ApplicationPassword(SecretBytes(utf8: "p")).seal(SecretBytes(secret)).copyData()
            bench.expect(0, bench.add(genp("c", "s", ["v_Data": seal])))
            #expect(bench.copying(genp("c", "s") + wantsData).data == seal)
        },
        Rule("4.6", "a query for the existence of an item needs its password, with data and without") { bench in
            let free = SecAccessControl(protection: "ak", flags: [])
            for data in [[:], ["v_Data": secret]] as [[String: Any]] {
                let item = genp("a", "s")
                bench.expect(0, bench.add(item + data))
                bench.expect(0, bench.update(item + with("pass"), ["accc": control]))
                func check() {
                    bench.expect(0, bench.copy(item + with("pass")))
                    for other in [[:], with("other")] {
                        for shape in [[:], wantsData, wantsAll] {
                            let answer = bench.copying(item + other + shape)
                            #expect(answer.status == -25293 && !answer.isTouched, "\(data.keys) \(shape.keys)")
                        }
                        #expect(bench.copying(item + other + wantsAttributes).dictionary?["acct"] as? String == "a")
                        #expect(bench.copying(item + other + wantsPersistent).data?.count == 20)
                    }
                }
                check()
                bench.expect(-25303, bench.update(item + with("pass"), ["accc": control] + with("pass")))
                bench.expect(0, bench.update(item + with("pass"), ["accc": control]))
                check()
                bench.expect(0, bench.update(item + with("pass"), ["accc": free]))
                bench.expect(0, bench.copy(item))
                bench.expect(0, bench.delete(item))
                bench.expect(0, bench.add(item + data + ["accc": control] + with("pass")))
                check()
                bench.expect(0, bench.delete(item))
            }
        },
        Rule("4.6", "a seal that was changed does not open") { _ in
            let password = try ApplicationPassword(SecretBytes(utf8: "pass"))
            let seal = try password.seal(SecretBytes(secret)).copyBytes()
            #expect(try password.open(SecretBytes(seal)).copyData() == secret)
            #expect(try password.seal(SecretBytes(secret)).copyBytes() != seal)
            for position in [16, 32, 44, seal.count - 1] {
                var changed = seal
                changed[position] ^= 1
                #expect(ApplicationPassword.isSeal(SecretBytes(changed)))
                let error = #expect(throws: KeychainError.self) { _ = try password.open(SecretBytes(changed)) }
                #expect(error?.code == .passphraseIncorrect && error.map { OSStatus($0) } == errSecAuthFailed)
            }
            for other in [Array(seal.prefix(59)), [1] + seal.dropFirst(), []] { #expect(!ApplicationPassword.isSeal(SecretBytes(other))) }
        },
    ]
}

import Security

// Runs every idiom, then leaves one item for other tools that read the keychain.
var failures = 0
let idioms = [
    dictionaryIdioms(), valueIdioms(), resultIdioms(), keyIdioms(), declarationIdioms(), keyOperationIdioms(), trustIdioms(),
    wrapperIdioms(),
].flatMap { $0 }
for (index, idiom) in idioms.enumerated() {
    let service = "idiom \(index)"
    let works = idiom.works(service)
    print(works ? "ok" : "FAILED", idiom.name)
    if !works { failures += 1 }
    SecItemDelete([kSecClass: kSecClassGenericPassword, kSecAttrService: service] as CFDictionary)
    SecItemDelete([kSecClass: kSecClassInternetPassword, kSecAttrServer: service] as CFDictionary)
    SecItemDelete([kSecClass: kSecClassKey, kSecAttrApplicationTag: Data(service.utf8)] as CFDictionary)
}
let item: [String: Any] = [
    kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "ported",
    kSecAttrAccount as String: CommandLine.arguments.last ?? "", kSecValueData as String: Data("left behind".utf8),
]
if SecItemAdd(item as CFDictionary, nil) != errSecSuccess { failures += 1 }
print(failures, "failures")
exit(failures == 0 ? 0 : 1)

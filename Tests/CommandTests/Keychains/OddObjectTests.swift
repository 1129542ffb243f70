import TestSupport
import Testing

/// Objects that are on a token twice, have no name or identifier, or have that of another object. None of them hides or
/// breaks another.
@Suite struct OddObjectTests {
    @Test(arguments: ["ec", "rsa"], ["key", "pub", "crt"])
    func `an identity with a duplicate object is removed with both copies`(kind: String, part: String) throws {
        let card = try CardKeychain()
        try card.makeFiles("twice", kind)
        for one in ["key", "pub", "crt", part] { try card.write(one, of: "twice", id: "51") }
        try #require(card.countOfObjects(labelled: "twice") == 4)
        let checked = try card.keyfob("identity", "check", "twice")
        #expect(checked.status == 0, "\(checked.output)\(checked.error)")
        let removed = try card.keyfob("identity", "rm", "twice", "--yes")
        #expect(removed.status == 0, "\(removed.error)")
        #expect(removed.output.contains("Removed identity \"twice\"."))
        #expect(try card.countOfObjects(labelled: "twice") == 0)
    }

    @Test(arguments: ["key rm", "cert rm"])
    func `a removal by name removes both copies of an object`(command: String) throws {
        let card = try CardKeychain()
        try card.makeFiles("twice", "rsa")
        let part = command == "key rm" ? "key" : "crt"
        for _ in 0..<2 { try card.write(part, of: "twice", id: "51") }
        let words = command.split(separator: " ").map(String.init)
        let removed = try card.keyfob(words[0], words[1], "twice", "--yes")
        #expect(removed.status == 0, "\(removed.error)")
        #expect(try card.countOfObjects(labelled: "twice") == 0)
    }

    @Test func `if a certificate has two names, only the object with the given name is removed`() throws {
        let card = try CardKeychain()
        try card.makeFiles("web")
        for label in ["web", "other"] { try card.write("crt", of: "web", id: "51", label: label) }
        let removed = try card.keyfob("cert", "rm", "web", "--yes")
        #expect(removed.output.contains("It stays as \"other\"."), "\(removed.output)\(removed.error)")
        #expect(try card.countOfObjects(labelled: "web") == 0)
        #expect(try card.countOfObjects(labelled: "other") == 1)
    }

    @Test func `an identity with a duplicate certificate can be renewed`() throws {
        let card = try CardKeychain()
        try card.makeFiles("web")
        for part in ["key", "pub", "crt", "crt"] { try card.write(part, of: "web", id: "51") }
        let renewed = try card.keyfob("identity", "renew", "web", "--self-signed", "--force", "--same-key")
        #expect(renewed.status == 0, "\(renewed.error)")
        let shown = try card.keyfob("identity", "show", "web")
        #expect(shown.status == 0, "\(shown.error)")
    }

    @Test(arguments: ["ec", "rsa"], ["21", nil])
    func `a private key without a public key object forms an identity with its certificate, with any identifier`(
        kind: String, id: String?
    ) throws {
        let card = try CardKeychain()
        try card.makeFiles("own", kind)
        try card.makeFiles("stranger", kind)
        try card.write("key", of: "own", id: "21")
        try card.write("crt", of: "own", id: id)
        try card.write("crt", of: "stranger", id: "21")
        let listed = try card.keyfob("identity", "ls", "--format", "tsv")
        #expect(listed.output.contains("own"), "\(listed.error)")
        #expect(!listed.output.contains("stranger"), "\(listed.output)")
        let checked = try card.keyfob("identity", "check", "own")
        #expect(checked.output.contains("signed a test challenge"), "\(checked.output)\(checked.error)")
        let used = try card.keyfob("uri", "own", "--for", "openssl")
        #expect(used.status == 0, "\(used.error)")
        let removed = try card.keyfob("identity", "rm", "own", "--yes")
        #expect(removed.status == 0, "\(removed.error)")
        #expect(try card.countOfObjects(labelled: "own") == 0)
        #expect(try card.countOfObjects(labelled: "stranger") == 1)
    }

    @Test func `an identity can be renewed if its key does not reveal its public half`() throws {
        let card = try CardKeychain()
        try card.makeFiles("own")
        try card.write("key", of: "own", id: "21")
        try card.write("crt", of: "own", id: nil)
        let renewed = try card.keyfob("identity", "renew", "own", "--self-signed", "--force", "--same-key")
        #expect(renewed.status == 0, "\(renewed.error)")
        let checked = try card.keyfob("identity", "check", "own")
        #expect(checked.output.contains("signed a test challenge"), "\(checked.output)\(checked.error)")
    }

    @Test func `keys with one identifier are listed, and hide no other key`() throws {
        let card = try CardKeychain()
        #expect(try card.keyfob("key", "generate", "mine").status == 0)
        for name in ["alpha", "beta"] {
            try card.makeFiles(name)
            for part in ["key", "pub", "crt"] { try card.write(part, of: name, id: "01") }
        }
        let listed = try card.keyfob("key", "ls", "--format", "tsv")
        #expect(listed.status == 0, "\(listed.error)")
        for name in ["alpha", "beta", "mine"] { #expect(listed.output.contains(name), "\(listed.output)") }
        #expect(try card.keyfob("key", "show", "mine").status == 0)
        #expect(try card.keyfob("key", "pub", "mine").status == 0)
        // The keys cannot be distinguished, so none is destroyed.
        let refused = try card.keyfob("key", "rm", "alpha", "--yes")
        #expect(refused.status != 0)
        #expect(try card.countOfObjects(labelled: "alpha") == 3)
        #expect(try card.countOfObjects(labelled: "beta") == 3)
    }

    @Test func `objects without a name or an identifier hide no other object`() throws {
        let card = try CardKeychain()
        #expect(try card.keyfob("identity", "create", "mine", "--cn", "mine", "--self-signed").status == 0)
        try card.makeFiles("bare")
        for part in ["key", "pub", "crt"] { try card.write(part, of: "bare", id: nil, label: "") }
        for noun in ["key", "identity", "cert"] {
            let listed = try card.keyfob(noun, "ls", "--format", "tsv")
            #expect(listed.status == 0, "\(noun): \(listed.error)")
            #expect(listed.output.contains("mine"), "\(noun): \(listed.output)")
        }
        #expect(try card.keyfob("identity", "rm", "mine", "--yes").status == 0)
        #expect(try card.countOfObjects(labelled: "mine") == 0)
    }

    @Test(arguments: ["key", "pub", "crt"])
    func `an object whose attributes cannot be read hides no other object`(part: String) throws {
        let household = try TestHome()
        let module = household.directory.file("faulty.so")
        try FaultyModule.build(module)
        let card = try CardKeychain(
            module: module, environment: ["FAULTY_TARGET": TestToken.modulePath], in: household)
        #expect(try card.keyfob("identity", "create", "mine", "--cn", "mine", "--self-signed").status == 0)
        try card.makeFiles("odd")
        try card.write(part, of: "odd", id: "61")
        let fault = ["FAULTY_REFUSE": "secretive=odd"]
        for noun in ["key", "identity", "cert"] {
            let listed = try card.keyfob(noun, "ls", "--format", "tsv", environment: fault)
            #expect(listed.status == 0, "\(noun): \(listed.error)")
            #expect(listed.output.contains("mine"), "\(noun): \(listed.output)")
        }
        let removed = try card.keyfob("identity", "rm", "mine", "--yes", environment: fault)
        #expect(removed.status == 0, "\(removed.error)")
        #expect(try card.countOfObjects(labelled: "mine") == 0)
    }
}

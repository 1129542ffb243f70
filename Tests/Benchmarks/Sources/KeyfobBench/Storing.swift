import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

extension KeyfobBench {
    /// Adding (durable), finding by service and account, and reading a password, with stores of given sizes.
    static func store(samples: Int, counts: [Int]) throws {
        try withDirectories { directories in
            let keychain = try Keychains(directories).create("bench", on: .new(.file)).keychain
            var filled = 0
            for count in counts.sorted() {
                try fill(keychain, from: filled, to: count)
                filled = count
                try measure(keychain, samples: samples, count: count)
            }
        }
    }

    /// Fills a keychain of the environment's, for measurements of the command.
    static func fill(_ name: String, count: Int) throws {
        try fill(Keychain.open(name), from: 0, to: count)
    }

    static func fill(_ keychain: Keychain, from start: Int, to end: Int) throws {
        for first in stride(from: start, to: end, by: 5000) {
            try keychain.add((first..<min(first + 5000, end)).map { index in
                (GenericPassword(service: "service-\(index % 97)", account: "account-\(index)"), secret(index))
            })
        }
    }

    private static func secret(_ index: Int) -> SecretBytes { SecretBytes(utf8: "secret number \(index)") }

    private static func measure(_ keychain: Keychain, samples: Int, count: Int) throws {
        var adds: [Double] = []
        var finds: [Double] = []
        var reads: [Double] = []
        for sample in 0..<samples {
            let account = "sample-\(count)-\(sample)"
            adds.append(try milliseconds {
                try keychain.add(GenericPassword(service: "sample", account: account), secret: secret(sample))
            })
        }
        for _ in 0..<samples {
            let index = Int.random(in: 0..<count)
            var found: [GenericPassword] = []
            finds.append(try milliseconds {
                found = try keychain.find(.genericPassword(service: "service-\(index % 97)", account: "account-\(index)"))
            })
            guard let item = found.first, found.count == 1 else {
                throw KeychainError(.failed, "the benchmark found \(found.count) items where one is.")
            }
            var value: SecretBytes?
            reads.append(try milliseconds { value = try keychain.secret(of: item) })
            guard value == secret(index) else { throw KeychainError(.failed, "the benchmark read another secret.") }
        }
        print("add-at-\(count)", median(adds), "ms")
        print("lookup-at-\(count)", median(finds), "ms")
        print("read-at-\(count)", median(reads), "ms")
    }

    /// Adding certificates one by one: the first against the last.
    static func certificates(count: Int) throws {
        try withDirectories { directories in
            let keychain = try Keychains(directories).create("bench", on: .new(.file)).keychain
            guard let folder = ProcessInfo.processInfo.environment["KEYFOB_BENCH_CERTIFICATES"] else {
                throw KeychainError(.invalidArgument, "KEYFOB_BENCH_CERTIFICATES must name a folder of DER files.")
            }
            let files = try FileManager.default.contentsOfDirectory(atPath: folder).sorted().prefix(count)
            var times: [Double] = []
            for file in files {
                let certificate = try Certificate(der: Data(contentsOf: URL(fileURLWithPath: folder + "/" + file)))
                times.append(try milliseconds { try keychain.add(CertificateItem(certificate)) })
            }
            print("certificate-add-first", median(Array(times.prefix(20))), "ms")
            print("certificate-add-at-\(times.count)", median(Array(times.suffix(20))), "ms")
        }
    }
}

// swift-tools-version: 6.2
import PackageDescription

// One set of rules for every target of ours: Swift 6 mode (by the tools version), and every unsafe expression marked
// where it stands (SE-0458).
var strict: [SwiftSetting] = [
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]
// Scripts/test sets the variable. SwiftPM applies this setting to a package that is depended on by its path as well,
// where a warning of a newer compiler would stop the build of a package that cannot mend it.
if Context.environment["KEYFOB_WARNINGS_AS_ERRORS"] == "1" { strict.append(.treatAllWarnings(as: .error)) }

let package = Package(
    name: "keyfob",
    products: [
        .executable(name: "keyfob", targets: ["KeyfobCLI"]),
        .library(name: "Keyfob", targets: ["Keyfob"]),
        .library(name: "KeyfobACME", targets: ["KeyfobACME"]),
        .library(name: "KeychainServices", targets: ["KeychainServices"]),
        .library(name: "KeyfobTesting", targets: ["KeyfobTesting"]),
        .library(name: "PKCS11", targets: ["PKCS11"]),
        .library(name: "KeyfobOpenSSL", targets: ["KeyfobOpenSSL"]),
        .library(name: "KeyfobPrimitives", targets: ["KeyfobPrimitives"]),
        .library(name: "KeyfobNIOSSL", targets: ["KeyfobNIOSSL"]),
        .library(name: "KeyfobX509", targets: ["KeyfobX509"]),
    ],
    traits: [
        .trait(name: "NIOSSL", description: "KeyfobNIOSSL: keys on the token in swift-nio-ssl's servers and clients."),
        .trait(name: "X509", description: "KeyfobX509: keys on the token for swift-certificates."),
    ],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        // Used under traits only: a package without the traits neither fetches nor builds these.
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
    ],
    targets: [
        // C libraries of the system; each shim header holds only what Swift cannot import by itself.
        .systemLibrary(name: "CP11Kit", pkgConfig: "p11-kit-1", providers: [.apt(["libp11-kit-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLibSSL", pkgConfig: "libssl", providers: [.apt(["libssl-dev"])]),
        // Calls of Linux that need C.
        .target(name: "CLinux"),

        .target(name: "KeyfobPrimitives", dependencies: ["CLinux"]),
        .target(name: "PKCS11", dependencies: ["CP11Kit", "KeyfobPrimitives"]),
        .target(name: "KeyfobOpenSSL", dependencies: ["COpenSSL", "KeyfobPrimitives"]),
        // Files, child processes and errors of the layers above. PKCS11 and KeyfobOpenSSL do not see them.
        .target(name: "KeyfobSystem", dependencies: ["CLinux", "KeyfobPrimitives"]),
        // Items, attributes, queries and references: values without input or output.
        .target(name: "KeyfobModel", dependencies: ["KeyfobSystem", "KeyfobPrimitives", "KeyfobOpenSSL"]),
        // Rows, how they are sealed, and the database that holds them. It knows no token.
        .target(
            name: "KeyfobVault",
            dependencies: [
                "CLinux", "KeyfobModel", "KeyfobSystem", "KeyfobPrimitives", "KeyfobOpenSSL",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]
        ),
        // Objects on a token, the keys that wrap on it, PINs, and the SoftHSM tokens that Keyfob makes. It knows no vault.
        .target(
            name: "KeyfobToken",
            dependencies: [
                "CLinux", "KeyfobModel", "KeyfobSystem", "KeyfobPrimitives", "PKCS11", "KeyfobOpenSSL",
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .target(
            name: "Keyfob",
            dependencies: [
                "CLinux", "KeyfobVault", "KeyfobToken", "KeyfobModel", "KeyfobSystem", "KeyfobPrimitives", "PKCS11",
                "KeyfobOpenSSL",
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .target(
            name: "KeyfobNIOSSL",
            dependencies: [
                "Keyfob", "KeyfobPrimitives", "KeyfobOpenSSL",
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["NIOSSL"])),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["NIOSSL"])),
            ]
        ),
        .target(
            name: "KeyfobX509",
            dependencies: [
                "Keyfob", "KeyfobPrimitives", "KeyfobOpenSSL",
                .product(name: "X509", package: "swift-certificates", condition: .when(traits: ["X509"])),
                .product(name: "SwiftASN1", package: "swift-asn1", condition: .when(traits: ["X509"])),
            ]
        ),
        .target(
            name: "KeyfobACME",
            dependencies: ["CLinux", "CLibSSL", "Keyfob", "KeyfobSystem", "KeyfobPrimitives", "KeyfobOpenSSL"]),
        .target(name: "KeychainServices", dependencies: ["Keyfob", "KeyfobPrimitives", "KeyfobOpenSSL"]),
        .target(name: "KeyfobTesting", dependencies: ["Keyfob", "KeyfobPrimitives", "PKCS11"]),
        // The description of a keychain in a file: reading it, planning changes and applying them.
        .target(
            name: "KeyfobManifest",
            dependencies: [
                "Keyfob", "KeyfobACME", "KeyfobSystem", "KeyfobPrimitives", "KeyfobOpenSSL", "PKCS11",
                .product(name: "Yams", package: "Yams"),
            ]
        ),
        .executableTarget(
            name: "KeyfobCLI",
            dependencies: [
                "CLinux", "KeychainServices", "Keyfob", "KeyfobACME", "KeyfobManifest", "KeyfobPrimitives", "PKCS11",
                "KeyfobOpenSSL",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Yams", package: "Yams"),
            ]
        ),

        .target(name: "TestSupport", dependencies: ["CLinux", "KeyfobPrimitives", "PKCS11"], path: "Tests/TestSupport"),
        // A process of its own for the tests that kill one or need several.
        .executableTarget(
            name: "TestChild", dependencies: ["KeychainServices", "Keyfob", "KeyfobPrimitives", "KeyfobOpenSSL", "PKCS11"],
            path: "Tests/TestChild"),
        .testTarget(name: "PrimitivesTests", dependencies: ["KeyfobPrimitives", "TestSupport"]),
        .testTarget(name: "PKCS11Tests", dependencies: ["PKCS11", "CP11Kit", "KeyfobPrimitives", "TestSupport"]),
        .testTarget(name: "KeyfobOpenSSLTests", dependencies: ["KeyfobOpenSSL", "KeyfobPrimitives", "TestSupport"]),
        .testTarget(
            name: "KeyfobTests",
            dependencies: [
                "Keyfob", "KeyfobVault", "KeyfobToken", "KeyfobACME", "KeyfobTesting", "KeyfobPrimitives", "PKCS11",
                "KeyfobOpenSSL", "TestSupport", "TestChild",
                .product(name: "GRDB", package: "GRDB.swift"),
            ]
        ),
        .testTarget(
            name: "KeyfobNIOSSLTests",
            dependencies: [
                "KeyfobNIOSSL", "Keyfob", "KeyfobTesting", "KeyfobPrimitives", "PKCS11", "KeyfobOpenSSL", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["NIOSSL"])),
                .product(name: "NIOEmbedded", package: "swift-nio", condition: .when(traits: ["NIOSSL"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["NIOSSL"])),
                .product(name: "NIOTLS", package: "swift-nio", condition: .when(traits: ["NIOSSL"])),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["NIOSSL"])),
            ]
        ),
        .testTarget(
            name: "KeyfobX509Tests",
            dependencies: [
                "KeyfobX509", "KeychainServices", "Keyfob", "KeyfobTesting", "KeyfobPrimitives", "KeyfobOpenSSL",
                "TestSupport",
                .product(name: "X509", package: "swift-certificates", condition: .when(traits: ["X509"])),
                .product(name: "SwiftASN1", package: "swift-asn1", condition: .when(traits: ["X509"])),
            ]
        ),
        .testTarget(
            name: "KeychainServicesTests",
            dependencies: [
                "KeychainServices", "Keyfob", "KeyfobTesting", "KeyfobPrimitives", "KeyfobOpenSSL", "TestSupport",
            ]
        ),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "KeyfobCLI", "Keyfob", "KeyfobACME", "KeyfobManifest", "KeyfobPrimitives", "KeyfobOpenSSL", "TestSupport",
                "TestChild",
            ]),
    ]
)

for target in package.targets where target.type != .system {
    target.swiftSettings = (target.swiftSettings ?? []) + strict
}

// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that the other benchmarks do not build swift-nio. `Scripts/bench tls` runs it.
let package = Package(
    name: "keyfob-tls-benchmarks",
    dependencies: [
        .package(name: "keyfob", path: "../../..", traits: ["NIOSSL"]),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    ],
    targets: [
        .executableTarget(
            name: "keyfob-tls-bench",
            dependencies: [
                .product(name: "Keyfob", package: "keyfob"),
                .product(name: "KeyfobNIOSSL", package: "keyfob"),
                .product(name: "KeyfobTesting", package: "keyfob"),
                .product(name: "KeyfobPrimitives", package: "keyfob"),
                .product(name: "KeyfobOpenSSL", package: "keyfob"),
                .product(name: "PKCS11", package: "keyfob"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Sources/KeyfobTLSBench",
            swiftSettings: [.treatAllWarnings(as: .error)]
        )
    ]
)

// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that a build of Keyfob does not build its benchmarks. `Scripts/bench` runs it.
let package = Package(
    name: "keyfob-benchmarks",
    dependencies: [.package(name: "keyfob", path: "../..")],
    targets: [
        .executableTarget(
            name: "keyfob-bench",
            dependencies: [
                .product(name: "Keyfob", package: "keyfob"),
                .product(name: "KeychainServices", package: "keyfob"),
                .product(name: "PKCS11", package: "keyfob"),
                .product(name: "KeyfobPrimitives", package: "keyfob"),
                .product(name: "KeyfobOpenSSL", package: "keyfob"),
            ],
            path: "Sources/KeyfobBench",
            swiftSettings: [.treatAllWarnings(as: .error)]
        )
    ]
)

// swift-tools-version: 6.2
import PackageDescription

// Unchanged code for Apple's Security framework, as a package that uses Keyfob builds it: in Swift 5 mode and in Swift
// 6 mode. `Scripts/test-porting` runs it.
//
// The documentation names the one flag that such a package needs. Only the targets that import Security have it.
let security: [SwiftSetting] = [.unsafeFlags(["-module-alias", "Security=KeychainServices"])]

let package = Package(
    name: "keyfob-porting",
    dependencies: [
        .package(name: "keyfob", path: "../.."),
    ],
    targets: [
        .executableTarget(
            name: "ported-swift5",
            dependencies: [.product(name: "KeychainServices", package: "keyfob")],
            path: "Sources/PortedSwift5",
            swiftSettings: security + [.swiftLanguageMode(.v5), .treatAllWarnings(as: .error)]
        ),
        // The sources are links to those of the other target.
        .executableTarget(
            name: "ported-swift6",
            dependencies: [.product(name: "KeychainServices", package: "keyfob")],
            path: "Sources/PortedSwift6",
            swiftSettings: security + [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]
        ),
    ]
)

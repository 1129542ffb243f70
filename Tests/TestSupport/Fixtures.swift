public import Foundation

/// The test data in the folder `Fixtures` of the repository. Its README lists the origin of each file.
public enum Fixtures {
    /// Returns the URL of a file or folder.
    ///
    /// - Parameter name: The path below `Fixtures`, such as `PKCS12/manifest.tsv`.
    /// - Returns: The URL; the file may be missing.
    public static func url(_ name: String) -> URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Fixtures/\(name)").standardized
    }
}

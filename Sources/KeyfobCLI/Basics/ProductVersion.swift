/// The version of the command.
enum ProductVersion {
    static let text = "0.1.0"
}

import Keyfob

extension Plural {
    /// A number of bytes: exact below 1 KiB, with one decimal above.
    static func size(_ bytes: Int) -> String {
        guard bytes >= 1024 else { return counted(bytes, "byte") }
        var amount = Double(bytes) / 1024
        var unit = "KiB"
        for larger in ["MiB", "GiB", "TiB"] where amount >= 1024 {
            amount /= 1024
            unit = larger
        }
        let tenths = Int(amount * 10)
        return "\(tenths / 10).\(tenths % 10) \(unit)"
    }
}

/// Distinct names for a sentence, in their original order.
struct ListOfNames {
    let text: String

    init(_ names: [String]) {
        var seen: Set<String> = []
        text = names.filter { seen.insert($0).inserted }.joined(separator: ", ")
    }
}

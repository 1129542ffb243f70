import ArgumentParser

extension FormatName {
    /// Completes to the values that the command on the line accepts.
    static var defaultCompletionKind: CompletionKind {
        .custom { words, _, prefix in
            // An incomplete line may not name a command yet.
            let command = (try? Invocation(Array(words.dropFirst()), root: KeyfobCommand.self))?.command
            let own = command.flatMap { $0 as? any ContentWriter.Type }?.contentFormats ?? []
            return (allValueStrings + own.map(\.rawValue)).filter { $0.hasPrefix(prefix) }
        }
    }
}

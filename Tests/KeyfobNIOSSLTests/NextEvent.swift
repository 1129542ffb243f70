#if NIOSSL
import Keyfob
import KeyfobNIOSSL
import KeyfobPrimitives
import Testing

/// Returns the next event of a kind. If none comes for some minutes, returns `nil` and records an issue that lists the
/// other events, so that the test fails instead of hanging.
func next(
    _ kind: TLSIdentityEvent.Kind, in events: AsyncStream<TLSIdentityEvent>
) async -> TLSIdentityEvent? {
    let others = Lock<[String]>([])
    let search = Task { () -> TLSIdentityEvent? in
        for await event in events {
            if event.kind == kind { return event }
            others.withLock { $0.append("\(event.kind): \(event.error?.message ?? "")") }
        }
        return nil
    }
    let patience = Task {
        // Counted in checks, which take longer on a busy machine.
        for _ in 0..<24_000 {
            do { try await Task.sleep(for: .milliseconds(10)) } catch { return }
        }
        search.cancel()
    }
    let event = await search.value
    patience.cancel()
    if event == nil { Issue.record("no event \"\(kind)\", but \(others.withLock { $0 })") }
    return event
}
#endif

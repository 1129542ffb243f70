#if NIOSSL
import Keyfob
import KeyfobNIOSSL
import KeyfobPrimitives
import Testing

/// The next event of a kind. Where none comes for some minutes, `nil`, and an issue that tells what came instead: a test
/// may fail, it may not hang.
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
        // By looks, which a busy machine makes longer.
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

/// Whether there is strace(1), and it may trace what it starts.
public let isStraceUsable: Bool = {
    // Where it is not installed it cannot be started.
    let result = try? run("strace", ["-f", "-o", "/dev/null", "true"])
    return result?.status == 0
}()

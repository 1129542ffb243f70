/// Whether strace(1) is installed and may trace its children.
public let isStraceUsable: Bool = {
    // If it is not installed, starting it throws.
    let result = try? run("strace", ["-f", "-o", "/dev/null", "true"])
    return result?.status == 0
}()

extension WrongPINMemory {
    /// The memory in `directories.state`. Does not access the file system.
    public init(directories: Directories) { self.init(directory: directories.state) }
}

extension SoftHSMDirectory {
    /// The store in `directories.tokens`. Does not access the file system.
    public init(directories: Directories) { self.init(root: directories.tokens) }
}

import CP11Kit
import Foundation
import KeyfobPrimitives
import Synchronization

/// The modules that this process has initialised, one for each resolved path.
enum ModuleRegistry {
    private struct Entry {
        let path: String
        weak var module: Module?
    }

    // An array, since a process hardly has more than one.
    private static let modules = Lock<[Entry]>([])
    /// Locks by path, each held while the library of that path is loaded and initialised.
    private static let turns = Lock<[String: Lock<Int>]>([:])
    /// The number of threads that are loading, or are about to load, the library of a path. A library reads its
    /// configuration while it is loaded.
    private static let loading = Lock<[String: Int]>([:])
    /// Whether this package has loaded any module.
    static let hasLoaded = Atomic(false)

    /// Whether a module from a file of that name is initialised and has not been released.
    static func isAlive(_ fileName: String) -> Bool {
        loading.withLock { $0.keys.contains { $0.hasSuffix("/" + fileName) } }
            || modules.withLock { $0.contains { $0.path.hasSuffix("/" + fileName) && $0.module != nil } }
    }

    /// Returns the module under `key`, creating it with `make` if there is none.
    ///
    /// If two threads ask for the same library at once, it is initialised once. Threads that ask for another library do
    /// not wait for it.
    ///
    /// - Parameter deadline: Until when to wait for another thread that creates the same module; ``Module/patience``
    ///   from now if `nil`.
    /// - Throws: `ReturnValue.cantLock` of `PKCS11Function.moduleLoad` if that thread has not finished by then;
    ///   otherwise the errors of `make`.
    static func module(
        _ key: String, until deadline: Deadline? = nil, make: () throws(PKCS11Error) -> Module
    ) throws(PKCS11Error) -> Module {
        if let module = living(key) { return module }
        let turn = turns.withLock { turns in
            let turn = turns[key] ?? Lock(0)
            turns[key] = turn
            return turn
        }
        loading.withLock { $0[key, default: 0] += 1 }
        defer {
            loading.withLock { loading in
                let others = (loading[key] ?? 1) - 1
                loading[key] = others == 0 ? nil : others
            }
        }
        let end = deadline ?? .after(Module.patience)
        let loaded = try turn.withLock(until: end) { _ throws(PKCS11Error) -> Module in
            if let module = living(key) { return module }
            let module = try make()
            modules.withLock { modules in
                modules.removeAll { $0.module == nil }
                modules.append(Entry(path: key, module: module))
            }
            return module
        }
        guard let loaded else { throw Module.occupied(.moduleLoad) }
        return loaded
    }

    private static func living(_ key: String) -> Module? {
        modules.withLock { $0.lazy.filter { $0.path == key }.compactMap(\.module).first }
    }
}

extension Module {
    /// Whether a library that is mapped into this process may be initialised: by this package, or by other code before
    /// this package loaded anything.
    ///
    /// Libraries that this package has loaded stay mapped after they are finalised, so being mapped proves nothing.
    ///
    /// - Parameter fileName: The name of the library's file, without a directory.
    package static func mayBeInitialized(_ fileName: String) -> Bool {
        !ModuleRegistry.hasLoaded.load(ordering: .relaxed) || ModuleRegistry.isAlive(fileName)
    }

    /// Loads and initialises the library at `path`, and no other.
    ///
    /// Returns the object of an earlier call while that is alive. A path without a slash is looked up in p11-kit's
    /// module directory. Blocks: SoftHSM takes about 40 microseconds for each object on its tokens. If another thread
    /// loads the same library, waits for it up to twenty seconds.
    ///
    /// Corresponds to `C_Initialize`, called through `p11_kit_module_load`.
    ///
    /// - Parameter initializationArguments: What the library expects in `pReserved`, such as NSS' parameters.
    /// - Throws: `ReturnValue.generalError` of `PKCS11Function.moduleLoad` if the file does not exist or is not a
    ///   Cryptoki library, with the reason as its detail; `cantLock` of the same function if another thread has not
    ///   finished loading the library in time; `cryptokiAlreadyInitialized` of `PKCS11Function.initialize` if this
    ///   process uses the library with other parameters; otherwise the answer of `C_Initialize`.
    public static func load(
        path: String, initializationArguments: String? = nil
    ) throws(PKCS11Error) -> Module {
        try load(path: path, initializationArguments: initializationArguments, until: nil)
    }

    /// Loads the library at `path`, with a deadline as in `ModuleRegistry.module`.
    static func load(
        path: String, initializationArguments: String? = nil, until deadline: Deadline?
    ) throws(PKCS11Error) -> Module {
        let resolved = try resolve(path)
        ModuleRegistry.hasLoaded.store(true, ordering: .relaxed)
        let module = try ModuleRegistry.module(resolved, until: deadline) { () throws(PKCS11Error) in
            // p11-kit would print the message that the error contains.
            p11_kit_be_quiet()
            LoadObserver.note(resolved)
            let list = unsafe PendingCalls.during(.moduleLoad, of: resolved) { unsafe p11_kit_module_load(resolved, 0) }
            guard let list = unsafe list else {
                let message = unsafe p11_kit_message()
                throw .moduleNotLoaded(
                    path, unsafe message.map { unsafe String(cString: $0) } ?? "not a Cryptoki library")
            }
            return try unsafe initialized(
                list, path: resolved, name: nil, initializationArguments: initializationArguments)
        }
        // With the parameters of another database, NSS would use that database.
        guard initializationArguments == nil || module.initializationArguments.reserved == initializationArguments
        else {
            throw PKCS11Error(
                function: .initialize, returnValue: .cryptokiAlreadyInitialized,
                detail: "this process uses the library with other parameters")
        }
        return module
    }

    /// Maps the library at `path` into the process without calling it. The mapping is permanent.
    ///
    /// Use it to prepare for another thread that is going to load the library: relocating SoftHSM and its dependencies
    /// takes a millisecond, even with lazy binding. Errors are ignored here; `load` reports them. Corresponds to
    /// dlopen(3).
    package static func map(path: String) {
        // `load` reports what is wrong with the file.
        guard path.utf8.contains(UInt8(ascii: "/")), (try? resolve(path)) != nil else { return }
        _ = unsafe PendingCalls.during(.moduleLoad, of: path) { unsafe dlopen(path, RTLD_LAZY | RTLD_NODELETE) }
    }

    /// Initialises the modules that p11-kit's configuration registers.
    ///
    /// Blocks for as long as the slowest of them. A module that cannot be initialised is left out, as p11-kit does with
    /// modules that are not marked critical. Prefer `registered(named:)`: some modules are slow to start or print to
    /// standard error.
    ///
    /// Corresponds to `p11_kit_modules_load`.
    ///
    /// - Throws: `ReturnValue.generalError` of `PKCS11Function.modulesLoad` if the configuration cannot be read.
    public static func registered() throws(PKCS11Error) -> [Module] {
        try registered { _ in true }.compactMap { result in
            switch result {
            case .success(let module): module
            case .failure: nil
            }
        }
    }

    /// Initialises the module that p11-kit's configuration registers as `name`.
    ///
    /// Libraries of other registered modules are mapped into the process for a moment, but not initialised.
    ///
    /// - Returns: The module, or `nil` if none is registered under that name.
    /// - Throws: `ReturnValue.generalError` if the configuration cannot be read or the file is missing; `cantLock` if
    ///   another thread has not finished loading the library in time; otherwise the answer of `C_Initialize`.
    public static func registered(named name: String) throws(PKCS11Error) -> Module? {
        guard let result = try registered(where: { $0 == name }).first else { return nil }
        return try result.get()
    }

    private static func registered(
        where isWanted: (String) -> Bool
    ) throws(PKCS11Error) -> [Result<Module, PKCS11Error>] {
        p11_kit_be_quiet()
        ModuleRegistry.hasLoaded.store(true, ordering: .relaxed)
        let loaded = unsafe PendingCalls.during(.modulesLoad, of: "p11-kit") { unsafe p11_kit_modules_load(nil, 0) }
        guard let lists = unsafe loaded else {
            let message = unsafe p11_kit_message()
            throw PKCS11Error(
                function: .modulesLoad, returnValue: .generalError,
                detail: unsafe message.map { unsafe String(cString: $0) })
        }
        // The modules are released one by one, so only the array is freed.
        defer { unsafe free(lists) }
        var results: [Result<Module, PKCS11Error>] = []
        var next = unsafe lists
        while let list = unsafe next.pointee {
            unsafe next += 1
            let name = unsafe text(p11_kit_module_get_name(list)) ?? ""
            guard isWanted(name) else {
                unsafe p11_kit_module_release(list)
                continue
            }
            let file = unsafe text(p11_kit_module_get_filename(list))
            var isTaken = false
            do throws(PKCS11Error) {
                let path = try file.map(resolve) ?? name
                let module = try ModuleRegistry.module(path) { () throws(PKCS11Error) in
                    isTaken = true
                    return try unsafe initialized(
                        list, path: path, name: name,
                        initializationArguments: text(p11_kit_config_option(list, "x-init-reserved")))
                }
                results.append(.success(module))
            } catch {
                results.append(.failure(error))
            }
            // Another object already has the library, under a table of its own.
            if !isTaken { unsafe p11_kit_module_release(list) }
        }
        return results
    }

    /// Takes ownership of `list`, which is released with the module, or here if it cannot be initialised.
    private static func initialized(
        _ list: UnsafeMutablePointer<CK_FUNCTION_LIST>, path: String, name: String?, initializationArguments: String?
    ) throws(PKCS11Error) -> Module {
        let functions = unsafe FunctionList(list)
        // Keep the library mapped for ever: OpenSSL inside SoftHSM leaves destructors that run when a thread ends, and
        // other modules have threads of their own. If dlopen fails, only this protection is lost.
        if path.contains("/") { _ = unsafe dlopen(path, RTLD_LAZY | RTLD_NODELETE) }
        LoadObserver.note(path)
        return try Module(
            functions: functions, path: path, name: name, initializationArguments: initializationArguments
        ) { unsafe p11_kit_module_release(functions.table) }
    }

    /// Resolves all links in the path of a library.
    ///
    /// - Throws: `moduleNotLoaded` if the file is missing or not a regular file. On a FIFO, dlopen(3) would wait for a
    ///   writer while holding a lock that the end of the process needs.
    private static func resolve(_ path: String) throws(PKCS11Error) -> String {
        guard path.contains("/") else { return path }
        guard let resolved = unsafe realpath(path, nil) else {
            let code = errno
            let reason = code == ENOENT ? "file not found" : unsafe String(cString: strerror(code))
            throw .moduleNotLoaded(path, reason)
        }
        defer { unsafe free(resolved) }
        var status = stat()
        guard unsafe stat(resolved, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw .moduleNotLoaded(path, "not a regular file")
        }
        return unsafe String(cString: resolved)
    }

    private static func text(_ string: UnsafeMutablePointer<CChar>?) -> String? {
        guard let string = unsafe string else { return nil }
        defer { unsafe free(string) }
        return unsafe String(cString: string)
    }
}

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

    // Few: hardly a process has more than one.
    private static let modules = Lock<[Entry]>([])
    /// Held while the library of that path is loaded and initialised.
    private static let turns = Lock<[String: Lock<Int>]>([:])
    /// How many threads are about to load, or are loading, the library of a path: it reads its configuration there.
    private static let loading = Lock<[String: Int]>([:])
    /// Whether any module was loaded by way of this package.
    static let hasLoaded = Atomic(false)

    /// Whether a module from a file of that name is initialised and has not been released.
    static func isAlive(_ fileName: String) -> Bool {
        loading.withLock { $0.keys.contains { $0.hasSuffix("/" + fileName) } }
            || modules.withLock { $0.contains { $0.path.hasSuffix("/" + fileName) && $0.module != nil } }
    }

    /// The module under `key`, made by `make` if there is none.
    ///
    /// A library that two threads ask for at once is initialised once; for one that takes long in there, or never ends,
    /// nobody waits who asks for another.
    ///
    /// - Parameter deadline: Until when another thread that makes the same one is waited for; for ``Module/patience``
    ///   where it is `nil`.
    /// - Throws: `ReturnValue.cantLock` of `PKCS11Function.moduleLoad` where that has not returned by then; else what
    ///   `make` throws.
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
    /// Whether a library that is mapped into this process may be initialised: by way of this package, or by somebody
    /// else before this package loaded anything. What it maps, it leaves mapped when it has finalised it.
    ///
    /// - Parameter fileName: The library's, without a directory.
    package static func mayBeInitialized(_ fileName: String) -> Bool {
        !ModuleRegistry.hasLoaded.load(ordering: .relaxed) || ModuleRegistry.isAlive(fileName)
    }

    /// Loads and initialises the library at `path`, and only that one.
    ///
    /// Returns the object of an earlier call while that is alive. A path without a slash is looked for in p11-kit's
    /// directory of modules. Blocks; SoftHSM takes about 40 microseconds for each object on its tokens. Another thread
    /// that loads the same library is waited for, for up to twenty seconds.
    ///
    /// Corresponds to `C_Initialize`, by way of `p11_kit_module_load`.
    ///
    /// - Parameter initializationArguments: what the library expects in `pReserved`, such as NSS' parameters. Not
    ///   looked at when the library is initialised already.
    /// - Throws: `ReturnValue.generalError` of `PKCS11Function.moduleLoad` when there is no such file or it is not
    ///   a Cryptoki library, with the reason as its detail; `cantLock` of the same where another thread has not come
    ///   back from there in time; else what `C_Initialize` answered.
    public static func load(
        path: String, initializationArguments: String? = nil
    ) throws(PKCS11Error) -> Module {
        try load(path: path, initializationArguments: initializationArguments, until: nil)
    }

    /// As `load(path:initializationArguments:)`, with a deadline as that of `ModuleRegistry.module`.
    static func load(
        path: String, initializationArguments: String? = nil, until deadline: Deadline?
    ) throws(PKCS11Error) -> Module {
        let resolved = try resolve(path)
        ModuleRegistry.hasLoaded.store(true, ordering: .relaxed)
        return try ModuleRegistry.module(resolved, until: deadline) { () throws(PKCS11Error) in
            // It would print what the error says.
            p11_kit_be_quiet()
            let list = unsafe PendingCalls.during(.moduleLoad, of: resolved) { unsafe p11_kit_module_load(resolved, 0) }
            guard let list = unsafe list else {
                let message = unsafe p11_kit_message()
                throw .moduleNotLoaded(
                    path, unsafe message.map { unsafe String(cString: $0) } ?? "not a Cryptoki library")
            }
            return try unsafe initialized(
                list, path: resolved, name: nil, initializationArguments: initializationArguments)
        }
    }

    /// Maps the library at `path` into the process, where it stays, without calling it.
    ///
    /// For whoever has time before another thread of its loads it: relocating SoftHSM and what it needs takes a
    /// millisecond, although the functions that they call are looked up at their first call. A library that cannot be
    /// mapped is reported by `load`. Stands for dlopen(3).
    package static func map(path: String) {
        // What is wrong with the file, `load` says.
        guard path.utf8.contains(UInt8(ascii: "/")), (try? resolve(path)) != nil else { return }
        _ = unsafe PendingCalls.during(.moduleLoad, of: path) { unsafe dlopen(path, RTLD_LAZY | RTLD_NODELETE) }
    }

    /// The modules that p11-kit's configuration registers, initialised.
    ///
    /// Blocks for as long as the slowest of them; one that cannot be initialised is left out, as p11-kit does with
    /// modules that are not marked critical. Prefer `registered(named:)`: some modules are slow to start or print
    /// to standard error.
    ///
    /// Corresponds to `p11_kit_modules_load`.
    ///
    /// - Throws: `ReturnValue.generalError` when the configuration cannot be read.
    public static func registered() throws(PKCS11Error) -> [Module] {
        try registered { _ in true }.compactMap { result in
            switch result {
            case .success(let module): module
            case .failure: nil
            }
        }
    }

    /// The module that p11-kit's configuration registers as `name`, initialised; `nil` when there is none.
    ///
    /// Libraries of other registered modules are mapped into the process for a moment, but not initialised.
    ///
    /// - Throws: `ReturnValue.generalError` when the configuration cannot be read; else as
    ///   `load(path:initializationArguments:)`.
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
        // The modules are released one by one; only the array is left.
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
                    return try unsafe initialized(list, path: path, name: name, initializationArguments: nil)
                }
                results.append(.success(module))
            } catch {
                results.append(.failure(error))
            }
            // Another object has the library already, under a table of its own.
            if !isTaken { unsafe p11_kit_module_release(list) }
        }
        return results
    }

    /// Takes over `list`, which is released with the module, or here when it cannot be initialised.
    private static func initialized(
        _ list: UnsafeMutablePointer<CK_FUNCTION_LIST>, path: String, name: String?, initializationArguments: String?
    ) throws(PKCS11Error) -> Module {
        let functions = unsafe FunctionList(list)
        // Never unmapped again: OpenSSL inside SoftHSM leaves destructors behind that run when a thread ends, and
        // other modules have threads of their own. What stays is the mapping; a failure only loses this care.
        if path.contains("/") { _ = unsafe dlopen(path, RTLD_LAZY | RTLD_NODELETE) }
        // Where the initialiser throws, the module is complete but for that, and its end releases the list.
        return try Module(
            functions: functions, path: path, name: name, initializationArguments: initializationArguments
        ) { unsafe p11_kit_module_release(functions.table) }
    }

    /// The file of a library, behind all links.
    ///
    /// - Throws: `moduleNotLoaded` where it is missing, or no regular file: at a FIFO dlopen(3) would wait for who writes
    ///   to it, with a lock held that the end of the process waits for.
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

import CP11Kit
import Glibc

/// A mutex that a module locks and unlocks, by the rules of `CK_C_INITIALIZE_ARGS`.
///
/// A thread may lock it several times. Whatever a thread still holds when its call returns is released. OpenSC needs
/// both: when a card is pulled, some of its functions return with a mutex locked. With other mutexes, all later calls
/// of the process wait for ever.
@safe struct ModuleMutex {
    private var mutex = unsafe pthread_mutex_t()
    /// How often the owner has locked it. Only the owner uses this and the next field.
    private var depth = 0
    private var nextHeld: UnsafeMutablePointer<ModuleMutex>?

    private init() {}

    /// The first of the mutexes that a thread holds.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        // Fails only if the process has a thousand such keys.
        let result = unsafe pthread_key_create(&key, nil)
        precondition(result == 0, "no key for thread-specific data is left")
        return key
    }()

    private static var firstHeld: UnsafeMutablePointer<ModuleMutex>? {
        get { unsafe pthread_getspecific(key)?.assumingMemoryBound(to: ModuleMutex.self) }
        set { unsafe pthread_setspecific(key, newValue) }
    }

    static func create(_ result: UnsafeMutablePointer<UnsafeMutableRawPointer?>?) -> CK_RV {
        guard let result = unsafe result else { return CKR_ARGUMENTS_BAD }
        let made = UnsafeMutablePointer<ModuleMutex>.allocate(capacity: 1)
        unsafe made.initialize(to: ModuleMutex())
        unsafe pthread_mutex_init(&made.pointee.mutex, nil)
        unsafe result.pointee = UnsafeMutableRawPointer(made)
        return CKR_OK
    }

    static func destroy(_ pointer: UnsafeMutableRawPointer?) -> CK_RV {
        guard let one = unsafe pointer?.assumingMemoryBound(to: ModuleMutex.self) else { return CKR_MUTEX_BAD }
        if unsafe isHeld(one) { unsafe release(one) }
        // Another thread holds it or waits for it, so the memory must stay.
        guard unsafe pthread_mutex_destroy(&one.pointee.mutex) == 0 else { return CKR_MUTEX_BAD }
        unsafe one.deallocate()
        return CKR_OK
    }

    static func lock(_ pointer: UnsafeMutableRawPointer?) -> CK_RV {
        guard let one = unsafe pointer?.assumingMemoryBound(to: ModuleMutex.self) else { return CKR_MUTEX_BAD }
        if unsafe isHeld(one) {
            unsafe one.pointee.depth += 1
            return CKR_OK
        }
        guard unsafe pthread_mutex_lock(&one.pointee.mutex) == 0 else { return CKR_MUTEX_BAD }
        unsafe one.pointee.depth = 1
        unsafe one.pointee.nextHeld = unsafe firstHeld
        unsafe firstHeld = unsafe one
        return CKR_OK
    }

    static func unlock(_ pointer: UnsafeMutableRawPointer?) -> CK_RV {
        guard let one = unsafe pointer?.assumingMemoryBound(to: ModuleMutex.self) else { return CKR_MUTEX_BAD }
        guard unsafe isHeld(one) else { return CKR_MUTEX_NOT_LOCKED }
        unsafe one.pointee.depth -= 1
        if unsafe one.pointee.depth == 0 { unsafe release(one) }
        return CKR_OK
    }

    /// Releases all mutexes that this thread holds. To be called after each call of a module.
    static func releaseHeld() {
        while let one = unsafe firstHeld { unsafe release(one) }
    }

    private static func isHeld(_ one: UnsafeMutablePointer<ModuleMutex>) -> Bool {
        var next = unsafe firstHeld
        while let held = unsafe next {
            if unsafe held == one { return true }
            unsafe next = unsafe held.pointee.nextHeld
        }
        return false
    }

    /// Unlocks a mutex that this thread holds.
    private static func release(_ one: UnsafeMutablePointer<ModuleMutex>) {
        if unsafe firstHeld == one {
            unsafe firstHeld = unsafe one.pointee.nextHeld
        } else {
            var previous = unsafe firstHeld
            while let held = unsafe previous, unsafe held.pointee.nextHeld != one {
                unsafe previous = unsafe held.pointee.nextHeld
            }
            unsafe previous?.pointee.nextHeld = unsafe one.pointee.nextHeld
        }
        unsafe one.pointee.depth = 0
        unsafe pthread_mutex_unlock(&one.pointee.mutex)
    }
}

// Reads and syncs files in a child process, so that this process keeps its fcntl(2) locks on them.
#ifndef KEYFOB_CLINUX_FILES_APART_H
#define KEYFOB_CLINUX_FILES_APART_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/// A request to read a file, and its result. The caller provides `path`, `bytes` and `capacity`.
struct keyfob_file_look {
    const char *path;
    void *bytes;
    size_t capacity;
    /// The number of bytes that were read.
    size_t count;
    /// The value of errno, or 0 on success.
    int error;
    /// Whether another process holds an fcntl(2) lock on the file. If a child reads the file, that includes this
    /// process.
    int is_locked;
    struct stat status;
};

/// Opens, reads and closes a file. Uses only functions that are safe in a child that shares its parent's memory.
static inline int keyfob_look_at_file(void *context) {
    struct keyfob_file_look *look = (struct keyfob_file_look *)context;
    int descriptor = open(look->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct flock lock = {F_WRLCK, SEEK_SET, 0, 0, 0};
    look->count = 0;
    look->is_locked = 0;
    look->error = 0;
    if (descriptor < 0) {
        look->error = errno;
        return 0;
    }
    if (fstat(descriptor, &look->status) != 0 || fcntl(descriptor, F_GETLK, &lock) != 0) look->error = errno;
    look->is_locked = lock.l_type != F_UNLCK;
    while (look->error == 0 && look->count < look->capacity) {
        ssize_t count = read(descriptor, (char *)look->bytes + look->count, look->capacity - look->count);
        if (count == 0) break;
        if (count > 0) {
            look->count += (size_t)count;
        } else if (errno != EINTR) {
            look->error = errno;
        }
    }
    close(descriptor);
    return 0;
}

/// clone(2), which glibc declares only with _GNU_SOURCE. Declared by its internal name: ThreadSanitizer intercepts
/// `clone`, treats it as a fork, and ends the process when the child shares its memory.
extern int keyfob_clone(int (*body)(void *), void *stack, int flags, void *context, ...) __asm__("__clone");

/// Runs `body` in a child process, like posix_spawn(3); returns 0, or -1 if the child cannot be created.
///
/// The child shares this process's memory but has its own descriptors. An fcntl(2) lock belongs to a process. The
/// process loses it when any thread or library closes any descriptor of the file.
static inline int keyfob_run_apart(int (*body)(void *), void *context) {
    enum { shared_memory = 0x100, parent_waits = 0x4000, any_child = 0x40000000 };
    _Alignas(16) char stack[16384];
    sigset_t all, former;
    int child;
    sigfillset(&all);
    // Signal handlers would also run in the child, and change the parent's memory.
    pthread_sigmask(SIG_SETMASK, &all, &former);
    // The child sends no signal when it ends, so that other code in this process does not wait for it.
    child = keyfob_clone(body, stack + sizeof stack, shared_memory | parent_waits, context);
    if (child >= 0) {
        while (waitpid(child, NULL, any_child) < 0 && errno == EINTR) {}
    }
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    return child >= 0 ? 0 : -1;
}

/// Runs keyfob_look_at_file in a child process; returns 0, or -1 if the child cannot be created.
static inline int keyfob_look_at_file_apart(struct keyfob_file_look *look) {
    // The default, in case the child is killed; the child overwrites it.
    look->error = EIO;
    return keyfob_run_apart(keyfob_look_at_file, look);
}

/// A request to sync files, and its result.
struct keyfob_file_sync {
    /// The paths, each followed by a zero byte.
    const char *paths;
    size_t count;
    /// The number of files that were synced.
    size_t done;
    /// The value of errno for the next file, or 0 if all were synced.
    int error;
};

/// Opens, syncs and closes files, and stops at the first error. Uses only functions that are safe in a child that
/// shares its parent's memory.
static inline int keyfob_sync_files(void *context) {
    struct keyfob_file_sync *sync = (struct keyfob_file_sync *)context;
    const char *path = sync->paths;
    // The default until all files are synced, in case the child is killed.
    sync->error = EIO;
    for (sync->done = 0; sync->done < sync->count; sync->done++) {
        int descriptor;
        int result;
        do {
            descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        } while (descriptor < 0 && errno == EINTR);
        if (descriptor < 0) {
            sync->error = errno;
            return 0;
        }
        do {
            result = fsync(descriptor);
        } while (result != 0 && errno == EINTR);
        // EINVAL and EROFS, as on some network file systems, mean that the file cannot be synced, so a sync cannot
        // protect it.
        if (result != 0 && errno != EINVAL && errno != EROFS) {
            sync->error = errno;
            close(descriptor);
            return 0;
        }
        close(descriptor);
        path += strlen(path) + 1;
    }
    sync->error = 0;
    return 0;
}

/// Runs keyfob_sync_files in one child process for all files; returns 0, or -1 if the child cannot be created.
static inline int keyfob_sync_files_apart(struct keyfob_file_sync *sync) {
    // The defaults, in case the child is killed; the child overwrites them.
    sync->done = 0;
    sync->error = EIO;
    return keyfob_run_apart(keyfob_sync_files, sync);
}

#endif

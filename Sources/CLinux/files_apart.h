// A look at a file of which another thread may hold a lock, and having such files on the disk.
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

/// What is found out about a file, and where its content goes.
struct keyfob_file_look {
    const char *path;
    void *bytes;
    size_t capacity;
    /// How many bytes were read.
    size_t count;
    /// What errno was; 0 where all went well.
    int error;
    /// Whether somebody else holds a lock of fcntl(2) on it: another process, or this one if it was looked at apart.
    int is_locked;
    struct stat status;
};

/// Opens, reads and closes a file. Calls nothing that is not safe in a child that shares its parent's memory.
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

/// clone(2), which glibc hides behind _GNU_SOURCE; by its other name, for ThreadSanitizer takes the plain one for a fork
/// and ends the process when the child turns out to share its memory.
extern int keyfob_clone(int (*body)(void *), void *stack, int flags, void *context, ...) __asm__("__clone");

/// Runs `body` in a child of its own, as posix_spawn(3) makes one; 0, or -1 where there can be no child.
///
/// The child has this process' memory, and descriptors of its own. A lock of fcntl(2) belongs to a process, which loses
/// it when it closes any descriptor of the file, whichever of its threads has taken it, and by whatever library.
static inline int keyfob_run_apart(int (*body)(void *), void *context) {
    enum { shared_memory = 0x100, parent_waits = 0x4000, any_child = 0x40000000 };
    _Alignas(16) char stack[16384];
    sigset_t all, former;
    int child;
    sigfillset(&all);
    // Handlers would run in the child, too, and change the parent's memory.
    pthread_sigmask(SIG_SETMASK, &all, &former);
    // Without a signal at its end, so that nobody else waits for it.
    child = keyfob_clone(body, stack + sizeof stack, shared_memory | parent_waits, context);
    if (child >= 0) {
        while (waitpid(child, NULL, any_child) < 0 && errno == EINTR) {}
    }
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    return child >= 0 ? 0 : -1;
}

/// keyfob_look_at_file in a child of its own; 0, or -1 where there can be no child.
static inline int keyfob_look_at_file_apart(struct keyfob_file_look *look) {
    // What is not overwritten was not found out.
    look->error = EIO;
    return keyfob_run_apart(keyfob_look_at_file, look);
}

/// Files that are to be on the disk, and how far that came.
struct keyfob_file_sync {
    /// The paths, one behind the other, each with its zero.
    const char *paths;
    size_t count;
    /// How many are on the disk.
    size_t done;
    /// What errno was at the file behind these; 0 where there is none.
    int error;
};

/// Opens, syncs and closes files, up to the first with which that fails. Calls nothing that is not safe in a child that
/// shares its parent's memory.
static inline int keyfob_sync_files(void *context) {
    struct keyfob_file_sync *sync = (struct keyfob_file_sync *)context;
    const char *path = sync->paths;
    // Until all is done: what a child that is killed has not done must not seem to be.
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
        // What cannot be synced, as on some network file systems, has nothing that a power cut could take and a sync
        // could keep.
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

/// keyfob_sync_files in one child for all of them; 0, or -1 where there can be no child.
static inline int keyfob_sync_files_apart(struct keyfob_file_sync *sync) {
    // What is not overwritten was not done.
    sync->done = 0;
    sync->error = EIO;
    return keyfob_run_apart(keyfob_sync_files, sync);
}

#endif

// System calls that Swift cannot call, because glibc wraps them in variadic functions, hides them or does not wrap
// them.
#ifndef KEYFOB_CLINUX_SHIM_H
#define KEYFOB_CLINUX_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <spawn.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/// explicit_bzero(3), which glibc declares only with _DEFAULT_SOURCE. Swift's importer does not define that.
static inline void keyfob_wipe(void *bytes, size_t count) {
    memset(bytes, 0, count);
    // The barrier keeps the compiler from removing a store to memory that is freed next.
    __asm__ __volatile__("" : : "r"(bytes) : "memory");
}

static inline int keyfob_set_dumpable(int on) { return prctl(PR_SET_DUMPABLE, on, 0, 0, 0); }

struct keyfob_library_search {
    const char *name;
    int is_found;
};

/// The start of struct dl_phdr_info, which glibc declares only with _GNU_SOURCE.
struct keyfob_loaded_object {
    unsigned long address;
    const char *path;
};

struct dl_phdr_info;
extern int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *info, size_t size, void *data), void *data);

static inline int keyfob_compare_library(struct dl_phdr_info *info, size_t size, void *data) {
    struct keyfob_library_search *search = (struct keyfob_library_search *)data;
    const char *path = ((const struct keyfob_loaded_object *)(const void *)info)->path;
    const char *slash = strrchr(path, '/');
    (void)size;
    search->is_found |= strcmp(slash == NULL ? path : slash + 1, search->name) == 0;
    return search->is_found;
}

/// Whether a library with that file name is loaded, by dl_iterate_phdr(3).
static inline int keyfob_is_library_loaded(const char *name) {
    struct keyfob_library_search search = {name, 0};
    dl_iterate_phdr(keyfob_compare_library, &search);
    return search.is_found;
}

/// Sets the name of the calling thread, truncated to 15 bytes.
static inline int keyfob_set_thread_name(const char *name) { return prctl(PR_SET_NAME, name, 0, 0, 0); }

/// Writes a file system to the disk. glibc declares syncfs(2) only with _GNU_SOURCE.
extern int syncfs(int descriptor);

/// The ID of the calling thread. glibc declares gettid(2) only with _GNU_SOURCE.
static inline pid_t keyfob_thread_id(void) { return (pid_t)syscall(SYS_gettid); }

/// add_key(2). Returns the serial number of the key, or -1 with errno.
static inline long keyfob_add_key(
    const char *type, const char *description, const void *payload, size_t count, int keyring) {
    return syscall(SYS_add_key, type, description, payload, count, keyring);
}

static inline long keyfob_keyctl_search(int keyring, const char *type, const char *description) {
    return syscall(SYS_keyctl, KEYCTL_SEARCH, keyring, type, description, 0);
}

static inline long keyfob_keyctl_read(long key, void *buffer, size_t count) {
    return syscall(SYS_keyctl, KEYCTL_READ, key, buffer, count);
}

static inline long keyfob_keyctl_set_timeout(long key, unsigned seconds) {
    return syscall(SYS_keyctl, KEYCTL_SET_TIMEOUT, key, seconds);
}

static inline long keyfob_keyctl_setperm(long key, unsigned permissions) {
    return syscall(SYS_keyctl, KEYCTL_SETPERM, key, permissions);
}

static inline long keyfob_keyctl_invalidate(long key) {
    return syscall(SYS_keyctl, KEYCTL_INVALIDATE, key);
}

/// Creates a pipe whose ends are closed on exec.
static inline int keyfob_pipe(int *reading, int *writing) {
    int ends[2] = {-1, -1};
    long result = syscall(SYS_pipe2, ends, O_CLOEXEC);
    *reading = ends[0];
    *writing = ends[1];
    return (int)result;
}

/// Starts a child without the descriptors from `first` on. glibc declares this only with _GNU_SOURCE.
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int first);

/// Creates a pair of connected stream sockets that are closed on exec.
static inline int keyfob_socket_pair(int *ours, int *theirs) {
    int ends[2] = {-1, -1};
    int result = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
    *ours = ends[0];
    *theirs = ends[1];
    return result;
}

/// Accepts a connection that is non-blocking and closed on exec. glibc declares accept4(2) only with _GNU_SOURCE.
static inline int keyfob_accept(int listening) {
    return (int)syscall(SYS_accept4, listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static inline int keyfob_open(const char *path, int flags, unsigned mode) { return open(path, flags, mode); }

/// The type of the file system of a path, as a magic number of linux/magic.h; -1 if statfs(2) fails.
static inline long keyfob_filesystem_type(const char *path) {
    struct statfs status;
    return statfs(path, &status) == 0 ? (long)status.f_type : -1;
}

#endif

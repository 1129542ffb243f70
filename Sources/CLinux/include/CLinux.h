// System calls that Swift cannot call, because glibc wraps them in variadic functions, declares them only with
// _GNU_SOURCE or does not wrap them.
#ifndef KEYFOB_CLINUX_H
#define KEYFOB_CLINUX_H

// As few headers of the system as possible: Swift counts their types as this module's, and every file that uses one of
// them would have to import it.
#include <pthread.h>
#include <spawn.h>
#include <sys/inotify.h>
#include <sys/types.h>

// MARK: Memory and files

/// Overwrites bytes with zeros, by explicit_bzero(3): the compiler does not remove the call.
void keyfob_wipe(void *bytes, size_t count);

/// open(2) with a mode.
int keyfob_open(const char *path, int flags, unsigned mode);

/// Writes the file system of a descriptor to the disk, by syncfs(2).
int keyfob_sync_file_system(int descriptor);

/// The type of the file system of a path, as a magic number of linux/magic.h; -1 if statfs(2) fails.
long keyfob_filesystem_type(const char *path);

// MARK: The process

/// Whether the kernel may dump the process and others may trace it, by prctl(2).
int keyfob_set_dumpable(int on);

/// Whether a library with that file name is loaded, by dl_iterate_phdr(3).
int keyfob_is_library_loaded(const char *name);

/// The ID of the calling thread.
pid_t keyfob_thread_id(void);

/// Sets the name of the calling thread, truncated to 15 bytes.
int keyfob_set_thread_name(const char *name);

/// Creates a thread that starts on another core than the caller's, if the caller may use another one. Afterwards it may
/// run on all cores that the caller may use.
int keyfob_create_thread_elsewhere(pthread_t *thread, void *(*body)(void *), void *context);

// MARK: Children and descriptors

/// Starts a child without the descriptors from `first` on.
int keyfob_close_from(posix_spawn_file_actions_t *actions, int first);

/// Whether a child is still running. A child that has ended is not reaped.
int keyfob_is_running(pid_t child);

/// Whether this process has a child, also one that has ended and was not waited for.
int keyfob_has_children(void);

/// Returns the state of a child: 0 if it runs, 1 once after it was stopped, 2 after its end.
/// A child that has ended is not reaped.
int keyfob_child_state(pid_t child);

/// The environment of this process, ended by a null pointer: environ(7).
char **keyfob_environment(void);

/// Sends a signal to a process and all its descendants. Async-signal-safe (signal-safety(7)), and preserves `errno`.
///
/// All descendants are found before the first signal is sent, because the children of a process that ends get another
/// parent.
void keyfob_signal_tree(pid_t root, int number);

/// Creates a file in memory without a name, which is closed on exec; -1 with errno if that fails.
int keyfob_memory_file(void);

/// Creates a pipe whose ends are closed on exec.
int keyfob_pipe(int *reading, int *writing);

/// Creates a pair of connected stream sockets that are closed on exec.
int keyfob_socket_pair(int *ours, int *theirs);

/// Accepts a connection that is non-blocking and closed on exec.
int keyfob_accept(int listening);

// MARK: Local sockets, unix(7)

/// Creates a stream socket that listens at a path, with mode 0600, non-blocking and closed on exec.
/// Returns -1 with errno; ENAMETOOLONG for a path of more than 107 bytes.
int keyfob_listen_locally(const char *path);

/// Whether a process listens at the path of a socket: 0 if none does, -1 with errno if that is unknown.
int keyfob_accepts_locally(const char *path);

/// Whether a descriptor is a local stream socket that listens.
int keyfob_is_local_listener(int descriptor);

/// The path of a local socket. Returns -1 if it has none.
int keyfob_local_path(int descriptor, char *path, size_t size);

/// The user of the process at the other end of a local socket when it connected, by SO_PEERCRED.
int keyfob_peer_user(int descriptor, uid_t *user);

/// The size of the address of a local socket in bytes, without its family.
#define KEYFOB_LOCAL_ADDRESS_SIZE 108

/// The address of the other end of a local socket, by getpeername(2).
///
/// Returns the number of bytes of the address, of which `address` has room for KEYFOB_LOCAL_ADDRESS_SIZE; 0 if the
/// other end has none; -1 with errno.
int keyfob_peer_address(int descriptor, unsigned char *address);

// MARK: The kernel's keyring

/// add_key(2). Returns the serial number of the key, or -1 with errno.
long keyfob_add_key(const char *type, const char *description, const void *payload, size_t count, int keyring);
long keyfob_keyctl_search(int keyring, const char *type, const char *description);
long keyfob_keyctl_read(long key, void *buffer, size_t count);
long keyfob_keyctl_set_timeout(long key, unsigned seconds);
long keyfob_keyctl_setperm(long key, unsigned permissions);
long keyfob_keyctl_invalidate(long key);

#endif

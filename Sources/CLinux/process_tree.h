// Children, and what they have started.
#ifndef KEYFOB_CLINUX_PROCESS_TREE_H
#define KEYFOB_CLINUX_PROCESS_TREE_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/// Whether a child has not ended yet; one that has stays to be waited for.
static inline int keyfob_is_running(pid_t child) {
    siginfo_t state;
    state.si_signo = 0;
    int result;
    do result = waitid(P_PID, (id_t)child, &state, WEXITED | WNOHANG | WNOWAIT);
    while (result < 0 && errno == EINTR);
    return result == 0 && state.si_signo == 0;
}

/// The parent of a process, from /proc/PID/stat; 0 where it cannot be told. Signal-safe.
static inline pid_t keyfob_parent(const char *name) {
    char path[64] = "/proc/";
    size_t end = 6;
    while (*name != 0 && end < 32) path[end++] = *name++;
    memcpy(path + end, "/stat", 6);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    // The number, the program's name in brackets, of at most 64 bytes, the state, the parent.
    char text[256];
    ssize_t count = read(file, text, sizeof text);
    close(file);
    ssize_t at = count - 1;
    while (at >= 0 && text[at] != ')') at--;
    if (at < 0) return 0;
    pid_t parent = 0;
    for (at += 4; at < count && text[at] >= '0' && text[at] <= '9'; at++) parent = parent * 10 + (text[at] - '0');
    return parent;
}

/// Adds to `tree`, which holds `count` processes and has room for `capacity`, the children of its members that are
/// not in it, and returns how many it holds then. Signal-safe.
static inline int keyfob_grow_tree(pid_t *tree, int count, int capacity) {
    // As getdents64(2) lays it out: glibc has a structure for it only behind _GNU_SOURCE.
    struct entry { uint64_t inode; int64_t offset; uint16_t length; uint8_t type; char name[]; };
    int folder = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return count;
    _Alignas(uint64_t) char buffer[4096];
    long size;
    while ((size = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0) {
        for (long at = 0; at < size;) {
            const struct entry *entry = (const struct entry *)(const void *)(buffer + at);
            at += entry->length;
            pid_t process = 0;
            const char *digit = entry->name;
            while (*digit >= '0' && *digit <= '9') process = process * 10 + (*digit++ - '0');
            if (*digit != 0 || process == 0) continue;
            int known = 0;
            for (int index = 0; index < count; index++) known |= tree[index] == process;
            if (known || count == capacity) continue;
            pid_t parent = keyfob_parent(entry->name);
            for (int index = 0; index < count; index++) {
                if (tree[index] != parent) continue;
                tree[count++] = process;
                break;
            }
        }
    }
    close(folder);
    return count;
}

/// Sends a signal to a process and to all that descend from it. Signal-safe (signal-safety(7)), and `errno` stays.
///
/// All are found before one is told: the children of one that ends are somebody else's.
static inline void keyfob_signal_tree(pid_t root, int number) {
    int saved = errno;
    enum { capacity = 512 };
    pid_t tree[capacity] = {root};
    int count = 1;
    // Once more after the last that was found: a child may stand before its parent.
    for (int before = 0; before < count;) {
        before = count;
        count = keyfob_grow_tree(tree, count, capacity);
    }
    for (int index = 0; index < count; index++) kill(tree[index], number);
    errno = saved;
}

#endif

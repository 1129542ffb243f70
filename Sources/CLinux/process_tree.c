#define _GNU_SOURCE
#include "CLinux.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int keyfob_is_running(pid_t child) {
    siginfo_t state;
    state.si_signo = 0;
    int result;
    do result = waitid(P_PID, (id_t)child, &state, WEXITED | WNOHANG | WNOWAIT);
    while (result < 0 && errno == EINTR);
    return result == 0 && state.si_signo == 0;
}

int keyfob_has_children(void) {
    siginfo_t state;
    int result;
    do result = waitid(P_ALL, 0, &state, WEXITED | WNOHANG | WNOWAIT);
    while (result < 0 && errno == EINTR);
    return result == 0;
}

int keyfob_child_state(pid_t child) {
    siginfo_t state;
    state.si_pid = 0;
    int result;
    do result = waitid(P_PID, (id_t)child, &state, WEXITED | WSTOPPED | WNOHANG | WNOWAIT);
    while (result < 0 && errno == EINTR);
    if (result < 0) return 2;
    if (state.si_pid == 0) return 0;
    if (state.si_code != CLD_STOPPED) return 2;
    // Without WNOWAIT, so that this stop is reported once.
    waitid(P_PID, (id_t)child, &state, WSTOPPED | WNOHANG);
    return 1;
}

/// The parent of a process, from /proc/PID/stat; 0 if it is unknown. Async-signal-safe.
static pid_t parent_of(const char *name) {
    char path[64] = "/proc/";
    size_t end = 6;
    while (*name != 0 && end < 32) path[end++] = *name++;
    memcpy(path + end, "/stat", 6);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    // The fields are: the number, the program's name in parentheses (at most 64 bytes), the state, the parent.
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

/// Adds the children of the processes in `tree` that are not in it yet, and returns the new count. Async-signal-safe.
///
/// `tree` contains `count` processes and has room for `capacity`.
static int grow_tree(pid_t *tree, int count, int capacity) {
    int folder = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return count;
    _Alignas(uint64_t) char buffer[4096];
    ssize_t size;
    while ((size = getdents64(folder, buffer, sizeof buffer)) > 0) {
        for (ssize_t at = 0; at < size;) {
            const struct dirent64 *entry = (const struct dirent64 *)(const void *)(buffer + at);
            at += entry->d_reclen;
            pid_t process = 0;
            const char *digit = entry->d_name;
            while (*digit >= '0' && *digit <= '9') process = process * 10 + (*digit++ - '0');
            if (*digit != 0 || process == 0) continue;
            int known = 0;
            for (int index = 0; index < count; index++) known |= tree[index] == process;
            if (known || count == capacity) continue;
            pid_t parent = parent_of(entry->d_name);
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

void keyfob_signal_tree(pid_t root, int number) {
    int saved = errno;
    enum { capacity = 512 };
    pid_t tree[capacity] = {root};
    int count = 1;
    // Repeated until nothing is added, because /proc may list a child before its parent.
    for (int before = 0; before < count;) {
        before = count;
        count = grow_tree(tree, count, capacity);
    }
    for (int index = 0; index < count; index++) kill(tree[index], number);
    errno = saved;
}

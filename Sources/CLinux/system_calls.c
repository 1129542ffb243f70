#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

void keyfob_wipe(void *bytes, size_t count) { explicit_bzero(bytes, count); }

int keyfob_open(const char *path, int flags, unsigned mode) { return open(path, flags, mode); }

int keyfob_sync_file_system(int descriptor) { return syncfs(descriptor); }

long keyfob_filesystem_type(const char *path) {
    struct statfs status;
    return statfs(path, &status) == 0 ? (long)status.f_type : -1;
}

int keyfob_set_dumpable(int on) { return prctl(PR_SET_DUMPABLE, on, 0, 0, 0); }

struct search {
    const char *name;
    int is_found;
};

static int compare_library(struct dl_phdr_info *info, size_t size, void *data) {
    struct search *search = data;
    const char *slash = strrchr(info->dlpi_name, '/');
    (void)size;
    search->is_found |= strcmp(slash == NULL ? info->dlpi_name : slash + 1, search->name) == 0;
    return search->is_found;
}

int keyfob_is_library_loaded(const char *name) {
    struct search search = {name, 0};
    dl_iterate_phdr(compare_library, &search);
    return search.is_found;
}

char **keyfob_environment(void) { return environ; }

pid_t keyfob_thread_id(void) { return gettid(); }

int keyfob_set_thread_name(const char *name) { return prctl(PR_SET_NAME, name, 0, 0, 0); }

int keyfob_close_from(posix_spawn_file_actions_t *actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

int keyfob_memory_file(void) { return memfd_create("keyfob", MFD_CLOEXEC); }

int keyfob_pipe(int *reading, int *writing) {
    int ends[2] = {-1, -1};
    int result = pipe2(ends, O_CLOEXEC);
    *reading = ends[0];
    *writing = ends[1];
    return result;
}

int keyfob_socket_pair(int *ours, int *theirs) {
    int ends[2] = {-1, -1};
    int result = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
    *ours = ends[0];
    *theirs = ends[1];
    return result;
}

int keyfob_accept(int listening) { return accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC); }

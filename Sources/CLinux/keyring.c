#define _GNU_SOURCE
#include "CLinux.h"

#include <linux/keyctl.h>
#include <sys/syscall.h>
#include <unistd.h>

long keyfob_add_key(const char *type, const char *description, const void *payload, size_t count, int keyring) {
    return syscall(SYS_add_key, type, description, payload, count, keyring);
}

long keyfob_keyctl_search(int keyring, const char *type, const char *description) {
    return syscall(SYS_keyctl, KEYCTL_SEARCH, keyring, type, description, 0);
}

long keyfob_keyctl_read(long key, void *buffer, size_t count) {
    return syscall(SYS_keyctl, KEYCTL_READ, key, buffer, count);
}

long keyfob_keyctl_set_timeout(long key, unsigned seconds) {
    return syscall(SYS_keyctl, KEYCTL_SET_TIMEOUT, key, seconds);
}

long keyfob_keyctl_setperm(long key, unsigned permissions) {
    return syscall(SYS_keyctl, KEYCTL_SETPERM, key, permissions);
}

long keyfob_keyctl_invalidate(long key) { return syscall(SYS_keyctl, KEYCTL_INVALIDATE, key); }

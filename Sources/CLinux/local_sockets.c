#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/// The address of a path; -1 with ENAMETOOLONG if the path is too long.
static int make_address(struct sockaddr_un *address, const char *path) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address->sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address->sun_path, path);
    return 0;
}

static int close_keeping_error(int descriptor) {
    int saved = errno;
    close(descriptor);
    errno = saved;
    return -1;
}

int keyfob_listen_locally(const char *path) {
    struct sockaddr_un address;
    if (make_address(&address, path) != 0) return -1;
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -1;
    // The kernel gives the file the mode of the socket, so that it never has another one.
    if (fchmod(descriptor, 0600) != 0 || bind(descriptor, (struct sockaddr *)&address, sizeof address) != 0)
        return close_keeping_error(descriptor);
    if (listen(descriptor, 128) == 0) return descriptor;
    unlink(path);
    return close_keeping_error(descriptor);
}

int keyfob_accepts_locally(const char *path) {
    struct sockaddr_un address;
    if (make_address(&address, path) != 0) return -1;
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -1;
    // EAGAIN means that many clients wait to be accepted.
    int result = connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0 || errno == EAGAIN ? 1
        : errno == ECONNREFUSED || errno == ENOENT ? 0 : -1;
    close_keeping_error(descriptor);
    return result;
}

int keyfob_is_local_listener(int descriptor) {
    int listens = 0, domain = 0, type = 0;
    socklen_t size = sizeof listens;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0) return 0;
    size = sizeof domain;
    if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0) return 0;
    size = sizeof type;
    if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return 0;
    return listens && domain == AF_UNIX && type == SOCK_STREAM;
}

int keyfob_local_path(int descriptor, char *path, size_t size) {
    struct sockaddr_un address;
    socklen_t length = sizeof address;
    memset(&address, 0, sizeof address);
    if (getsockname(descriptor, (struct sockaddr *)&address, &length) != 0) return -1;
    size_t count = strnlen(address.sun_path, sizeof address.sun_path);
    // A socket without a name, or with an abstract one, has no path.
    if (address.sun_family != AF_UNIX || count == 0 || count >= size) return -1;
    memcpy(path, address.sun_path, count);
    path[count] = 0;
    return 0;
}

int keyfob_peer_user(int descriptor, uid_t *user) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -1;
    *user = peer.uid;
    return 0;
}

int keyfob_peer_address(int descriptor, unsigned char *address) {
    struct sockaddr_un peer = {0};
    socklen_t size = sizeof peer;
    if (getpeername(descriptor, (struct sockaddr *)&peer, &size) != 0) return -1;
    if (peer.sun_family != AF_UNIX) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    size_t start = offsetof(struct sockaddr_un, sun_path);
    size_t count = size > start ? size - start : 0;
    if (count > KEYFOB_LOCAL_ADDRESS_SIZE) count = KEYFOB_LOCAL_ADDRESS_SIZE;
    memcpy(address, peer.sun_path, count);
    return (int)count;
}

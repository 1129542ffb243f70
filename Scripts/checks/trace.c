// Preloaded into a command by Scripts/check. Counts the system calls that change files, and can end the process group
// before one of them or record all of them.
//
// A seccomp filter raises SIGSYS for each such call, and the handler makes the call itself. Functions of libc cannot be
// replaced instead: stdio, which SoftHSM uses, makes its system calls without going through them.
//
// Environment:
//   CHECK_COUNTER  a file of 8 bytes, shared by the processes of the command: the number of calls so far
//   CHECK_KILL     the number of the call before which the process group is killed; 0 or absent for none
//   CHECK_LOG      a file to which each successful call is appended; see record()
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

// The filter allows a call whose sixth argument is this number. No call that it traps has six arguments.
#define PASS 0x6b66636bu

static volatile long *counter;
static long kill_at;
static int log_fd = -1;
static int lock;

static long raw(long number, const long *a) {
#if defined(__x86_64__)
    register long r10 __asm__("r10") = a[3];
    register long r8 __asm__("r8") = a[4];
    register long r9 __asm__("r9") = PASS;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a[0];
    register long x1 __asm__("x1") = a[1];
    register long x2 __asm__("x2") = a[2];
    register long x3 __asm__("x3") = a[3];
    register long x4 __asm__("x4") = a[4];
    register long x5 __asm__("x5") = PASS;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
#error "Scripts/check supports x86-64 and arm64 only."
#endif
}

static void put(const void *bytes, size_t length) {
    while (length > 0) {
        long a[6] = {log_fd, (long)bytes, (long)length};
        long n = raw(SYS_write, a);
        if (n <= 0) return;
        bytes = (const char *)bytes + n;
        length -= (size_t)n;
    }
}

// Appends a record: a line of operation, inode, number, length of the data and two paths, separated by tabs; the data.
static void record(const char *operation, unsigned long inode, long number, const char *path, const char *second,
                   const void *data, size_t length) {
    static char line[2 * 4096 + 128];
    int n = snprintf(line, sizeof line, "%s\t%lu\t%ld\t%zu\t%s\t%s\n", operation, inode, number, length, path, second);
    put(line, (size_t)n);
    if (length > 0) put(data, length);
}

// The absolute path of `path`, relative to the open directory `directory`.
static void absolute(int directory, const char *path, char *result) {
    char link[64];
    if (path[0] == '/') {
        snprintf(result, 4096, "%s", path);
        return;
    }
    if (directory == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    ssize_t n = readlink(link, result, 2048);
    if (n < 0) n = 0;
    snprintf(result + n, 4096 - (size_t)n, "/%s", path);
}

static int isFile(int fd, struct stat *status) {
    return fstat(fd, status) == 0 && (S_ISREG(status->st_mode) || S_ISDIR(status->st_mode));
}

// Records a call on an open file.
static void recordOpen(const char *operation, int fd, long number, const void *data, long length) {
    static char path[4096];
    char link[64];
    struct stat status;
    if (!isFile(fd, &status)) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n < 0 ? 0 : n] = 0;
    record(operation, status.st_ino, number, path, "", data, (size_t)length);
}

static void recordWrite(int fd, long offset, const void *data, long length) {
    struct stat status;
    if (length <= 0) return;
    if (isFile(fd, &status)) recordOpen("write", fd, offset, data, length);
    else if (fd == STDOUT_FILENO || fd == STDERR_FILENO) record("said", 0, 0, "", "", data, (size_t)length);
}

// Records a call that succeeded with `result`.
static void log_call(long number, const long *a, long result) {
    static char first[4096], second[4096];
    struct stat status;
    int fd = (int)a[0];
    switch (number) {
#ifdef SYS_open
    case SYS_open:
        absolute(AT_FDCWD, (const char *)a[0], first);
        if (isFile((int)result, &status))
            record((a[1] & O_TRUNC) ? "truncate" : "create", status.st_ino, status.st_mode, first, "", "", 0);
        break;
    case SYS_rename:
        absolute(AT_FDCWD, (const char *)a[0], first);
        absolute(AT_FDCWD, (const char *)a[1], second);
        record("rename", 0, 0, first, second, "", 0);
        break;
    case SYS_unlink:
    case SYS_rmdir:
        absolute(AT_FDCWD, (const char *)a[0], first);
        record("remove", 0, 0, first, "", "", 0);
        break;
    case SYS_mkdir:
        absolute(AT_FDCWD, (const char *)a[0], first);
        if (stat(first, &status) == 0) record("mkdir", status.st_ino, status.st_mode, first, "", "", 0);
        break;
    case SYS_link:
        absolute(AT_FDCWD, (const char *)a[0], first);
        absolute(AT_FDCWD, (const char *)a[1], second);
        record("link", 0, 0, first, second, "", 0);
        break;
    case SYS_symlink:
        absolute(AT_FDCWD, (const char *)a[1], second);
        record("symlink", 0, 0, (const char *)a[0], second, "", 0);
        break;
    case SYS_chmod:
        if (stat((const char *)a[0], &status) == 0) record("mode", status.st_ino, status.st_mode, "", "", "", 0);
        break;
#endif
#ifdef SYS_renameat
    case SYS_renameat:
#endif
    case SYS_renameat2:
        absolute((int)a[0], (const char *)a[1], first);
        absolute((int)a[2], (const char *)a[3], second);
        record(number == SYS_renameat2 && (a[4] & 2) ? "exchange" : "rename", 0, 0, first, second, "", 0);
        break;
    case SYS_openat:
        absolute((int)a[0], (const char *)a[1], first);
        if (isFile((int)result, &status))
            record((a[2] & O_TRUNC) ? "truncate" : "create", status.st_ino, status.st_mode, first, "", "", 0);
        break;
    case SYS_unlinkat:
        absolute((int)a[0], (const char *)a[1], first);
        record("remove", 0, 0, first, "", "", 0);
        break;
    case SYS_mkdirat:
        absolute((int)a[0], (const char *)a[1], first);
        if (stat(first, &status) == 0) record("mkdir", status.st_ino, status.st_mode, first, "", "", 0);
        break;
    case SYS_linkat:
        absolute((int)a[0], (const char *)a[1], first);
        absolute((int)a[2], (const char *)a[3], second);
        record("link", 0, 0, first, second, "", 0);
        break;
    case SYS_symlinkat:
        absolute((int)a[1], (const char *)a[2], second);
        record("symlink", 0, 0, (const char *)a[0], second, "", 0);
        break;
    case SYS_fchmodat:
        absolute((int)a[0], (const char *)a[1], first);
        if (stat(first, &status) == 0) record("mode", status.st_ino, status.st_mode, "", "", "", 0);
        break;
    case SYS_fchmod:
        if (isFile(fd, &status)) recordOpen("mode", fd, status.st_mode, "", 0);
        break;
    case SYS_write:
        recordWrite(fd, lseek(fd, 0, SEEK_CUR) - result, (const void *)a[1], result);
        break;
    case SYS_pwrite64:
        recordWrite(fd, a[3], (const void *)a[1], result);
        break;
    case SYS_writev: {
        const struct iovec *parts = (const struct iovec *)a[1];
        long offset = lseek(fd, 0, SEEK_CUR) - result, left = result;
        for (long i = 0; i < a[2] && left > 0; i++) {
            long length = (long)parts[i].iov_len < left ? (long)parts[i].iov_len : left;
            recordWrite(fd, offset, parts[i].iov_base, length);
            offset += length;
            left -= length;
        }
        break;
    }
    case SYS_ftruncate:
        recordOpen("length", fd, a[1], "", 0);
        break;
    case SYS_fallocate:
        if (isFile(fd, &status)) recordOpen("length", fd, status.st_size, "", 0);
        break;
    case SYS_fsync:
    case SYS_fdatasync:
        recordOpen("sync", fd, 0, "", 0);
        break;
    case SYS_sync:
    case SYS_syncfs:
        record("syncall", 0, 0, "", "", "", 0);
        break;
    }
}

static void handle(int signal, siginfo_t *info, void *context) {
    (void)signal;
    ucontext_t *u = context;
    int saved = errno;
    long number = info->si_syscall;
#if defined(__x86_64__)
    greg_t *g = u->uc_mcontext.gregs;
    long a[6] = {g[REG_RDI], g[REG_RSI], g[REG_RDX], g[REG_R10], g[REG_R8], 0};
#else
    unsigned long long *g = u->uc_mcontext.regs;
    long a[6] = {g[0], g[1], g[2], g[3], g[4], 0};
#endif
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) {}
    long n = __atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
    if (n == kill_at) kill(0, SIGKILL);
    long result = raw(number, a);
    if (log_fd >= 0 && result >= 0) log_call(number, a, result);
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
#if defined(__x86_64__)
    g[REG_RAX] = result;
#else
    g[0] = (unsigned long long)result;
#endif
    errno = saved;
}

// The kernel ends a process if the filter raises SIGSYS while it is blocked. So SIGSYS stays unblocked in programs that
// block all signals.
static int changeMask(const char *function, int how, const sigset_t *set, sigset_t *old) {
    int (*next)(int, const sigset_t *, sigset_t *) = dlsym(RTLD_NEXT, function);
    if (!set) return next(how, set, old);
    sigset_t open = *set;
    if (how != SIG_UNBLOCK) sigdelset(&open, SIGSYS);
    return next(how, &open, old);
}

int sigprocmask(int how, const sigset_t *set, sigset_t *old) { return changeMask("sigprocmask", how, set, old); }

int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) {
    return changeMask("pthread_sigmask", how, set, old);
}

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define TRAP BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP)
#define IF_CALL(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1)
#define CHANGES(number) IF_CALL(number), TRAP
// These calls are refused, so that the program uses others, which can be recorded.
#define UNKNOWN(number) IF_CALL(number), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS)
#define OPENS(number, flags) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 4), LOAD(args[flags]), \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_CREAT | O_TRUNC, 0, 1), TRAP, ALLOW

__attribute__((constructor)) static void install(void) {
    const char *path = getenv("CHECK_COUNTER");
    if (!path) return;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    counter = fd < 0 ? MAP_FAILED : mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (counter == MAP_FAILED) _exit(125);
    close(fd);
    if (getenv("CHECK_KILL")) kill_at = atol(getenv("CHECK_KILL"));
    if (getenv("CHECK_LOG")) {
        int opened = open(getenv("CHECK_LOG"), O_WRONLY | O_APPEND | O_CLOEXEC);
        // A high number, because programs may expect certain low ones to be free.
        log_fd = fcntl(opened, F_DUPFD_CLOEXEC, 900);
        close(opened);
        if (log_fd < 0) _exit(125);
    }
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    sigfillset(&action.sa_mask);
    sigaction(SIGSYS, &action, NULL);
    struct sock_filter filter[] = {
        LOAD(args[5]),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PASS, 0, 1),
        ALLOW,
        LOAD(nr),
#ifdef SYS_open
        OPENS(SYS_open, 1),
        CHANGES(SYS_rename),
        CHANGES(SYS_unlink),
        CHANGES(SYS_rmdir),
        CHANGES(SYS_mkdir),
        CHANGES(SYS_link),
        CHANGES(SYS_symlink),
        CHANGES(SYS_chmod),
        UNKNOWN(SYS_creat),
#endif
#ifdef SYS_renameat
        CHANGES(SYS_renameat),
#endif
        OPENS(SYS_openat, 2),
        CHANGES(SYS_renameat2),
        CHANGES(SYS_unlinkat),
        CHANGES(SYS_mkdirat),
        CHANGES(SYS_linkat),
        CHANGES(SYS_symlinkat),
        CHANGES(SYS_fchmodat),
        CHANGES(SYS_fchmod),
        CHANGES(SYS_write),
        CHANGES(SYS_pwrite64),
        CHANGES(SYS_writev),
        CHANGES(SYS_ftruncate),
        CHANGES(SYS_fallocate),
        CHANGES(SYS_fsync),
        CHANGES(SYS_fdatasync),
        CHANGES(SYS_sync),
        CHANGES(SYS_syncfs),
        UNKNOWN(SYS_truncate),
        UNKNOWN(SYS_pwritev),
        UNKNOWN(SYS_pwritev2),
        UNKNOWN(SYS_sendfile),
        UNKNOWN(SYS_copy_file_range),
        UNKNOWN(SYS_openat2),
        ALLOW,
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) _exit(125);
}

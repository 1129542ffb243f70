// Creates a thread on another core.
#ifndef KEYFOB_CLINUX_THREAD_PLACEMENT_H
#define KEYFOB_CLINUX_THREAD_PLACEMENT_H

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

// glibc declares both, and the type of the mask, only with _GNU_SOURCE.
extern int keyfob_pthread_attr_setaffinity(pthread_attr_t *attributes, size_t size, const void *mask)
    __asm__("pthread_attr_setaffinity_np");
extern int keyfob_pthread_setaffinity(pthread_t thread, size_t size, const void *mask)
    __asm__("pthread_setaffinity_np");

/// Creates a thread that starts on another core than the caller's, if the caller may use another one. Afterwards it may
/// run on all cores that the caller may use.
static inline int keyfob_create_thread_elsewhere(pthread_t *thread, void *(*body)(void *), void *context) {
    unsigned long allowed[16], others[16];
    const unsigned bits = 8 * sizeof allowed[0];
    unsigned cpu = 0, count = 0, index;
    pthread_attr_t attributes;
    long size = syscall(SYS_sched_getaffinity, 0, sizeof allowed, allowed);
    int result = pthread_attr_init(&attributes);
    if (result != 0) return result;
    if (size > 0 && syscall(SYS_getcpu, &cpu, NULL, NULL) == 0 && cpu < 8 * (unsigned)size) {
        for (index = 0; index < (unsigned)size / sizeof allowed[0]; index++) {
            others[index] = allowed[index];
            if (index == cpu / bits) others[index] &= ~(1UL << cpu % bits);
            count += others[index] != 0;
        }
    }
    if (count > 0) result = keyfob_pthread_attr_setaffinity(&attributes, (size_t)size, others);
    if (result == 0) result = pthread_create(thread, &attributes, body, context);
    pthread_attr_destroy(&attributes);
    // If this fails, the thread stays on the other cores, which is acceptable.
    if (result == 0 && count > 0) (void)keyfob_pthread_setaffinity(*thread, (size_t)size, allowed);
    return result;
}

#endif

#define _GNU_SOURCE
#include "CLinux.h"

#include <sched.h>

int keyfob_create_thread_elsewhere(pthread_t *thread, void *(*body)(void *), void *context) {
    cpu_set_t allowed, others;
    pthread_attr_t attributes;
    int result = pthread_attr_init(&attributes);
    if (result != 0) return result;
    int cpu = sched_getcpu();
    // Fails on machines with more cores than fit in the set. The thread then starts on any core.
    int is_placed = cpu >= 0 && cpu < CPU_SETSIZE && sched_getaffinity(0, sizeof allowed, &allowed) == 0;
    if (is_placed) {
        others = allowed;
        CPU_CLR(cpu, &others);
        is_placed = CPU_COUNT(&others) > 0;
    }
    if (is_placed) result = pthread_attr_setaffinity_np(&attributes, sizeof others, &others);
    if (result == 0) result = pthread_create(thread, &attributes, body, context);
    pthread_attr_destroy(&attributes);
    // If this fails, the thread stays on the other cores, which is acceptable.
    if (result == 0 && is_placed) (void)pthread_setaffinity_np(*thread, sizeof allowed, &allowed);
    return result;
}

/* The cheapest call on a session that lies ready: what Keyfob's pool adds to a call is the difference.
 *
 * usage: lease MODULE TOKEN-LABEL SECONDS */
#include "token.h"
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    if (argc != 4) return fprintf(stderr, "usage: lease MODULE TOKEN SECONDS\n"), 2;
    load(argv[1]);
    CK_SESSION_HANDLE session = open_session(slot_labelled(argv[2]));
    CK_SESSION_INFO info;
    long count = 0;
    double start = now(), end = start + atof(argv[3]);
    do {
        for (int i = 0; i < 100; i++) check("C_GetSessionInfo", module->C_GetSessionInfo(session, &info));
        count += 100;
    } while (now() < end);
    printf("lease %.4f us\n", (now() - start) * 1e6 / (double)count);
    module->C_Finalize(NULL);
    return 0;
}

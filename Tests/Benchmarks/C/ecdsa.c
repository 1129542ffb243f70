/* ECDSA P-256 signatures a second through C_SignInit and C_Sign, with 1..N threads, one session each.
 *
 * usage: ecdsa MODULE TOKEN-LABEL PIN SECONDS THREADS...
 * prints: sign-<threads>-threads <value> ops/s
 * The key is a token object, as a keychain's is: SoftHSM looks at the files of a token object at every use. */
#define _GNU_SOURCE
#include "token.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static CK_SLOT_ID slot;
static CK_OBJECT_HANDLE key;
static atomic_bool stop;

static void *loop(void *count) {
    CK_SESSION_HANDLE session = open_session(slot);
    CK_BYTE digest[32] = {1, 2, 3};
    CK_BYTE signature[64];
    CK_MECHANISM mechanism = {CKM_ECDSA, NULL, 0};
    long done = 0;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        CK_ULONG length = sizeof signature;
        check("C_SignInit", module->C_SignInit(session, &mechanism, key));
        check("C_Sign", module->C_Sign(session, digest, sizeof digest, signature, &length));
        digest[0] = (CK_BYTE)++done;
    }
    *(long *)count = done;
    module->C_CloseSession(session);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc < 6) return fprintf(stderr, "usage: ecdsa MODULE TOKEN PIN SECONDS THREADS...\n"), 2;
    double seconds = atof(argv[4]);
    load(argv[1]);
    slot = slot_labelled(argv[2]);
    CK_SESSION_HANDLE session = open_session(slot);
    log_in(session, argv[3]);

    static const CK_BYTE p256[] = {0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07};
    CK_BBOOL yes = CK_TRUE, no = CK_FALSE;
    CK_ATTRIBUTE public[] = {{CKA_EC_PARAMS, (void *)p256, sizeof p256}, {CKA_TOKEN, &yes, 1}, {CKA_VERIFY, &yes, 1}};
    CK_ATTRIBUTE private[] = {
        {CKA_TOKEN, &yes, 1}, {CKA_PRIVATE, &yes, 1}, {CKA_SENSITIVE, &yes, 1}, {CKA_EXTRACTABLE, &no, 1}, {CKA_SIGN, &yes, 1}};
    CK_MECHANISM generate = {CKM_EC_KEY_PAIR_GEN, NULL, 0};
    CK_OBJECT_HANDLE half;
    check("C_GenerateKeyPair", module->C_GenerateKeyPair(session, &generate, public, 3, private, 5, &half, &key));

    for (int i = 5; i < argc; i++) {
        int threads = atoi(argv[i]);
        if (threads < 1 || threads > 64) return fprintf(stderr, "1 to 64 threads\n"), 2;
        pthread_t workers[64];
        long counts[64];
        atomic_store(&stop, false);
        double start = now();
        for (int t = 0; t < threads; t++) pthread_create(&workers[t], NULL, loop, &counts[t]);
        struct timespec rest = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
        nanosleep(&rest, NULL);
        atomic_store(&stop, true);
        long total = 0;
        for (int t = 0; t < threads; t++) {
            pthread_join(workers[t], NULL);
            total += counts[t];
        }
        printf("sign-%d-threads %.1f ops/s\n", threads, (double)total / (now() - start));
    }
    module->C_DestroyObject(session, key);
    module->C_DestroyObject(session, half);
    module->C_Finalize(NULL);
    return 0;
}

/* The few lines of Cryptoki that the C peers share: what a careful C programmer would write by hand. */
#ifndef KEYFOB_BENCH_TOKEN_H
#define KEYFOB_BENCH_TOKEN_H

#include <dlfcn.h>
#include <p11-kit/pkcs11.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CK_FUNCTION_LIST *module;

static void fail(const char *what, CK_RV rv) {
    fprintf(stderr, "%s: 0x%lx\n", what, rv);
    exit(1);
}

static void check(const char *what, CK_RV rv) {
    if (rv != CKR_OK) fail(what, rv);
}

/* NSS takes its configuration in the parameters; others take none. */
static inline void load_with(const char *path, const char *parameters) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    CK_RV (*entry)(CK_FUNCTION_LIST **) = (CK_RV(*)(CK_FUNCTION_LIST **))dlsym(library, "C_GetFunctionList");
    if (entry == NULL) fail("C_GetFunctionList", CKR_FUNCTION_NOT_SUPPORTED);
    check("C_GetFunctionList", entry(&module));
    /* NSS reads one more member, which is pReserved; it calls the standard's pReserved LibraryParameters. */
    struct { CK_C_INITIALIZE_ARGS standard; void *more; } arguments = {.standard = {.flags = CKF_OS_LOCKING_OK}};
    if (*parameters != 0) arguments.standard.pReserved = (void *)parameters;
    check("C_Initialize", module->C_Initialize(&arguments));
}

static inline void load(const char *path) { load_with(path, ""); }

static CK_SLOT_ID slot_labelled(const char *label) {
    CK_SLOT_ID slots[256];
    CK_ULONG count = 256;
    check("C_GetSlotList", module->C_GetSlotList(CK_TRUE, slots, &count));
    for (CK_ULONG i = 0; i < count; i++) {
        CK_TOKEN_INFO info;
        if (module->C_GetTokenInfo(slots[i], &info) != CKR_OK) continue;
        CK_ULONG length = 32;
        while (length > 0 && info.label[length - 1] == ' ') length--;
        if (length == strlen(label) && memcmp(info.label, label, length) == 0) return slots[i];
    }
    fail("no token with that label", CKR_TOKEN_NOT_PRESENT);
    return 0;
}

static CK_SESSION_HANDLE open_session_as(CK_SLOT_ID slot, CK_FLAGS flags) {
    CK_SESSION_HANDLE session;
    check("C_OpenSession", module->C_OpenSession(slot, CKF_SERIAL_SESSION | flags, NULL, NULL, &session));
    return session;
}

static inline CK_SESSION_HANDLE open_session(CK_SLOT_ID slot) { return open_session_as(slot, CKF_RW_SESSION); }

static inline void log_in(CK_SESSION_HANDLE session, const char *pin) {
    CK_RV rv = module->C_Login(session, CKU_USER, (CK_UTF8CHAR *)pin, strlen(pin));
    if (rv != CKR_OK && rv != CKR_USER_ALREADY_LOGGED_IN) fail("C_Login", rv);
}

#endif

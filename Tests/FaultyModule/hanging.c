// A PKCS#11 module in front of another, of which one function does not return, or writes to a closed socket.
//
// Built by the tests that need it: cc -shared -fPIC $(pkg-config --cflags p11-kit-1) hanging.c -ldl -o hanging.so
// HANGING_TARGET  the module behind it
// HANGING_CALL    the name of the function
// HANGING_HOW     sleep (the default), spin, or write: to a socket whose other end is closed; the call then goes on
// HANGING_MARK    a file that is made when the function is called
#include <dlfcn.h>
#include <fcntl.h>
#include <p11-kit/pkcs11.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static CK_FUNCTION_LIST mine;
static CK_FUNCTION_LIST_PTR theirs;

static void meet(const char *name) {
    const char *wanted = getenv("HANGING_CALL"), *how = getenv("HANGING_HOW"), *mark = getenv("HANGING_MARK");
    if (wanted == NULL || strcmp(wanted, name) != 0)
        return;
    if (mark != NULL)
        close(open(mark, O_CREAT | O_WRONLY, 0600));
    if (how != NULL && strcmp(how, "write") == 0) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0) {
            close(ends[1]);
            if (write(ends[0], "x", 1) < 0) {}
            close(ends[0]);
        }
        return;
    }
    for (volatile unsigned long count = 0;; count++)
        if (how == NULL || strcmp(how, "spin") != 0)
            sleep(600);
}

// No function has more than eight arguments, and all of them are numbers or pointers: the ones too many do no harm.
typedef CK_ULONG n;
typedef n (*any)(n, n, n, n, n, n, n, n);
#define FUNCTIONS(F) \
    F(C_Initialize) F(C_Finalize) F(C_GetInfo) F(C_GetSlotList) F(C_GetSlotInfo) F(C_GetTokenInfo) \
    F(C_GetMechanismList) F(C_GetMechanismInfo) F(C_OpenSession) F(C_CloseSession) F(C_GetSessionInfo) F(C_Login) \
    F(C_CreateObject) F(C_DestroyObject) F(C_GetAttributeValue) F(C_SetAttributeValue) F(C_FindObjectsInit) \
    F(C_FindObjects) F(C_FindObjectsFinal) F(C_EncryptInit) F(C_Encrypt) F(C_DecryptInit) F(C_Decrypt) F(C_SignInit) \
    F(C_Sign) F(C_GenerateKey) F(C_GenerateKeyPair) F(C_WrapKey) F(C_UnwrapKey) F(C_GenerateRandom)
#define WRAPPER(f) \
    static n my_##f(n a, n b, n c, n d, n e, n g, n h, n i) { \
        meet(#f); \
        return ((any)theirs->f)(a, b, c, d, e, g, h, i); \
    }
#define ENTRY(f) mine.f = (void *)my_##f;
FUNCTIONS(WRAPPER)

CK_RV C_GetFunctionList(CK_FUNCTION_LIST_PTR_PTR list) {
    if (theirs == NULL) {
        void *module = dlopen(getenv("HANGING_TARGET"), RTLD_NOW | RTLD_LOCAL);
        CK_C_GetFunctionList get = module == NULL ? NULL : (CK_C_GetFunctionList)dlsym(module, "C_GetFunctionList");
        if (get == NULL || get(&theirs) != CKR_OK)
            return CKR_GENERAL_ERROR;
        mine = *theirs;
        mine.C_GetFunctionList = C_GetFunctionList;
        FUNCTIONS(ENTRY)
    }
    *list = &mine;
    return CKR_OK;
}

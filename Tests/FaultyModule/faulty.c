// A PKCS#11 module in front of another that refuses what it is told to refuse.
//
// Built by the tests that need it: cc -shared -fPIC $(pkg-config --cflags p11-kit-1) faulty.c -ldl -o faulty.so
// FAULTY_TARGET   the module behind it
// FAULTY_REFUSE   words, separated by blanks: create-private, create-secret, unwrap
#include <dlfcn.h>
#include <p11-kit/pkcs11.h>
#include <stdlib.h>
#include <string.h>

static CK_FUNCTION_LIST mine;
static CK_FUNCTION_LIST_PTR theirs;

static int refuses(const char *word) {
    const char *words = getenv("FAULTY_REFUSE");
    size_t length = strlen(word);
    while (words != NULL && *words != 0) {
        size_t count = strcspn(words, " ");
        if (count == length && strncmp(words, word, length) == 0)
            return 1;
        words += count;
        words += strspn(words, " ");
    }
    return 0;
}

static CK_OBJECT_CLASS class_of(CK_ATTRIBUTE_PTR template, CK_ULONG count) {
    for (CK_ULONG i = 0; i < count; i++)
        if (template[i].type == CKA_CLASS && template[i].ulValueLen == sizeof(CK_OBJECT_CLASS))
            return *(CK_OBJECT_CLASS *)template[i].pValue;
    return CKO_VENDOR_DEFINED;
}

static CK_RV create(CK_SESSION_HANDLE session, CK_ATTRIBUTE_PTR template, CK_ULONG count, CK_OBJECT_HANDLE_PTR object) {
    CK_OBJECT_CLASS class = class_of(template, count);
    if (class == CKO_PRIVATE_KEY && refuses("create-private"))
        return CKR_TEMPLATE_INCONSISTENT;
    if (class == CKO_SECRET_KEY && refuses("create-secret"))
        return CKR_TEMPLATE_INCONSISTENT;
    return theirs->C_CreateObject(session, template, count, object);
}

static CK_RV unwrap(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism, CK_OBJECT_HANDLE key, CK_BYTE_PTR wrapped,
                    CK_ULONG length, CK_ATTRIBUTE_PTR template, CK_ULONG count, CK_OBJECT_HANDLE_PTR object) {
    if (refuses("unwrap"))
        return CKR_FUNCTION_NOT_SUPPORTED;
    return theirs->C_UnwrapKey(session, mechanism, key, wrapped, length, template, count, object);
}

CK_RV C_GetFunctionList(CK_FUNCTION_LIST_PTR_PTR list) {
    if (theirs == NULL) {
        const char *target = getenv("FAULTY_TARGET");
        void *module = target == NULL ? NULL : dlopen(target, RTLD_NOW | RTLD_LOCAL);
        CK_C_GetFunctionList get = module == NULL ? NULL : (CK_C_GetFunctionList)dlsym(module, "C_GetFunctionList");
        CK_RV result = get == NULL ? CKR_GENERAL_ERROR : get(&theirs);
        if (result != CKR_OK)
            return result;
        mine = *theirs;
        mine.C_GetFunctionList = C_GetFunctionList;
        mine.C_CreateObject = create;
        mine.C_UnwrapKey = unwrap;
    }
    *list = &mine;
    return CKR_OK;
}

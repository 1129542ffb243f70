/* The least a C program can do to unwrap one row key again and again: find the key once, then a loop of the calls that
 * its suite takes.
 *
 * usage: unwrap MODULE PARAMETERS TOKEN-LABEL PIN SECONDS SUITE KEY-ID WRAPPED VAULT     KEY-ID, WRAPPED in hexadecimal
 * SUITE is the JOSE name of a vault's wrap suite; WRAPPED is what the vault holds for one row. PARAMETERS may be empty.
 * Prints the mean time of one unwrap in microseconds, and of one unwrap after reading the rows of a secret through
 * SQLite: the least for any program whose secrets lie in a vault. */
#define _GNU_SOURCE
#include "token.h"
#include <sqlite3.h>
#include <time.h>

static CK_BYTE wrapped[1024], output[1024];
static CK_ULONG wrapped_length;
static CK_SESSION_HANDLE session;
static CK_OBJECT_HANDLE key;

static CK_ULONG bytes(const char *digits, CK_BYTE *into, size_t room) {
    size_t count = strlen(digits) / 2;
    if (count > room) fail("too many digits", CKR_ARGUMENTS_BAD);
    for (size_t i = 0; i < count; i++) sscanf(digits + 2 * i, "%2hhx", &into[i]);
    return count;
}

static CK_OBJECT_HANDLE find(CK_OBJECT_CLASS class, CK_BYTE *id, CK_ULONG length) {
    CK_ATTRIBUTE template[] = {{CKA_CLASS, &class, sizeof class}, {CKA_ID, id, length}};
    CK_OBJECT_HANDLE object = 0;
    CK_ULONG count = 0;
    check("C_FindObjectsInit", module->C_FindObjectsInit(session, template, 2));
    check("C_FindObjects", module->C_FindObjects(session, &object, 1, &count));
    check("C_FindObjectsFinal", module->C_FindObjectsFinal(session));
    if (count != 1) fail("no key with that id", CKR_KEY_HANDLE_INVALID);
    return object;
}

static CK_RV decrypt(CK_MECHANISM mechanism, CK_BYTE *data, CK_ULONG length) {
    CK_ULONG room = sizeof output;
    CK_RV rv = module->C_DecryptInit(session, &mechanism, key);
    if (rv != CKR_OK) return rv;
    check("C_Decrypt", module->C_Decrypt(session, data, length, output, &room));
    return CKR_OK;
}

static void aes_gcm(void) {
    CK_GCM_PARAMS parameters = {.pIv = wrapped, .ulIvLen = 12, .ulIvBits = 96, .ulTagBits = 128};
    check("C_DecryptInit", decrypt((CK_MECHANISM){CKM_AES_GCM, &parameters, sizeof parameters}, wrapped + 12, wrapped_length - 12));
}

/* Reads the value of a session object, and destroys it. */
static void take(CK_OBJECT_HANDLE object) {
    CK_ATTRIBUTE value = {CKA_VALUE, output, sizeof output};
    check("C_GetAttributeValue", module->C_GetAttributeValue(session, object, &value, 1));
    check("C_DestroyObject", module->C_DestroyObject(session, object));
}

static void aes_key_wrap(void) {
    CK_OBJECT_CLASS class = CKO_SECRET_KEY;
    CK_KEY_TYPE type = CKK_GENERIC_SECRET;
    CK_BBOOL yes = CK_TRUE, no = CK_FALSE;
    CK_ATTRIBUTE template[] = {
        {CKA_CLASS, &class, sizeof class}, {CKA_KEY_TYPE, &type, sizeof type}, {CKA_TOKEN, &no, 1},
        {CKA_SENSITIVE, &no, 1}, {CKA_EXTRACTABLE, &yes, 1}};
    CK_MECHANISM mechanism = {CKM_AES_KEY_WRAP, NULL, 0};
    CK_OBJECT_HANDLE object;
    check("C_UnwrapKey", module->C_UnwrapKey(session, &mechanism, key, wrapped, wrapped_length, template, 5, &object));
    take(object);
}

/* Whether the token takes the padding off. If not, raw RSA is the least. */
static int has_oaep = 1;
static CK_MECHANISM_TYPE hash = CKM_SHA_1;
static CK_RSA_PKCS_MGF_TYPE mask = CKG_MGF1_SHA1;

static void rsa(void) {
    CK_RSA_PKCS_OAEP_PARAMS parameters = {.hashAlg = hash, .mgf = mask, .source = CKZ_DATA_SPECIFIED};
    if (has_oaep && decrypt((CK_MECHANISM){CKM_RSA_PKCS_OAEP, &parameters, sizeof parameters}, wrapped, wrapped_length) == CKR_OK)
        return;
    has_oaep = 0;
    check("C_DecryptInit", decrypt((CK_MECHANISM){CKM_RSA_X_509, NULL, 0}, wrapped, wrapped_length));
}

static void ecdh(void) {
    CK_ECDH1_DERIVE_PARAMS parameters = {
        .kdf = CKD_NULL, .pPublicData = wrapped, .ulPublicDataLen = wrapped_length - 40};
    CK_MECHANISM mechanism = {CKM_ECDH1_DERIVE, &parameters, sizeof parameters};
    CK_OBJECT_CLASS class = CKO_SECRET_KEY;
    CK_KEY_TYPE type = CKK_GENERIC_SECRET;
    CK_BBOOL yes = CK_TRUE, no = CK_FALSE;
    CK_ULONG length = 32;
    CK_ATTRIBUTE template[] = {
        {CKA_CLASS, &class, sizeof class}, {CKA_KEY_TYPE, &type, sizeof type}, {CKA_TOKEN, &no, 1},
        {CKA_SENSITIVE, &no, 1}, {CKA_EXTRACTABLE, &yes, 1}, {CKA_VALUE_LEN, &length, sizeof length}};
    CK_OBJECT_HANDLE object;
    check("C_DeriveKey", module->C_DeriveKey(session, &mechanism, key, template, 6, &object));
    take(object);
}

/* A transaction that reads what one secret takes: the item, its recipient, a node of the tree and its root. */
static sqlite3_stmt *statements[6];

static void open_vault(const char *path) {
    static const char *const queries[] = {
        "BEGIN", "SELECT * FROM item LIMIT 1", "SELECT * FROM recipient LIMIT 1", "SELECT * FROM row_tree LIMIT 1",
        "SELECT * FROM row_tree ORDER BY number DESC LIMIT 1", "COMMIT"};
    sqlite3 *database;
    int result = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL);
    for (int i = 0; result == SQLITE_OK && i < 6; i++)
        result = sqlite3_prepare_v2(database, queries[i], -1, &statements[i], NULL);
    if (result == SQLITE_OK) return;
    fprintf(stderr, "%s: %s\n", path, sqlite3_errmsg(database));
    exit(1);
}

static void read_rows(void) {
    for (int i = 0; i < 6; i++) {
        int result;
        while ((result = sqlite3_step(statements[i])) == SQLITE_ROW) {}
        if (result != SQLITE_DONE) fail("sqlite3_step", (CK_RV)result);
        sqlite3_reset(statements[i]);
    }
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    if (argc != 10)
        return fprintf(stderr, "usage: unwrap MODULE PARAMETERS TOKEN PIN SECONDS SUITE ID WRAPPED VAULT\n"), 2;
    load_with(argv[1], argv[2]);
    session = open_session_as(slot_labelled(argv[3]), 0);
    log_in(session, argv[4]);
    const char *suite = argv[6];
    CK_BYTE id[256];
    CK_ULONG id_length = bytes(argv[7], id, sizeof id);
    wrapped_length = bytes(argv[8], wrapped, sizeof wrapped);
    int is_symmetric = strncmp(suite, "A256", 4) == 0;
    key = find(is_symmetric ? CKO_SECRET_KEY : CKO_PRIVATE_KEY, id, id_length);
    if (strcmp(suite, "RSA-OAEP-256") == 0) hash = CKM_SHA256, mask = CKG_MGF1_SHA256;
    void (*unwrap)(void) = strcmp(suite, "A256GCMKW") == 0 ? aes_gcm : is_symmetric ? aes_key_wrap
                           : strncmp(suite, "RSA", 3) == 0 ? rsa : ecdh;
    open_vault(argv[9]);
    for (int has_rows = 0; has_rows < 2; has_rows++) {
        unwrap();
        long count = 0;
        double start = now(), end = start + atof(argv[5]);
        do {
            if (has_rows) read_rows();
            unwrap();
            count++;
        } while (now() < end);
        printf("%s %.3f us\n", has_rows ? "beside-vault" : "alone", (now() - start) * 1e6 / (double)count);
    }
    module->C_Finalize(NULL);
    return 0;
}

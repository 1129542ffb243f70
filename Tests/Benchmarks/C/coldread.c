/* The least a C program can do to read one secret that a token key protects, from process start to end:
 * load the module, find the token, log in, find the wrapping key, one AES-GCM C_Decrypt, finalize.
 *
 * usage: coldread MODULE TOKEN-LABEL PIN KEY-LABEL FILE         decrypts FILE (12 bytes nonce, ciphertext, tag)
 *        coldread --prepare MODULE TOKEN-LABEL PIN KEY-LABEL FILE    makes the key if need be, and FILE
 * Built with VAULT defined, it takes a vault of Keyfob's behind FILE, and reads what one secret needs of it meanwhile, on
 * the first thread while a second one talks to the token: the least for any program whose secrets lie in a vault.
 * The whole process is what is timed, by the driver; it prints the plaintext. */
#define _GNU_SOURCE
#include "token.h"
#ifdef VAULT
#include <pthread.h>
#include <sqlite3.h>
#include <stdint.h>
#endif

/* The first object of that class and label, or 0. */
static CK_OBJECT_HANDLE find(CK_SESSION_HANDLE session, CK_OBJECT_CLASS class, const char *label) {
    CK_ATTRIBUTE template[] = {{CKA_CLASS, &class, sizeof class}, {CKA_LABEL, (void *)label, strlen(label)}};
    CK_OBJECT_HANDLE object = 0;
    CK_ULONG count = 0;
    check("C_FindObjectsInit", module->C_FindObjectsInit(session, template, 2));
    check("C_FindObjects", module->C_FindObjects(session, &object, 1, &count));
    check("C_FindObjectsFinal", module->C_FindObjectsFinal(session));
    return count == 1 ? object : 0;
}

static CK_OBJECT_HANDLE generate(CK_SESSION_HANDLE session, const char *label) {
    CK_BBOOL yes = CK_TRUE, no = CK_FALSE;
    CK_ULONG length = 32;
    CK_OBJECT_HANDLE key;
    CK_ATTRIBUTE template[] = {
        {CKA_TOKEN, &yes, 1}, {CKA_PRIVATE, &yes, 1}, {CKA_SENSITIVE, &yes, 1}, {CKA_EXTRACTABLE, &no, 1},
        {CKA_ENCRYPT, &yes, 1}, {CKA_DECRYPT, &yes, 1}, {CKA_VALUE_LEN, &length, sizeof length},
        {CKA_LABEL, (void *)label, strlen(label)}};
    CK_MECHANISM mechanism = {CKM_AES_KEY_GEN, NULL, 0};
    check("C_GenerateKey", module->C_GenerateKey(session, &mechanism, template, 8, &key));
    return key;
}

static int work(char **a, int prepare) {
    load(a[1]);
    CK_SESSION_HANDLE session = open_session(slot_labelled(a[2]));
    log_in(session, a[3]);
    CK_OBJECT_HANDLE key = find(session, CKO_SECRET_KEY, a[4]);

    CK_BYTE file[512] = {0}, output[512];
    CK_ULONG length = sizeof output;
    CK_GCM_PARAMS parameters = {.pIv = file, .ulIvLen = 12, .ulIvBits = 96, .ulTagBits = 128};
    CK_MECHANISM mechanism = {CKM_AES_GCM, &parameters, sizeof parameters};
    if (prepare) {
        if (key == 0) key = generate(session, a[4]);
        static CK_BYTE secret[] = "correct horse battery staple";
        check("C_GenerateRandom", module->C_GenerateRandom(session, file, 12));
        check("C_EncryptInit", module->C_EncryptInit(session, &mechanism, key));
        check("C_Encrypt", module->C_Encrypt(session, secret, sizeof secret - 1, output, &length));
        FILE *out = fopen(a[5], "wb");
        if (out == NULL || fwrite(file, 1, 12, out) != 12 || fwrite(output, 1, length, out) != length || fclose(out) != 0)
            return perror(a[5]), 1;
    } else {
        if (key == 0) fail("no key with that label", CKR_KEY_HANDLE_INVALID);
        FILE *in = fopen(a[5], "rb");
        if (in == NULL) return perror(a[5]), 1;
        size_t count = fread(file, 1, sizeof file, in);
        fclose(in);
        if (count < 28) return fprintf(stderr, "%s is too short\n", a[5]), 1;
        check("C_DecryptInit", module->C_DecryptInit(session, &mechanism, key));
        check("C_Decrypt", module->C_Decrypt(session, file + 12, count - 12, output, &length));
        fwrite(output, 1, length, stdout);
        putchar('\n');
    }
    module->C_Finalize(NULL);
    return 0;
}

#ifdef VAULT
static void *talk(void *arguments) { return (void *)(intptr_t)work(arguments, 0); }

/* The rows that reading one secret takes: what the vault is, its keys, a term, the item, its recipient, the tree. */
static int read_vault(const char *path) {
    static const char *const queries[] = {
        "PRAGMA application_id", "PRAGMA user_version", "SELECT value FROM vault WHERE name = 'identity'",
        "SELECT * FROM wrapping_key", "SELECT item FROM term LIMIT 1", "SELECT * FROM item LIMIT 1",
        "SELECT * FROM recipient LIMIT 1", "SELECT * FROM row_tree LIMIT 2"};
    sqlite3 *database;
    if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) return 1;
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        sqlite3_stmt *statement;
        if (sqlite3_prepare_v2(database, queries[i], -1, &statement, NULL) != SQLITE_OK)
            return fprintf(stderr, "%s: %s\n", path, sqlite3_errmsg(database)), 1;
        while (sqlite3_step(statement) == SQLITE_ROW) {}
        sqlite3_finalize(statement);
    }
    return sqlite3_close(database) == SQLITE_OK ? 0 : 1;
}
#endif

int main(int argc, char **argv) {
#ifdef VAULT
    if (argc != 7) return fprintf(stderr, "usage: coldread-vault MODULE TOKEN PIN KEY FILE VAULT\n"), 2;
    pthread_t thread;
    if (pthread_create(&thread, NULL, talk, argv) != 0) return 1;
    int failed = read_vault(argv[6]);
    void *status;
    pthread_join(thread, &status);
    return failed || status != NULL;
#else
    int prepare = argc > 1 && strcmp(argv[1], "--prepare") == 0;
    if (argc != 6 + prepare) return fprintf(stderr, "usage: coldread [--prepare] MODULE TOKEN PIN KEY FILE\n"), 2;
    return work(argv + prepare, prepare);
#endif
}

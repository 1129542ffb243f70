// A PKCS#11 module in front of another one, which refuses calls on demand.
//
// Built by the tests that need it: cc -shared -fPIC $(pkg-config --cflags p11-kit-1) faulty.c -ldl -o faulty.so
// FAULTY_TARGET   the module behind it
// FAULTY_REFUSE   words, separated by blanks
// The file faulty.so.FUNCTION has as many bytes as there were calls that one of the first five words named,
// and faulty.so.finalized has one for each C_Finalize that has ended.
// If there is a file faulty.so.control beside the library, it is read at every call, and its words replace both
// variables. A test can thus change the words, and each test of a process has its own library.
//
//   target=PATH                            the module behind it
//   answer=FUNCTION,RV,COUNT,AFTER         the next COUNT calls of FUNCTION, after AFTER that work, do nothing and
//                                          answer RV; numbers as in C. Without COUNT, all calls do
//   lost=FUNCTION,RV                       the daemon behind it has gone: FUNCTION answers RV until C_Initialize is
//                                          called
//   hold=FUNCTION                          FUNCTION waits until the word is gone, or for 20 minutes
//   hang=FUNCTION, spin=FUNCTION           FUNCTION does not return, and sleeps or computes
//   write=FUNCTION                         FUNCTION writes to a socket whose other end is closed, and goes on
//   create-private, create-secret          refused
//   short=N                                the signatures of C_Sign have N bytes
//   garbled                                the signatures of C_Sign are invalid
//   sign-only=N,N,...                      every other mechanism is refused by C_SignInit; decimal numbers
//   absent                                 the token has been taken away. Its sessions are gone when it is back
//   pin-low, pin-final, pin-locked         the token reports this for its user PIN; a locked one allows no login
//   pin-change                             it says that its user PIN has to be changed
//   sessions=N                             no more than N sessions are open at a time
//   context-login=RV                       every key wants the PIN at each use, and each login for one answers RV;
//                                          decimal. The file faulty.so.authentications has as many bytes as there were
//   no-login                               the token wants no login, and none counts. SoftHSM's PIN is 1234
//   unreadable=LABEL                       the module fails in general when asked for that token
//   secretive=LABEL                        it fails in general when asked for attributes of objects of that label
//   full                                   no room for another object
//   write-protected                        no object can be made, changed or destroyed
//   mute=N                                 the next N times it does not tell the value of a public key
//   lax                                    it tells of every key that it may leave the token
//   growing=N                              the next N times that the length of a label is requested, it is 200 bytes
//                                          longer afterwards
//   slot=NAME                              NAME is the description of every slot
//   label=NAME                             NAME is the label of every initialised token
//   no-serial                              the serial number of every token consists of zeros
//   blind=N                                the next N searches find nothing
//   foreign                                the module is of another maker than SoftHSM
//   remote                                 the module is p11-kit's client. The file faulty.so.together has as many bytes
//                                          as there were calls during another call
//   opensc                                 the module is OpenSC
//   stranger                               the token is of another maker than SoftHSM
//   without=N,N,...                        the token does not have these mechanisms; decimal numbers
//   nameless=N,N,...                       these mechanisms are listed, and then nothing is known of them
//   kwp                                    it has CKM_AES_KEY_WRAP_KWP, and CKM_AES_KEY_WRAP_PAD is another wrapping
//   die                                    C_GenerateKey makes a key that stays, and the process is killed
//   block=PATH                             C_GenerateKey makes a key that stays, and a directory of that name
//   lose-key                               C_GenerateKey makes a key that stays, and says that the device failed
//   own-wrap                               no other program can unwrap the output of CKM_AES_KEY_WRAP_PAD
#define _GNU_SOURCE
#include <dlfcn.h>
#include <p11-kit/pkcs11.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

// PKCS#11 3.0, which p11-kit's header does not have everywhere.
#ifndef CKM_AES_KEY_WRAP_KWP
#define CKM_AES_KEY_WRAP_KWP 0x210BUL
#endif

#define SLOTS 64

static CK_FUNCTION_LIST mine, outer;
static CK_FUNCTION_LIST_PTR theirs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CK_SLOT_ID used[SLOTS];
static unsigned used_count;
static int is_private;
static unsigned open_count;

// The words that count, into a buffer.
static const char *words(char *buffer, size_t size) {
    Dl_info info;
    char path[4096];
    if (dladdr((void *)words, &info) != 0 && info.dli_fname != NULL) {
        snprintf(path, sizeof path, "%s.control", info.dli_fname);
        FILE *file = fopen(path, "r");
        if (file != NULL) {
            buffer[fread(buffer, 1, size - 1, file)] = 0;
            fclose(file);
            return buffer;
        }
    }
    const char *given = getenv("FAULTY_REFUSE");
    snprintf(buffer, size, "%s", given == NULL ? "" : given);
    return buffer;
}

// Whether a word is among them; what follows its equals sign or comma goes into `value`.
static int says(const char *word, char *value, size_t size) {
    char buffer[8192];
    size_t length = strlen(word);
    for (const char *rest = words(buffer, sizeof buffer); *rest != 0;) {
        size_t count = strcspn(rest, " \n");
        if (count >= length && strncmp(rest, word, length) == 0 &&
            (count == length || rest[length] == '=' || rest[length] == ',')) {
            if (value != NULL)
                snprintf(value, size, "%.*s", (int)(count > length ? count - length - 1 : 0), rest + length + 1);
            return 1;
        }
        rest += count;
        rest += strspn(rest, " \n");
    }
    return 0;
}

static int refuses(const char *word) { return says(word, NULL, 0); }

// Whether a number is in the list that follows a word.
static int lists(const char *word, CK_ULONG wanted) {
    char list[256];
    char *rest = NULL;
    if (!says(word, list, sizeof list))
        return 0;
    for (char *number = strtok_r(list, ",", &rest); number != NULL; number = strtok_r(NULL, ",", &rest))
        if (strtoul(number, NULL, 10) == wanted)
            return 1;
    return 0;
}

// What a token answers that takes no object now.
static CK_RV no_room(void) {
    if (refuses("write-protected"))
        return CKR_TOKEN_WRITE_PROTECTED;
    return refuses("full") ? CKR_DEVICE_MEMORY : CKR_OK;
}

static void close_all_sessions(void) {
    pthread_mutex_lock(&lock);
    while (used_count > 0)
        theirs->C_CloseAllSessions(used[--used_count]);
    open_count = 0;
    pthread_mutex_unlock(&lock);
}

static int is_absent(void) { return refuses("absent"); }

// Held by each call while it is inside SoftHSM, which deletes a session even if another call uses it.
static pthread_rwlock_t calls = PTHREAD_RWLOCK_INITIALIZER;
static int inside;

// A token that was away has forgotten all logins.
static void close_sessions_if_absent(void) {
    if (!is_absent())
        return;
    pthread_rwlock_wrlock(&calls);
    close_all_sessions();
    pthread_rwlock_unlock(&calls);
}

// Adds a byte to a file beside the library.
static void note(const char *what) {
    Dl_info info;
    char path[4096];
    FILE *file = NULL;
    if (dladdr((void *)words, &info) != 0 && snprintf(path, sizeof path, "%s.%s", info.dli_fname, what) > 0)
        file = fopen(path, "a");
    if (file != NULL) {
        fputc('.', file);
        fclose(file);
    }
}

// A library of one test's own stays initialised: SoftHSM's end is not safe beside another SoftHSM of the process.
static int is_started;

static CK_RV finalize(CK_VOID_PTR reserved) {
    is_started = 0;
    if (!is_private)
        return theirs->C_Finalize(reserved);
    close_all_sessions();
    note("finalized");
    return CKR_OK;
}

static int starts;

static CK_RV initialize(CK_VOID_PTR arguments) {
    pthread_mutex_lock(&lock);
    starts++;
    pthread_mutex_unlock(&lock);
    CK_RV result = theirs->C_Initialize(arguments);
    if (is_private && result == CKR_CRYPTOKI_ALREADY_INITIALIZED)
        result = CKR_OK;
    is_started |= result == CKR_OK || result == CKR_CRYPTOKI_ALREADY_INITIALIZED;
    return result;
}

static CK_OBJECT_CLASS class_of(CK_ATTRIBUTE_PTR template, CK_ULONG count) {
    for (CK_ULONG i = 0; i < count; i++)
        if (template[i].type == CKA_CLASS && template[i].ulValueLen == sizeof(CK_OBJECT_CLASS))
            return *(CK_OBJECT_CLASS *)template[i].pValue;
    return CKO_VENDOR_DEFINED;
}

static CK_RV create(CK_SESSION_HANDLE session, CK_ATTRIBUTE_PTR template, CK_ULONG count, CK_OBJECT_HANDLE_PTR object) {
    CK_RV room = no_room();
    if (room != CKR_OK)
        return room;
    CK_OBJECT_CLASS class = class_of(template, count);
    if (class == CKO_PRIVATE_KEY && refuses("create-private"))
        return CKR_TEMPLATE_INCONSISTENT;
    if (class == CKO_SECRET_KEY && refuses("create-secret"))
        return CKR_TEMPLATE_INCONSISTENT;
    return is_absent() ? CKR_DEVICE_REMOVED : theirs->C_CreateObject(session, template, count, object);
}

static CK_RV slot_list(CK_BBOOL present, CK_SLOT_ID_PTR slots, CK_ULONG_PTR count) {
    if (present && is_absent()) {
        *count = 0;
        return CKR_OK;
    }
    return theirs->C_GetSlotList(present, slots, count);
}

static CK_RV generate(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism, CK_ATTRIBUTE_PTR public_template,
                      CK_ULONG public_count, CK_ATTRIBUTE_PTR private_template, CK_ULONG private_count,
                      CK_OBJECT_HANDLE_PTR public_key, CK_OBJECT_HANDLE_PTR private_key) {
    CK_RV room = no_room();
    if (room != CKR_OK)
        return room;
    if (lists("without", mechanism->mechanism))
        return CKR_MECHANISM_INVALID;
    return theirs->C_GenerateKeyPair(session, mechanism, public_template, public_count, private_template,
                                     private_count, public_key, private_key);
}

static CK_RV generate_key(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism, CK_ATTRIBUTE_PTR template,
                          CK_ULONG count, CK_OBJECT_HANDLE_PTR key) {
    CK_BBOOL stays = CK_FALSE;
    for (CK_ULONG i = 0; i < count; i++)
        if (template[i].type == CKA_TOKEN && template[i].ulValueLen == sizeof stays)
            stays = *(CK_BBOOL *)template[i].pValue;
    CK_RV result = theirs->C_GenerateKey(session, mechanism, template, count, key);
    if (result == CKR_OK && stays && refuses("die"))
        raise(SIGKILL);
    char path[4096];
    if (result == CKR_OK && stays && says("block", path, sizeof path))
        mkdir(path, 0700);
    return result == CKR_OK && stays && refuses("lose-key") ? CKR_DEVICE_ERROR : result;
}

static CK_RV destroy(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object) {
    return refuses("write-protected") ? CKR_TOKEN_WRITE_PROTECTED : theirs->C_DestroyObject(session, object);
}

static CK_RV set_attributes(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object, CK_ATTRIBUTE_PTR template,
                            CK_ULONG count) {
    if (refuses("write-protected"))
        return CKR_TOKEN_WRITE_PROTECTED;
    return theirs->C_SetAttributeValue(session, object, template, count);
}

static CK_RV encrypt_init(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism, CK_OBJECT_HANDLE key) {
    if (lists("without", mechanism->mechanism))
        return CKR_MECHANISM_INVALID;
    return theirs->C_EncryptInit(session, mechanism, key);
}

static CK_RV wrap(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism, CK_OBJECT_HANDLE wrapping,
                  CK_OBJECT_HANDLE key, CK_BYTE_PTR wrapped, CK_ULONG_PTR length) {
    CK_MECHANISM padded = {CKM_AES_KEY_WRAP_PAD, NULL, 0};
    int is_kwp = refuses("kwp") && mechanism->mechanism == CKM_AES_KEY_WRAP_KWP;
    CK_RV result = theirs->C_WrapKey(session, is_kwp ? &padded : mechanism, wrapping, key, wrapped, length);
    int is_own = refuses("own-wrap") || (refuses("kwp") && !is_kwp);
    if (result == CKR_OK && is_own && wrapped != NULL)
        wrapped[0] ^= 1;
    return result;
}

static CK_RV mechanism_info(CK_SLOT_ID slot, CK_MECHANISM_TYPE type, CK_MECHANISM_INFO_PTR info) {
    if (refuses("kwp") && type == CKM_AES_KEY_WRAP_KWP)
        type = CKM_AES_KEY_WRAP_PAD;
    int is_unknown = lists("without", type) || lists("nameless", type);
    return is_unknown ? CKR_MECHANISM_INVALID : theirs->C_GetMechanismInfo(slot, type, info);
}

static CK_RV mechanism_list(CK_SLOT_ID slot, CK_MECHANISM_TYPE_PTR types, CK_ULONG_PTR count) {
    CK_RV result = theirs->C_GetMechanismList(slot, types, count);
    if (result != CKR_OK || types == NULL)
        return result;
    CK_ULONG kept = 0;
    for (CK_ULONG i = 0; i < *count; i++)
        if (!lists("without", types[i]))
            types[kept++] = types[i];
    *count = kept;
    return CKR_OK;
}

// Lets the module say that it is another library.
static void be(CK_INFO_PTR info, const char *manufacturer, const char *description, CK_VERSION version) {
    memset(info->manufacturerID, ' ', sizeof info->manufacturerID);
    memset(info->libraryDescription, ' ', sizeof info->libraryDescription);
    memcpy(info->manufacturerID, manufacturer, strlen(manufacturer));
    memcpy(info->libraryDescription, description, strlen(description));
    info->libraryVersion = version;
}

static CK_RV module_info(CK_INFO_PTR info) {
    CK_RV result = theirs->C_GetInfo(info);
    if (refuses("foreign"))
        memcpy(info->manufacturerID, "A STRANGER", 10);
    if (refuses("remote"))
        be(info, "PKCS#11 Kit", "PKCS#11 Kit Proxy Module", (CK_VERSION){1, 1});
    if (refuses("opensc"))
        be(info, "OpenSC Project", "OpenSC smartcard framework", (CK_VERSION){0, 23});
    return result;
}

static CK_RV token_info(CK_SLOT_ID slot, CK_TOKEN_INFO_PTR info) {
    if (is_absent())
        return CKR_TOKEN_NOT_PRESENT;
    CK_RV result = theirs->C_GetTokenInfo(slot, info);
    info->ulSessionCount = open_count;
    char label[sizeof info->label + 1];
    if (says("unreadable", label, sizeof label) && memcmp(info->label, label, strlen(label)) == 0)
        return CKR_GENERAL_ERROR;
    if (refuses("pin-low"))
        info->flags |= CKF_USER_PIN_COUNT_LOW;
    if (refuses("pin-final"))
        info->flags |= CKF_USER_PIN_FINAL_TRY;
    if (refuses("pin-locked"))
        info->flags |= CKF_USER_PIN_LOCKED;
    if (refuses("pin-change"))
        info->flags |= CKF_USER_PIN_TO_BE_CHANGED;
    if (refuses("no-login"))
        info->flags &= ~(CK_FLAGS)CKF_LOGIN_REQUIRED;
    if (refuses("write-protected"))
        info->flags |= CKF_WRITE_PROTECTED;
    if (refuses("stranger"))
        memcpy(info->manufacturerID, "A STRANGER", 10);
    char name[sizeof info->label + 1];
    if ((info->flags & CKF_TOKEN_INITIALIZED) != 0 && says("label", name, sizeof name)) {
        memset(info->label, ' ', sizeof info->label);
        memcpy(info->label, name, strlen(name));
    }
    if (refuses("no-serial"))
        memset(info->serialNumber, '0', sizeof info->serialNumber);
    return result;
}

static CK_RV slot_info(CK_SLOT_ID slot, CK_SLOT_INFO_PTR info) {
    CK_RV result = theirs->C_GetSlotInfo(slot, info);
    char name[sizeof info->slotDescription + 1];
    if (result == CKR_OK && says("slot", name, sizeof name)) {
        memset(info->slotDescription, ' ', sizeof info->slotDescription);
        memcpy(info->slotDescription, name, strlen(name));
    }
    return result;
}

static CK_RV open_session(CK_SLOT_ID slot, CK_FLAGS flags, CK_VOID_PTR data, CK_NOTIFY notify,
                          CK_SESSION_HANDLE_PTR session) {
    if (is_absent())
        return CKR_TOKEN_NOT_PRESENT;
    pthread_mutex_lock(&lock);
    unsigned i = 0;
    while (i < used_count && used[i] != slot)
        i++;
    if (i == used_count && used_count < SLOTS)
        used[used_count++] = slot;
    pthread_mutex_unlock(&lock);
    char text[16];
    unsigned most = says("sessions", text, sizeof text) ? strtoul(text, NULL, 10) : ~0U;
    pthread_mutex_lock(&lock);
    CK_RV result =
        open_count < most ? theirs->C_OpenSession(slot, flags, data, notify, session) : CKR_SESSION_COUNT;
    open_count += result == CKR_OK;
    pthread_mutex_unlock(&lock);
    if (result == CKR_OK && refuses("no-login"))
        theirs->C_Login(*session, CKU_USER, (CK_UTF8CHAR_PTR) "1234", 4);
    return result;
}

static CK_RV close_session(CK_SESSION_HANDLE session) {
    pthread_mutex_lock(&lock);
    CK_RV result = theirs->C_CloseSession(session);
    open_count -= result == CKR_OK && open_count > 0;
    pthread_mutex_unlock(&lock);
    return result;
}

static CK_RV session_info(CK_SESSION_HANDLE session, CK_SESSION_INFO_PTR info) {
    CK_RV result = is_absent() ? CKR_DEVICE_REMOVED : theirs->C_GetSessionInfo(session, info);
    if (result == CKR_OK && refuses("no-login"))
        info->state = info->state == CKS_RO_USER_FUNCTIONS ? CKS_RO_PUBLIC_SESSION : CKS_RW_PUBLIC_SESSION;
    return result;
}

static CK_RV login(CK_SESSION_HANDLE session, CK_USER_TYPE user, CK_UTF8CHAR_PTR pin, CK_ULONG length) {
    if (is_absent())
        return CKR_DEVICE_REMOVED;
    char text[32];
    if (user == CKU_CONTEXT_SPECIFIC && says("context-login", text, sizeof text)) {
        note("authentications");
        return strtoul(text, NULL, 10);
    }
    if (refuses("no-login"))
        return CKR_OK;
    return refuses("pin-locked") ? CKR_PIN_LOCKED : theirs->C_Login(session, user, pin, length);
}

static CK_RV find(CK_SESSION_HANDLE session, CK_ATTRIBUTE_PTR template, CK_ULONG count) {
    return is_absent() ? CKR_DEVICE_REMOVED : theirs->C_FindObjectsInit(session, template, count);
}

static CK_RV find_next(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE_PTR objects, CK_ULONG most, CK_ULONG_PTR count) {
    char text[16];
    static int blind;
    if (says("blind", text, sizeof text) && blind < atoi(text)) {
        blind++;
        *count = 0;
        return CKR_OK;
    }
    return theirs->C_FindObjects(session, objects, most, count);
}

// Makes a label longer.
static void lengthen_label(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object) {
    static char text[1 << 16];
    CK_ATTRIBUTE label = {CKA_LABEL, text, sizeof text - 200};
    if (theirs->C_GetAttributeValue(session, object, &label, 1) != CKR_OK)
        return;
    memset(text + label.ulValueLen, 'x', 200);
    label.ulValueLen += 200;
    theirs->C_SetAttributeValue(session, object, &label, 1);
}

// Says yes to an attribute that was answered.
static void affirm(CK_ATTRIBUTE_TYPE type, CK_ATTRIBUTE_PTR template, CK_ULONG count) {
    for (CK_ULONG i = 0; i < count; i++)
        if (template[i].type == type && template[i].pValue != NULL && template[i].ulValueLen == sizeof(CK_BBOOL))
            *(CK_BBOOL *)template[i].pValue = CK_TRUE;
}

// Whether an object is one that the token tells nothing of.
static int is_secretive(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object) {
    char wanted[64], text[64];
    CK_ATTRIBUTE label = {CKA_LABEL, text, sizeof text};
    return says("secretive", wanted, sizeof wanted) &&
        theirs->C_GetAttributeValue(session, object, &label, 1) == CKR_OK && label.ulValueLen == strlen(wanted) &&
        memcmp(text, wanted, label.ulValueLen) == 0;
}

static CK_RV attributes(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object, CK_ATTRIBUTE_PTR template, CK_ULONG count) {
    if (is_absent())
        return CKR_DEVICE_REMOVED;
    if (is_secretive(session, object))
        return CKR_GENERAL_ERROR;
    CK_RV answer = theirs->C_GetAttributeValue(session, object, template, count);
    if (refuses("lax"))
        affirm(CKA_EXTRACTABLE, template, count);
    if (refuses("context-login"))
        affirm(CKA_ALWAYS_AUTHENTICATE, template, count);
    char text[16];
    static int grown;
    for (CK_ULONG i = 0; i < count; i++)
        if (template[i].type == CKA_LABEL && template[i].pValue == NULL && says("growing", text, sizeof text) &&
            grown < atoi(text)) {
            grown++;
            lengthen_label(session, object);
        }
    static int mute;
    int is_told = 0;
    for (CK_ULONG i = 0; i < count; i++)
        is_told |= template[i].type == CKA_EC_POINT && template[i].ulValueLen != CK_UNAVAILABLE_INFORMATION;
    if (!is_told || !says("mute", text, sizeof text) || mute >= atoi(text))
        return answer;
    mute++;
    for (CK_ULONG i = 0; i < count; i++)
        if (template[i].type == CKA_EC_POINT || template[i].type == CKA_PUBLIC_KEY_INFO)
            template[i].ulValueLen = CK_UNAVAILABLE_INFORMATION;
    return CKR_ATTRIBUTE_TYPE_INVALID;
}

static CK_RV sign_init(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism, CK_OBJECT_HANDLE key) {
    if (is_absent())
        return CKR_DEVICE_REMOVED;
    if (refuses("sign-only") && !lists("sign-only", mechanism->mechanism))
        return CKR_MECHANISM_INVALID;
    return theirs->C_SignInit(session, mechanism, key);
}

static CK_RV sign(CK_SESSION_HANDLE session, CK_BYTE_PTR data, CK_ULONG length, CK_BYTE_PTR signature,
                  CK_ULONG_PTR signature_length) {
    // Also taken away while it was at work.
    CK_RV result =
        is_absent() ? CKR_DEVICE_REMOVED : theirs->C_Sign(session, data, length, signature, signature_length);
    char text[16];
    if (result == CKR_OK && signature != NULL && says("short", text, sizeof text))
        *signature_length = strtoul(text, NULL, 10);
    if (result == CKR_OK && signature != NULL && refuses("garbled"))
        signature[*signature_length / 2] ^= 1;
    return result;
}

// What happened to one function since the words were given.
struct meeting {
    char words[8192];
    unsigned long passed, answered;
    int lost_at;
};

// Carries out the words that name a function. Returns whether the function is not to be called, and answers `result`.
static int meets(const char *name, struct meeting *past, CK_RV *result) {
    char buffer[8192], word[64], value[64], *rest;
    if (!is_started && strcmp(name, "C_Initialize") != 0 && strcmp(name, "C_Finalize") != 0) {
        *result = CKR_CRYPTOKI_NOT_INITIALIZED;
        return 1;
    }
    if (strstr(words(buffer, sizeof buffer), name) == NULL)
        return 0;
    pthread_mutex_lock(&lock);
    if (strcmp(buffer, past->words) != 0) {
        *past = (struct meeting){.lost_at = starts};
        strcpy(past->words, buffer);
    }
    pthread_mutex_unlock(&lock);
    for (const char **kind = (const char *[]){"hold", "hang", "spin", "write", "lost", "answer", NULL}; *kind; kind++) {
        snprintf(word, sizeof word, "%s=%s", *kind, name);
        if (!says(word, value, sizeof value))
            continue;
        note(name);
        if (strcmp(*kind, "hold") == 0) {
            for (int i = 0; i < 120000 && refuses(word); i++)
                usleep(10000);
        } else if (strcmp(*kind, "write") == 0) {
            int ends[2];
            if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0) {
                close(ends[1]);
                if (write(ends[0], "x", 1) < 0) {}
                close(ends[0]);
            }
        } else if (strcmp(*kind, "lost") == 0 || strcmp(*kind, "answer") == 0) {
            *result = strtoul(value, &rest, 0);
            unsigned long most = *rest == ',' ? strtoul(rest + 1, &rest, 0) : ~0UL;
            unsigned long first = *rest == ',' ? strtoul(rest + 1, &rest, 0) : 0;
            pthread_mutex_lock(&lock);
            int is_hit = **kind == 'l' ? starts == past->lost_at : past->passed >= first && past->answered < most;
            past->answered += is_hit;
            past->passed += !is_hit;
            pthread_mutex_unlock(&lock);
            if (is_hit)
                return 1;
        } else {
            for (volatile unsigned long count = 0;; count++)
                if (**kind == 'h')
                    sleep(600);
        }
    }
    return 0;
}

// No function has more than eight arguments, and all of them are numbers or pointers: the ones too many do no harm.
typedef CK_ULONG n;
typedef n (*any)(n, n, n, n, n, n, n, n);
#define FUNCTIONS(F) \
    F(C_Initialize) F(C_Finalize) F(C_GetInfo) F(C_GetSlotList) F(C_GetSlotInfo) F(C_GetTokenInfo) \
    F(C_GetMechanismList) F(C_GetMechanismInfo) F(C_InitToken) F(C_InitPIN) F(C_SetPIN) F(C_OpenSession) \
    F(C_CloseSession) F(C_GetSessionInfo) F(C_Login) F(C_Logout) F(C_CreateObject) F(C_CopyObject) F(C_DestroyObject) \
    F(C_GetAttributeValue) F(C_SetAttributeValue) F(C_FindObjectsInit) F(C_FindObjects) F(C_FindObjectsFinal) \
    F(C_EncryptInit) F(C_Encrypt) F(C_DecryptInit) F(C_Decrypt) F(C_SignInit) F(C_Sign) F(C_VerifyInit) F(C_Verify) \
    F(C_GenerateKey) F(C_GenerateKeyPair) F(C_WrapKey) F(C_UnwrapKey) F(C_DeriveKey) F(C_SeedRandom) \
    F(C_GenerateRandom)
#define WRAPPER(f) \
    static n outer_##f(n a, n b, n c, n d, n e, n g, n h, n i) { \
        static struct meeting past; \
        CK_RV answer; \
        if (meets(#f, &past, &answer)) \
            return answer; \
        close_sessions_if_absent(); \
        pthread_rwlock_rdlock(&calls); \
        if (__atomic_add_fetch(&inside, 1, __ATOMIC_RELAXED) > 1 && refuses("remote")) \
            note("together"); \
        answer = ((any)mine.f)(a, b, c, d, e, g, h, i); \
        __atomic_sub_fetch(&inside, 1, __ATOMIC_RELAXED); \
        pthread_rwlock_unlock(&calls); \
        return answer; \
    }
#define ENTRY(f) outer.f = (void *)outer_##f;
FUNCTIONS(WRAPPER)

CK_RV C_GetFunctionList(CK_FUNCTION_LIST_PTR_PTR list) {
    if (theirs == NULL) {
        char path[4096];
        is_private = says("target", path, sizeof path);
        const char *target = is_private ? path : getenv("FAULTY_TARGET");
        void *module = target == NULL ? NULL : dlopen(target, RTLD_NOW | RTLD_LOCAL);
        CK_C_GetFunctionList get = module == NULL ? NULL : (CK_C_GetFunctionList)dlsym(module, "C_GetFunctionList");
        CK_RV result = get == NULL ? CKR_GENERAL_ERROR : get(&theirs);
        if (result != CKR_OK)
            return result;
        mine = *theirs;
        mine.C_GetFunctionList = C_GetFunctionList;
        mine.C_Initialize = initialize;
        mine.C_Finalize = finalize;
        mine.C_GetInfo = module_info;
        mine.C_CreateObject = create;
        mine.C_WrapKey = wrap;
        mine.C_GetSlotList = slot_list;
        mine.C_GetSlotInfo = slot_info;
        mine.C_GetTokenInfo = token_info;
        mine.C_OpenSession = open_session;
        mine.C_CloseSession = close_session;
        mine.C_GetSessionInfo = session_info;
        mine.C_Login = login;
        mine.C_FindObjectsInit = find;
        mine.C_FindObjects = find_next;
        mine.C_GetAttributeValue = attributes;
        mine.C_GenerateKeyPair = generate;
        mine.C_GenerateKey = generate_key;
        mine.C_DestroyObject = destroy;
        mine.C_SetAttributeValue = set_attributes;
        mine.C_EncryptInit = encrypt_init;
        mine.C_GetMechanismInfo = mechanism_info;
        mine.C_GetMechanismList = mechanism_list;
        mine.C_SignInit = sign_init;
        mine.C_Sign = sign;
        outer = mine;
        FUNCTIONS(ENTRY)
    }
    *list = &outer;
    return CKR_OK;
}

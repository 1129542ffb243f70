/* The desktop's keychain, through its own C library: add, look up and read with a store of a given size.
 *
 * usage: libsecret SAMPLES LIMIT-SECONDS COUNT...      counts ascending, such as 100 1000
 * prints: add-at-<count> <ms> ms, lookup-at-<count> <ms> ms, search-at-<count> <ms> ms
 * Run under dbus-run-session with gnome-keyring-daemon unlocked; bench does. `add` means one more item
 * when the store holds <count>; each value is the mean of SAMPLES. Filling stops at LIMIT seconds, and
 * what was reached is then reported under its true count. */
#include <libsecret/secret.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const SecretSchema schema = {
    "org.keyfob.Benchmark", SECRET_SCHEMA_NONE,
    {{"service", SECRET_SCHEMA_ATTRIBUTE_STRING}, {"account", SECRET_SCHEMA_ATTRIBUTE_STRING}, {NULL, 0}}, 0, 0, 0, 0, 0, 0, 0, 0};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void stop(const char *what, GError *error) {
    fprintf(stderr, "%s: %s\n", what, error != NULL ? error->message : "no answer");
    exit(1);
}

static void add(int number) {
    GError *error = NULL;
    char account[32];
    snprintf(account, sizeof account, "account-%d", number);
    if (!secret_password_store_sync(&schema, SECRET_COLLECTION_DEFAULT, account, "correct horse battery staple", NULL, &error,
                                    "service", "bench", "account", account, NULL))
        stop("store", error);
}

static void look_up(int number) {
    GError *error = NULL;
    char account[32];
    snprintf(account, sizeof account, "account-%d", number);
    char *secret = secret_password_lookup_sync(&schema, NULL, &error, "service", "bench", "account", account, NULL);
    if (secret == NULL) stop("lookup", error);
    secret_password_free(secret);
}

/* One item with its attributes and its secret, as a program that shows items asks for it. */
static void search(int number) {
    GError *error = NULL;
    char account[32];
    snprintf(account, sizeof account, "account-%d", number);
    GHashTable *attributes = secret_attributes_build(&schema, "service", "bench", "account", account, NULL);
    GList *items = secret_service_search_sync(NULL, &schema, attributes, SECRET_SEARCH_LOAD_SECRETS, NULL, &error);
    if (items == NULL) stop("search", error);
    SecretValue *value = secret_item_get_secret(items->data);
    if (value == NULL) stop("read", NULL);
    secret_value_unref(value);
    g_list_free_full(items, g_object_unref);
    g_hash_table_unref(attributes);
}

int main(int argc, char **argv) {
    if (argc < 4) return fprintf(stderr, "usage: libsecret SAMPLES LIMIT-SECONDS COUNT...\n"), 2;
    int samples = atoi(argv[1]);
    double limit = now() + atof(argv[2]);
    int count = 0, next = 0;
    for (int i = 3; i < argc; i++) {
        int wanted = atoi(argv[i]);
        while (count < wanted && now() < limit) add(count++);
        next = count;
        double start = now();
        for (int s = 0; s < samples; s++) add(next++);
        printf("add-at-%d %.4f ms\n", count, (now() - start) / samples * 1e3);
        start = now();
        for (int s = 0; s < samples; s++) look_up(s * (count - 1) / samples);
        printf("lookup-at-%d %.4f ms\n", count, (now() - start) / samples * 1e3);
        start = now();
        for (int s = 0; s < samples; s++) search(s * (count - 1) / samples);
        printf("search-at-%d %.4f ms\n", count, (now() - start) / samples * 1e3);
        fflush(stdout);
        if (count < wanted) break;
        count = next;
    }
    return 0;
}

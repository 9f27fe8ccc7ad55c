#include "access/logins.h"

#include <assert.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "base/mem.h"

#define BUCKETS 4096

struct logins {
    struct login *buckets[BUCKETS];
    struct list_node age;
    size_t n, bytes;
    EVP_MAC *mac;
    EVP_MAC_CTX *keyed;
};

struct logins *logins_new(void)
{
    struct logins *l = xcalloc(1, sizeof *l);
    unsigned char secret[32];
    char digest[] = "SHA256";
    OSSL_PARAM params[] = { OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                            OSSL_PARAM_construct_end() };

    list_init(&l->age);
    /* None of this fails in a sane process, and without it nothing could be remembered safely. */
    l->mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    l->keyed = l->mac != NULL ? EVP_MAC_CTX_new(l->mac) : NULL;
    if (l->keyed == NULL || getrandom(secret, sizeof secret, 0) != (ssize_t)sizeof secret ||
        EVP_MAC_init(l->keyed, secret, sizeof secret, params) != 1)
        abort();
    OPENSSL_cleanse(secret, sizeof secret);
    return l;
}

static size_t bucket_of(const unsigned char key[LOGIN_KEY_BYTES])
{
    return ((size_t)key[0] << 8 | key[1]) % BUCKETS;
}

void logins_drop(struct logins *l, struct login *one)
{
    struct login **at = &l->buckets[bucket_of(one->key)];

    assert(!one->is_pending);
    while (*at != one)
        at = &(*at)->next;
    *at = one->next;
    list_remove(&one->age);
    l->n--;
    l->bytes -= sizeof *one + one->user_len + 1;
    OPENSSL_cleanse(one->ha1, sizeof one->ha1);
    free(one);
}

void logins_free(struct logins **holder)
{
    struct logins *l = *holder;

    *holder = NULL;
    if (l == NULL)
        return;
    while (!list_empty(&l->age))
        logins_drop(l, CONTAINER_OF(l->age.next, struct login, age));
    EVP_MAC_CTX_free(l->keyed);
    EVP_MAC_free(l->mac);
    free(l);
}

/* With its length in front, so that no two lists of parts are the same bytes. */
static bool mac_add(EVP_MAC_CTX *mac, struct span s)
{
    return EVP_MAC_update(mac, (const unsigned char *)&s.len, sizeof s.len) == 1 &&
           EVP_MAC_update(mac, (const unsigned char *)(s.len > 0 ? s.p : ""), s.len) == 1;
}

void logins_key(struct logins *l, struct span user, struct span password, struct span more,
                unsigned char key[LOGIN_KEY_BYTES])
{
    size_t n;

    if (EVP_MAC_init(l->keyed, NULL, 0, NULL) != 1 || !mac_add(l->keyed, user) || !mac_add(l->keyed, password) ||
        !mac_add(l->keyed, more) || EVP_MAC_final(l->keyed, key, &n, LOGIN_KEY_BYTES) != 1 || n != LOGIN_KEY_BYTES)
        abort(); /* a key that isn't this password's could be another's */
}

static void touch(struct logins *l, struct login *one, int64_t mono)
{
    one->used = mono;
    if (list_linked(&one->age))
        list_remove(&one->age);
    list_append(&l->age, &one->age);
}

struct login *logins_find(struct logins *l, const unsigned char key[LOGIN_KEY_BYTES], int64_t mono)
{
    for (struct login *one = l->buckets[bucket_of(key)]; one != NULL; one = one->next)
        if (memcmp(one->key, key, LOGIN_KEY_BYTES) == 0) {
            touch(l, one, mono);
            return one;
        }
    return NULL;
}

static void make_room(struct logins *l, size_t most)
{
    struct list_node *n, *following;

    LIST_EACH (n, following, &l->age) {
        struct login *one = CONTAINER_OF(n, struct login, age);

        if (l->n < most)
            return;
        if (!one->is_pending)
            logins_drop(l, one);
    }
}

struct login *logins_add(struct logins *l, const unsigned char key[LOGIN_KEY_BYTES], struct span user, int64_t mono,
                         size_t most)
{
    struct login *one;

    make_room(l, most);
    one = xcalloc(1, sizeof *one + user.len + 1);
    memcpy(one->key, key, LOGIN_KEY_BYTES);
    one->user_len = user.len;
    memcpy(one->user, user.p, user.len);
    list_init(&one->askers);
    one->next = l->buckets[bucket_of(key)];
    l->buckets[bucket_of(key)] = one;
    l->n++;
    l->bytes += sizeof *one + user.len + 1;
    touch(l, one, mono);
    return one;
}

void logins_drop_unused(struct logins *l, int64_t since)
{
    struct list_node *n, *following;

    LIST_EACH (n, following, &l->age) {
        struct login *one = CONTAINER_OF(n, struct login, age);

        if (one->used >= since)
            return;
        if (!one->is_pending)
            logins_drop(l, one);
    }
}

size_t logins_count(const struct logins *l)
{
    return l->n;
}

size_t logins_bytes(const struct logins *l)
{
    return l->bytes;
}

void logins_each(const struct logins *l, bool (*each)(const struct login *one, void *ctx), void *ctx)
{
    for (const struct list_node *n = l->age.prev; n != &l->age; n = n->prev)
        if (!each(CONTAINER_OF(n, struct login, age), ctx))
            return;
}

#include "access/nonces.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>
#include "base/list.h"
#include "base/lock.h"
#include "base/mem.h"

#define BUCKETS 1024
#define KEY_BYTES 32
#define RANDOM_BYTES 8
#define PROOF_BYTES 16
#define BYTES (8 + RANDOM_BYTES + PROOF_BYTES)
#define WINDOW 64 /* counts that may come out of order: connections of one client overtake each other */

_Static_assert(NONCE_TEXT == 2 * BYTES, "two digits a byte");

struct used {
    struct used *next;
    struct list_node age; /* first used first */
    int64_t made;
    uint32_t highest; /* count */
    uint64_t seen;    /* bit n: highest - n was used */
    unsigned uses;
    unsigned char bytes[BYTES];
};

struct nonces {
    unsigned char key[KEY_BYTES];
    pthread_mutex_t lock; /* what follows */
    struct used *buckets[BUCKETS];
    struct list_node age;
    size_t n;
    int64_t forgotten; /* those made until then and not kept may have been used */
};

static void draw(void *to, size_t n)
{
    if (getrandom(to, n, 0) != (ssize_t)n)
        abort(); /* not for so few bytes */
}

struct nonces *nonces_new(void)
{
    struct nonces *t = xcalloc(1, sizeof *t);

    draw(t->key, sizeof t->key);
    lock_init(&t->lock);
    list_init(&t->age);
    t->forgotten = INT64_MIN;
    return t;
}

static size_t bucket_of(const unsigned char *bytes)
{
    return ((size_t)bytes[BYTES - 1] << 8 | bytes[BYTES - 2]) % BUCKETS; /* of the HMAC */
}

static void forget(struct nonces *t, struct used *u)
{
    struct used **at = &t->buckets[bucket_of(u->bytes)];

    while (*at != u)
        at = &(*at)->next;
    *at = u->next;
    list_remove(&u->age);
    t->n--;
    free(u);
}

void nonces_free(struct nonces **holder)
{
    struct nonces *t = *holder;

    *holder = NULL;
    if (t == NULL)
        return;
    while (!list_empty(&t->age))
        forget(t, CONTAINER_OF(t->age.next, struct used, age));
    pthread_mutex_destroy(&t->lock);
    OPENSSL_cleanse(t->key, sizeof t->key);
    free(t);
}

static void prove(const struct nonces *t, const unsigned char *bytes, unsigned char out[PROOF_BYTES])
{
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned n;

    if (HMAC(EVP_sha256(), t->key, sizeof t->key, bytes, BYTES - PROOF_BYTES, sum, &n) == NULL)
        abort(); /* without it anybody could make nonces */
    memcpy(out, sum, PROOF_BYTES);
}

void nonce_make(const struct nonces *t, int64_t mono, char out[NONCE_TEXT + 1])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[BYTES];

    memcpy(bytes, &mono, sizeof mono);
    draw(bytes + sizeof mono, RANDOM_BYTES);
    prove(t, bytes, bytes + BYTES - PROOF_BYTES);
    for (size_t i = 0; i < BYTES; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[NONCE_TEXT] = '\0';
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* False: none of ours. */
static bool read_nonce(const struct nonces *t, struct span text, unsigned char bytes[BYTES], int64_t *made)
{
    unsigned char proof[PROOF_BYTES];

    if (text.len != NONCE_TEXT)
        return false;
    for (size_t i = 0; i < BYTES; i++) {
        int high = digit(text.p[2 * i]), low = digit(text.p[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        bytes[i] = (unsigned char)(high << 4 | low);
    }
    prove(t, bytes, proof);
    memcpy(made, bytes, sizeof *made);
    return CRYPTO_memcmp(proof, bytes + BYTES - PROOF_BYTES, PROOF_BYTES) == 0;
}

enum nonce_verdict nonce_check(const struct nonces *t, struct span nonce, const struct nonce_rules *rules, int64_t mono)
{
    unsigned char bytes[BYTES];
    int64_t made;

    if (!read_nonce(t, nonce, bytes, &made))
        return NONCE_UNKNOWN;
    return mono - made > rules->max_duration ? NONCE_STALE : NONCE_GOOD;
}

static struct used *find(struct nonces *t, const unsigned char bytes[BYTES])
{
    struct used *u = t->buckets[bucket_of(bytes)];

    while (u != NULL && memcmp(u->bytes, bytes, BYTES) != 0)
        u = u->next;
    return u;
}

static struct used *keep(struct nonces *t, const unsigned char bytes[BYTES], int64_t made, size_t most)
{
    struct used *u;

    while (t->n > 0 && t->n >= most) {
        u = CONTAINER_OF(t->age.next, struct used, age);
        if (u->made > t->forgotten)
            t->forgotten = u->made;
        forget(t, u);
    }
    if (made <= t->forgotten)
        return NULL; /* it may be one of those */
    u = xcalloc(1, sizeof *u);
    memcpy(u->bytes, bytes, BYTES);
    u->made = made;
    u->next = t->buckets[bucket_of(bytes)];
    t->buckets[bucket_of(bytes)] = u;
    list_append(&t->age, &u->age);
    t->n++;
    return u;
}

/* Was this count used? Then it is said twice. */
static bool take_count(struct used *u, uint32_t count, bool strict)
{
    if (strict && count != u->highest + 1)
        return false;
    if (count > u->highest) {
        uint32_t by = count - u->highest;

        u->seen = by >= WINDOW ? 1 : u->seen << by | 1;
        u->highest = count;
        return true;
    }
    if (u->highest - count >= WINDOW || (u->seen >> (u->highest - count) & 1))
        return false;
    u->seen |= UINT64_C(1) << (u->highest - count);
    return true;
}

enum nonce_verdict nonce_use(struct nonces *t, struct span nonce, uint32_t count, const struct nonce_rules *rules,
                             int64_t mono)
{
    unsigned char bytes[BYTES];
    struct used *u;
    int64_t made;
    bool good;

    if (!read_nonce(t, nonce, bytes, &made))
        return NONCE_UNKNOWN;
    if (mono - made > rules->max_duration)
        return NONCE_STALE;
    pthread_mutex_lock(&t->lock);
    u = find(t, bytes);
    if (u == NULL)
        u = keep(t, bytes, made, rules->most);
    good = u != NULL && u->uses < rules->max_count && (!rules->check_count || take_count(u, count, rules->strict));
    if (good)
        u->uses++;
    pthread_mutex_unlock(&t->lock);
    return good ? NONCE_GOOD : NONCE_STALE;
}

void nonces_sweep(struct nonces *t, const struct nonce_rules *rules, int64_t mono)
{
    struct list_node *n, *following;

    pthread_mutex_lock(&t->lock);
    LIST_EACH (n, following, &t->age) {
        struct used *u = CONTAINER_OF(n, struct used, age);

        if (mono - u->made > rules->max_duration)
            forget(t, u);
    }
    pthread_mutex_unlock(&t->lock);
}

size_t nonces_count(struct nonces *t)
{
    size_t n;

    pthread_mutex_lock(&t->lock);
    n = t->n;
    pthread_mutex_unlock(&t->lock);
    return n;
}

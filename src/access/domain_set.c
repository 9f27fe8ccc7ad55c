#include "access/domain_set.h"

#include <endian.h>
#include <stdlib.h>
#include "base/hash.h"
#include "base/mem.h"

#define NAME_MAX_LEN 253 /* RFC 1035 section 2.3.4, as text */
#define LABELS_MAX (NAME_MAX_LEN / 2 + 1)
#define DOT_WORDS ((NAME_MAX_LEN + 63) / 64)
#define BUCKET_NAMES 10

/* Text is a row of entries: one byte of length, one of width, the name in lower case without dots at its ends. */
enum { AT_LEN, AT_WIDE, AT_NAME };

/* One line of the cache, so that a name costs a miss for its bucket and one for its text: another's 16 bits are among a
 * bucket's prints once in thousands of times. Filled from the front; what finds a bucket full goes to the next, and
 * leaves a bit here, without which nobody has to look there. */
struct bucket {
    uint16_t prints[BUCKET_NAMES]; /* 0: free */
    uint32_t gone_on;
    uint32_t at[BUCKET_NAMES]; /* in text */
};

_Static_assert(sizeof(struct bucket) == 64, "a bucket is a line of the cache");

struct domain_set {
    struct bucket *buckets;
    size_t n_buckets;
    /* A word for every bucket, two bits a name: most hosts are in no list, and this says so out of a byte a name, which
     * stays in a near cache where the buckets don't. A million names, hosts not among them: 68-108 ns without, 47-62
     * with (other programs use the memory). */
    uint64_t *filter;
    uint64_t seed;
    size_t n;
    char *text;
    size_t text_len, text_capacity;
    size_t unchecked; /* where domain_set_find_covered() goes on */
    /* How many labels names have, as bits: of all of them, of the wide ones. Suffixes of another depth needn't be
     * looked up: saves most of the cache misses, as lists have two or three depths. */
    uint64_t depths, wide_depths;
};

/* A host's suffixes that may be in the set, shortest first, the whole last. */
struct suffixes {
    struct span host; /* in lower case: every suffix ends where it does */
    char lower[NAME_MAX_LEN];
    struct suffix {
        uint64_t hash;
        size_t at; /* in host */
    } s[LABELS_MAX];
    unsigned n;
    bool has_whole; /* s[n - 1] is the whole host, not just the end of an overlong one */
};

struct domain_set *domain_set_new(void)
{
    struct domain_set *s = xcalloc(1, sizeof *s);

    s->seed = hash_seed();
    return s;
}

void domain_set_free(struct domain_set **holder)
{
    struct domain_set *s = *holder;

    *holder = NULL;
    if (s == NULL)
        return;
    free(s->buckets);
    free(s->filter);
    free(s->text);
    free(s);
}

/* A hash's lower half chooses the bucket; what tells apart those that share one comes from the upper. */
static size_t bucket_index(const struct domain_set *s, uint64_t hash)
{
    return (hash & UINT32_MAX) * s->n_buckets >> 32;
}

static struct bucket *bucket_of(const struct domain_set *s, uint64_t hash)
{
    return &s->buckets[bucket_index(s, hash)];
}

static struct bucket *bucket_behind(const struct domain_set *s, struct bucket *b)
{
    return b + 1 < s->buckets + s->n_buckets ? b + 1 : s->buckets;
}

static uint16_t print_of(uint64_t hash)
{
    uint16_t print = (uint16_t)(hash >> 48);

    return print ? print : 1;
}

static uint32_t bit_of(uint64_t hash)
{
    return UINT32_C(1) << (hash >> 32 & 31);
}

static uint64_t filter_bits(uint64_t hash)
{
    return UINT64_C(1) << (hash >> 37 & 63) | UINT64_C(1) << (hash >> 43 & 63);
}

static bool may_have(const struct domain_set *s, uint64_t hash)
{
    return (filter_bits(hash) & ~s->filter[bucket_index(s, hash)]) == 0;
}

static struct span without_dot(struct span name)
{
    if (name.len > 0 && name.p[name.len - 1] == '.')
        name.len--;
    return name;
}

/* The last bit stands for 63 and more. */
static uint64_t depth_bit(unsigned labels)
{
    return UINT64_C(1) << (labels < 63 ? labels : 63);
}

#define EACH_BYTE UINT64_C(0x0101010101010101)
#define TOP_BITS (0x80 * EACH_BYTE)

/* The bytes of w that are 'A' to 'Z', by their top bits. Sums of seven bits stay in their bytes. */
static uint64_t capitals_of(uint64_t w)
{
    uint64_t low = w & ~TOP_BITS;

    return (low + (0x80 - 'A') * EACH_BYTE) & ~(low + (0x7f - 'Z') * EACH_BYTE) & ~w & TOP_BITS;
}

/* The bytes of w that are dots, as eight bits, the first byte's lowest. */
static uint64_t dots_of(uint64_t w)
{
    uint64_t x = w ^ '.' * EACH_BYTE;
    uint64_t dots = ~(((x & ~TOP_BITS) + ~TOP_BITS) | x) & TOP_BITS;

    return (dots >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

/* Eight of the host's bytes from at on, the first lowest; zeros behind its end. */
static uint64_t load_word(struct span host, size_t at)
{
    uint64_t w = 0;

    if (host.len >= 8) {
        size_t from = at + 8 <= host.len ? at : host.len - 8;

        memcpy(&w, host.p + from, 8);
        return le64toh(w) >> (at - from) * 8;
    }
    for (size_t i = host.len; i-- > 0;)
        w = w << 8 | (unsigned char)host.p[i];
    return w;
}

/* Sets a bit for each of the host's bytes that is a dot; returns whether it has a capital. */
static bool find_dots(struct span host, uint64_t dots[DOT_WORDS])
{
    uint64_t capitals = 0;

    for (size_t i = 0; i < host.len; i += 8) {
        uint64_t w = load_word(host, i);

        capitals |= capitals_of(w);
        dots[i / 64] |= dots_of(w) << i % 64;
    }
    return capitals != 0;
}

static struct span suffix_text(const struct suffixes *of, const struct suffix *suffix)
{
    return span_of(of->host.p + suffix->at, of->host.len - suffix->at);
}

static void add_suffix(const struct domain_set *set, struct suffixes *out, size_t at)
{
    uint64_t hash = hash64(out->host.p + at, out->host.len - at, set->seed);

    if (set->n_buckets > 0) { /* here already: the cache misses of all suffixes overlap */
        __builtin_prefetch(&set->filter[bucket_index(set, hash)]);
        __builtin_prefetch(bucket_of(set, hash));
    }
    out->s[out->n++] = (struct suffix){ hash, at };
}

/* Suffixes of a depth that isn't in `below` are left out, and so is the whole unless `whole` has its depth. Of an
 * overlong host only the end is looked at. */
static void take_apart(const struct domain_set *set, struct span host, uint64_t below, uint64_t whole,
                       struct suffixes *out)
{
    size_t cut = host.len > NAME_MAX_LEN ? host.len - NAME_MAX_LEN : 0;
    uint64_t dots[DOT_WORDS] = { 0 };
    unsigned labels = 1;

    out->host = span_of(host.p + cut, host.len - cut);
    if (find_dots(out->host, dots)) {
        for (size_t i = 0; i < out->host.len; i++)
            out->lower[i] = ascii_lower(out->host.p[i]);
        out->host.p = out->lower;
    }
    out->n = 0;
    for (size_t i = DOT_WORDS; i-- > 0;)
        while (dots[i] != 0) {
            unsigned bit = 63 - (unsigned)__builtin_clzll(dots[i]);

            dots[i] ^= UINT64_C(1) << bit;
            if ((below & depth_bit(labels)) && out->n < LABELS_MAX - 1)
                add_suffix(set, out, i * 64 + bit + 1);
            labels++;
        }
    out->has_whole = cut == 0 && (whole & depth_bit(labels));
    if (out->has_whole)
        add_suffix(set, out, 0);
}

static struct span entry_name(const char *entry)
{
    return span_of(entry + AT_NAME, (unsigned char)entry[AT_LEN]);
}

/* The bucket's names with that print, as bits; without a jump that would be guessed wrong. */
static unsigned with_print(const struct bucket *b, uint16_t print)
{
    unsigned found = 0;

#pragma GCC unroll 10
    for (unsigned i = 0; i < BUCKET_NAMES; i++)
        found |= (unsigned)(b->prints[i] == print) << i;
    return found;
}

/* The entry of that name, or NULL. */
static char *find(const struct domain_set *s, uint64_t hash, struct span name)
{
    struct bucket *b = bucket_of(s, hash);

    if (!may_have(s, hash))
        return NULL;
    for (;; b = bucket_behind(s, b)) {
        for (unsigned found = with_print(b, print_of(hash)); found != 0; found &= found - 1) {
            char *entry = s->text + b->at[__builtin_ctz(found)];

            if (span_eq(entry_name(entry), name))
                return entry;
        }
        if (!(b->gone_on & bit_of(hash)))
            return NULL;
    }
}

/* For a name that isn't there; some bucket has room. */
static void put(struct domain_set *s, uint64_t hash, uint32_t at)
{
    struct bucket *b = bucket_of(s, hash);
    size_t i = 0;

    s->filter[bucket_index(s, hash)] |= filter_bits(hash);
    for (; b->prints[BUCKET_NAMES - 1] != 0; b = bucket_behind(s, b))
        b->gone_on |= bit_of(hash);
    while (b->prints[i] != 0)
        i++;
    b->prints[i] = print_of(hash);
    b->at[i] = at;
}

static struct bucket *new_buckets(size_t n)
{
    struct bucket *b = aligned_alloc(sizeof *b, n * sizeof *b);

    if (b == NULL)
        abort(); /* small allocations abort: base/mem.h */
    memset(b, 0, n * sizeof *b);
    return b;
}

/* At most nine places of ten in use. Buckets hold no whole hashes, so all is put in anew from the text, which is read
 * from its start to its end. */
static void make_room(struct domain_set *s)
{
    if ((s->n + 1) * 10 <= s->n_buckets * BUCKET_NAMES * 9)
        return;
    free(s->buckets);
    free(s->filter);
    s->n_buckets += s->n_buckets / 2 + 1;
    s->buckets = new_buckets(s->n_buckets);
    s->filter = xcalloc(s->n_buckets, sizeof *s->filter);
    for (size_t at = 0; at < s->text_len;) {
        struct span name = entry_name(s->text + at);

        put(s, hash64(name.p, name.len, s->seed), (uint32_t)at);
        at += AT_NAME + name.len;
    }
}

/* Returns the entry's place in text. */
static uint32_t append_entry(struct domain_set *s, struct span name, bool wide)
{
    size_t at = s->text_len, needed = at + AT_NAME + name.len;

    if (needed > s->text_capacity) {
        s->text_capacity = needed + needed / 8;
        s->text = xrealloc(s->text, s->text_capacity);
    }
    s->text[at + AT_LEN] = (char)name.len;
    s->text[at + AT_WIDE] = wide;
    memcpy(s->text + at + AT_NAME, name.p, name.len);
    s->text_len = needed;
    return (uint32_t)at;
}

static bool is_name(struct span name)
{
    char before = '.';

    for (size_t i = 0; i < name.len; i++) {
        if (name.p[i] == '.' && before == '.')
            return false;
        before = name.p[i];
    }
    return before != '.' && name.len <= NAME_MAX_LEN;
}

bool domain_set_add(struct domain_set *s, struct span name)
{
    bool wide = name.len > 0 && name.p[0] == '.';
    struct suffixes parts;
    unsigned labels = 1;
    char *entry;

    if (wide)
        name = span_of(name.p + 1, name.len - 1);
    name = without_dot(name);
    if (!is_name(name) || s->text_len + AT_NAME + name.len > UINT32_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++)
        labels += name.p[i] == '.';
    make_room(s);
    take_apart(s, name, 0, depth_bit(labels), &parts);
    entry = find(s, parts.s[0].hash, suffix_text(&parts, &parts.s[0]));
    if (entry == NULL) {
        put(s, parts.s[0].hash, append_entry(s, suffix_text(&parts, &parts.s[0]), wide));
        s->n++;
    } else if (wide) {
        entry[AT_WIDE] = true;
    }
    s->depths |= depth_bit(labels);
    s->wide_depths |= wide ? depth_bit(labels) : 0;
    return true;
}

bool domain_set_matches(const struct domain_set *s, struct span host)
{
    struct suffixes parts;

    if (s->n == 0 || host.len == 0)
        return false;
    take_apart(s, without_dot(host), s->wide_depths, s->depths, &parts);
    for (unsigned i = parts.n; i-- > 0;) {
        const char *entry = find(s, parts.s[i].hash, suffix_text(&parts, &parts.s[i]));

        if (entry != NULL && (entry[AT_WIDE] || (parts.has_whole && i + 1 == parts.n)))
            return true;
    }
    return false;
}

size_t domain_set_count(const struct domain_set *s)
{
    return s->n;
}

/* The wide entry above a name, if any: the name itself doesn't count. */
static const char *find_above(const struct domain_set *s, struct span name)
{
    struct suffixes parts;

    take_apart(s, name, s->wide_depths, 0, &parts);
    for (unsigned i = 0; i < parts.n; i++) {
        const char *entry = find(s, parts.s[i].hash, suffix_text(&parts, &parts.s[i]));

        if (entry != NULL && entry[AT_WIDE])
            return entry;
    }
    return NULL;
}

bool domain_set_find_covered(struct domain_set *s, struct span *narrow, struct span *wide)
{
    size_t at = s->unchecked;

    s->unchecked = s->text_len;
    while (at < s->text_len && s->wide_depths != 0) {
        struct span name = entry_name(s->text + at);
        const char *above = find_above(s, name);

        if (above != NULL) {
            *narrow = name;
            *wide = entry_name(above);
            return true;
        }
        at += AT_NAME + name.len;
    }
    return false;
}

void domain_set_print(const struct domain_set *s, struct strbuf *out)
{
    for (size_t at = 0; at < s->text_len;) {
        struct span name = entry_name(s->text + at);

        if (s->text[at + AT_WIDE])
            sb_char(out, '.');
        sb_span(out, name);
        sb_char(out, ' ');
        at += AT_NAME + name.len;
    }
}

#include "access/domain_set.h"

#include <stdlib.h>
#include "base/mem.h"

#define NAME_MAX_LEN 253 /* RFC 1035 section 2.3.4, as text */
#define LABELS_MAX (NAME_MAX_LEN / 2 + 1)

/* Text is a row of entries: one byte of length, one of width, the name in lower case without dots at its ends. */
enum { AT_LEN, AT_WIDE, AT_NAME };

struct domain_set {
    uint64_t *slots; /* 0: free; else hash << 32 | (entry's place in text + 1). Probed linearly */
    size_t n_slots;  /* a power of two, or 0 */
    /* A word of 64 bits for every 16 slots, two bits a name: most hosts are in no list, and this says so out of a
     * sixteenth of the memory, which stays in a near cache where the slots don't. A million names, hosts not among
     * them: 240 ns without, 60-95 with (test_domain_set prints it). */
    uint64_t *filter;
    size_t n;
    char *text;
    size_t text_len, text_capacity;
    size_t unchecked; /* where domain_set_find_covered() goes on */
    /* How many labels names have, as bits: of all of them, of the wide ones. Suffixes of another depth needn't be
     * looked up: saves most of the cache misses, as lists have two or three depths. */
    uint64_t depths, wide_depths;
};

/* A host taken apart: its suffixes, shortest first, the whole last, with their hashes: one pass from the right gives
 * all of them, since a suffix's hash is where the next longer one's goes on from. */
struct suffixes {
    char lower[NAME_MAX_LEN];
    struct suffix {
        uint32_t hash;
        uint32_t at; /* in lower, up to its end */
    } s[LABELS_MAX];
    unsigned n;
    bool has_whole; /* s[n - 1] is the whole host, not just the end of an overlong one */
};

struct domain_set *domain_set_new(void)
{
    return xcalloc(1, sizeof(struct domain_set));
}

void domain_set_free(struct domain_set **holder)
{
    struct domain_set *s = *holder;

    *holder = NULL;
    if (s == NULL)
        return;
    free(s->slots);
    free(s->filter);
    free(s->text);
    free(s);
}

static uint64_t hash_byte(uint64_t h, char c)
{
    return (h ^ (unsigned char)c) * UINT64_C(0x9e3779b97f4a7c15);
}

/* The multiplication mixes upwards only; this brings the upper half down for tables of any size. */
static uint32_t hash_end(uint64_t h)
{
    h ^= h >> 32;
    h *= UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(h >> 32);
}

static uint64_t *filter_word(const struct domain_set *s, uint32_t hash)
{
    return &s->filter[(hash & (s->n_slots - 1)) / 16];
}

/* The upper bits, which choose no slot in all but the largest tables. */
static uint64_t filter_bits(uint32_t hash)
{
    return UINT64_C(1) << (hash >> 26) | UINT64_C(1) << (hash >> 20 & 63);
}

static bool may_have(const struct domain_set *s, uint32_t hash)
{
    uint64_t bits = filter_bits(hash);

    return (*filter_word(s, hash) & bits) == bits;
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

static void add_suffix(const struct domain_set *set, struct suffixes *out, uint64_t h, size_t at)
{
    uint32_t hash = hash_end(h);

    if (set->n_slots > 0) /* here already: the cache misses of all suffixes overlap */
        __builtin_prefetch(filter_word(set, hash));
    out->s[out->n++] = (struct suffix){ hash, (uint32_t)at };
}

/* Suffixes of a depth that isn't in `below` are left out, and so is the whole unless `whole` has its depth. */
static void take_apart(const struct domain_set *set, struct span host, uint64_t below, uint64_t whole,
                       struct suffixes *out)
{
    size_t at = sizeof out->lower, left = host.len;
    uint64_t h = 0;
    unsigned labels = 1;

    out->n = 0;
    while (left > 0 && at > 0) {
        char c = ascii_lower(host.p[--left]);

        if (c == '.') {
            if ((below & depth_bit(labels)) && out->n < LABELS_MAX - 1)
                add_suffix(set, out, h, at);
            labels++;
        }
        h = hash_byte(h, c);
        out->lower[--at] = c;
    }
    out->has_whole = left == 0 && (whole & depth_bit(labels));
    if (out->has_whole)
        add_suffix(set, out, h, at);
}

static struct span suffix_text(const struct suffixes *of, const struct suffix *suffix)
{
    return span_of(of->lower + suffix->at, sizeof of->lower - suffix->at);
}

static struct span entry_name(const char *entry)
{
    return span_of(entry + AT_NAME, (unsigned char)entry[AT_LEN]);
}

/* The entry of that name, or NULL; *slot is where it is or would go. */
static char *find(const struct domain_set *s, uint32_t hash, struct span name, size_t *slot)
{
    size_t i = hash & (s->n_slots - 1);

    for (; s->slots[i] != 0; i = (i + 1) & (s->n_slots - 1))
        if (s->slots[i] >> 32 == hash) {
            char *entry = s->text + (uint32_t)s->slots[i] - 1;

            if (span_eq(entry_name(entry), name)) {
                *slot = i;
                return entry;
            }
        }
    *slot = i;
    return NULL;
}

/* At most three slots of four in use. Hashes stand in the slots, so the text isn't touched. */
static void make_room(struct domain_set *s)
{
    uint64_t *old = s->slots;
    size_t n_old = s->n_slots;

    if ((s->n + 1) * 4 <= n_old * 3)
        return;
    s->n_slots = n_old ? n_old * 2 : 16;
    s->slots = xcalloc(s->n_slots, sizeof *s->slots);
    free(s->filter);
    s->filter = xcalloc(s->n_slots / 16, sizeof *s->filter);
    for (size_t i = 0; i < n_old; i++) {
        size_t to = old[i] >> 32 & (s->n_slots - 1);

        if (old[i] == 0)
            continue;
        while (s->slots[to] != 0)
            to = (to + 1) & (s->n_slots - 1);
        s->slots[to] = old[i];
        *filter_word(s, (uint32_t)(old[i] >> 32)) |= filter_bits((uint32_t)(old[i] >> 32));
    }
    free(old);
}

/* Returns the entry's place in text. */
static size_t append_entry(struct domain_set *s, struct span name, bool wide)
{
    size_t at = s->text_len, needed = at + AT_NAME + name.len;

    if (needed > s->text_capacity) {
        s->text_capacity = needed * 2;
        s->text = xrealloc(s->text, s->text_capacity);
    }
    s->text[at + AT_LEN] = (char)name.len;
    s->text[at + AT_WIDE] = wide;
    memcpy(s->text + at + AT_NAME, name.p, name.len);
    s->text_len = needed;
    return at;
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
    size_t slot;

    if (wide)
        name = span_of(name.p + 1, name.len - 1);
    name = without_dot(name);
    if (!is_name(name) || s->text_len + AT_NAME + name.len >= UINT32_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++)
        labels += name.p[i] == '.';
    make_room(s);
    take_apart(s, name, 0, depth_bit(labels), &parts);
    entry = find(s, parts.s[0].hash, suffix_text(&parts, &parts.s[0]), &slot);
    if (entry == NULL) {
        size_t at = append_entry(s, suffix_text(&parts, &parts.s[0]), wide);

        s->slots[slot] = (uint64_t)parts.s[0].hash << 32 | (at + 1);
        *filter_word(s, parts.s[0].hash) |= filter_bits(parts.s[0].hash);
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
    size_t slot;

    if (s->n == 0)
        return false;
    take_apart(s, without_dot(host), s->wide_depths, s->depths, &parts);
    for (unsigned i = parts.n; i-- > 0;) {
        const char *entry;

        if (!may_have(s, parts.s[i].hash))
            continue;
        entry = find(s, parts.s[i].hash, suffix_text(&parts, &parts.s[i]), &slot);
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
    size_t slot;

    take_apart(s, name, s->wide_depths, 0, &parts);
    for (unsigned i = 0; i < parts.n; i++) {
        const char *entry = find(s, parts.s[i].hash, suffix_text(&parts, &parts.s[i]), &slot);

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

#include "net/hosts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/log.h"
#include "base/mem.h"
#include "net/host_name.h"

struct host {
    char *name; /* lower case */
    size_t line;
    struct addr addr;
};

/* Sorted by name, then line: block lists make files of 1e5 names, and a search of 17 steps is fine for those too. */
struct hosts {
    struct host *rows;
    size_t n, capacity;
    struct named *named; /* sorted by address, each once */
    size_t n_named;
};

/* An address and its first name: a row's. */
struct named {
    struct addr addr;
    const char *name;
    size_t place; /* in the file */
};

static void add(struct hosts *h, struct span name, const struct addr *a, size_t line)
{
    struct host *row;

    if (h->n == h->capacity) {
        h->capacity = h->capacity ? h->capacity * 2 : 16;
        h->rows = xrealloc(h->rows, h->capacity * sizeof *h->rows);
    }
    row = &h->rows[h->n++];
    *row = (struct host){ .name = xspandup(name), .line = line, .addr = *a };
    for (char *c = row->name; *c != '\0'; c++)
        *c = ascii_lower(*c);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The next word, taken off *rest; empty at the end. */
static struct span word(struct span *rest)
{
    size_t n = 0;
    struct span w;

    while (rest->len > 0 && is_blank(rest->p[0]))
        rest->p++, rest->len--;
    while (n < rest->len && !is_blank(rest->p[n]))
        n++;
    w = span_of(rest->p, n);
    *rest = span_of(rest->p + n, rest->len - n);
    return w;
}

/* address name [name ...] [# comment]; what isn't that is passed over, as every resolver does. */
static void read_line(struct hosts *h, struct span text, size_t line)
{
    const char *comment = text.len > 0 ? memchr(text.p, '#', text.len) : NULL;
    struct span name;
    struct addr a;

    if (comment != NULL)
        text.len = (size_t)(comment - text.p);
    if (!addr_parse(word(&text), &a))
        return;
    while ((name = word(&text)).len > 0)
        add(h, name, &a, line);
}

static int by_name_and_line(const void *pa, const void *pb)
{
    const struct host *a = pa, *b = pb;
    int order = strcmp(a->name, b->name);

    return order != 0 ? order : (a->line > b->line) - (a->line < b->line);
}

static int by_address(const struct addr *a, const struct addr *b)
{
    int order = (int)a->family - (int)b->family;

    return order != 0 ? order : memcmp(a->bytes, b->bytes, a->family == AF_INET ? 4 : sizeof a->bytes);
}

static int by_address_and_place(const void *pa, const void *pb)
{
    const struct named *a = pa, *b = pb;
    int order = by_address(&a->addr, &b->addr);

    return order != 0 ? order : (a->place > b->place) - (a->place < b->place);
}

/* While the rows are in the file's order. */
static void name_addresses(struct hosts *h)
{
    size_t kept = 0;

    h->named = xcalloc(h->n, sizeof *h->named);
    for (size_t i = 0; i < h->n; i++)
        if (host_name_is_valid(span_str(h->rows[i].name)))
            h->named[h->n_named++] = (struct named){ h->rows[i].addr, h->rows[i].name, i };
    if (h->n_named > 0)
        qsort(h->named, h->n_named, sizeof *h->named, by_address_and_place);
    for (size_t i = 0; i < h->n_named; i++)
        if (kept == 0 || by_address(&h->named[kept - 1].addr, &h->named[i].addr) != 0)
            h->named[kept++] = h->named[i];
    h->n_named = kept;
    h->named = xrealloc(h->named, (kept > 0 ? kept : 1) * sizeof *h->named);
}

struct hosts *hosts_read(const char *path)
{
    struct hosts *h = xcalloc(1, sizeof *h);
    char *line = NULL;
    size_t capacity = 0, number = 0;
    ssize_t len;
    FILE *f;

    if (path == NULL || strcmp(path, "none") == 0)
        return h;
    if ((f = fopen(path, "re")) == NULL) {
        log_line(LOG_IMPORTANT, "WARNING: cannot read hosts_file %s: %s", path, strerror(errno));
        return h;
    }
    while ((len = getline(&line, &capacity, f)) >= 0)
        read_line(h, span_of(line, (size_t)len), ++number);
    free(line);
    fclose(f);
    if (h->n == 0)
        return h;
    name_addresses(h);
    qsort(h->rows, h->n, sizeof *h->rows, by_name_and_line);
    return h;
}

void hosts_free(struct hosts **holder)
{
    struct hosts *h = *holder;

    *holder = NULL;
    if (h == NULL)
        return;
    for (size_t i = 0; i < h->n; i++)
        free(h->rows[i].name);
    free(h->rows);
    free(h->named);
    free(h);
}

/* < 0: row before name, without regard to case. */
static int compare(const char *row, struct span name)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char a = (unsigned char)row[i], b = (unsigned char)ascii_lower(name.p[i]);

        if (a != b || a == '\0')
            return a == b ? -1 : (int)a - (int)b; /* a NUL in name: never equal */
    }
    return row[name.len] == '\0' ? 0 : 1;
}

static bool among(const struct addr *a, const struct addr *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (addr_eq(a, &list[i]))
            return true;
    return false;
}

size_t hosts_find(const struct hosts *h, struct span name, struct addr *out, size_t max)
{
    size_t low = 0, high = h->n, n = 0;

    while (low < high) { /* the first row that isn't before name */
        size_t mid = low + (high - low) / 2;

        if (compare(h->rows[mid].name, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < h->n && n < max && compare(h->rows[low].name, name) == 0; low++)
        if (!among(&h->rows[low].addr, out, n))
            out[n++] = h->rows[low].addr;
    return n;
}

struct span hosts_name_of(const struct hosts *h, const struct addr *a)
{
    size_t low = 0, high = h->n_named;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = by_address(&h->named[mid].addr, a);

        if (order == 0)
            return span_str(h->named[mid].name);
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return SPAN_NONE;
}

size_t hosts_each(const struct hosts *h, size_t most, void (*each)(const char *name, const struct addr *a, void *ctx),
                  void *ctx)
{
    for (size_t i = 0; i < h->n && i < most; i++)
        each(h->rows[i].name, &h->rows[i].addr, ctx);
    return h->n;
}

size_t hosts_each_address(const struct hosts *h, size_t most,
                          void (*each)(const char *name, const struct addr *a, void *ctx), void *ctx)
{
    for (size_t i = 0; i < h->n_named && i < most; i++)
        each(h->named[i].name, &h->named[i].addr, ctx);
    return h->n_named;
}

#include "access/htpasswd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "access/digest.h"
#include "access/password_hash.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"

#define FILE_MOST ((size_t)256 << 20)
#define LINE_MOST 1024

/* --- the users --------------------------------------------------------------------------------------------------------- */

struct entry {
    char *name, *hash; /* one allocation: name's */
    unsigned line;
};

struct htpasswd {
    atomic_uint refs;
    bool fold_case;
    struct entry *entries; /* by name, then line */
    size_t n, capacity;
};

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    return order != 0 ? order : x->line < y->line ? -1 : x->line > y->line;
}

static void add(struct htpasswd *t, char *name, char *hash, unsigned line)
{
    if (t->n == t->capacity) {
        t->capacity = t->capacity ? 2 * t->capacity : 16;
        t->entries = xrealloc(t->entries, t->capacity * sizeof *t->entries);
    }
    if (t->fold_case)
        for (char *c = name; *c != '\0'; c++)
            *c = ascii_lower(*c);
    t->entries[t->n++] = (struct entry){ name, hash, line };
}

static bool is_ha1(struct span hex)
{
    return digest_is_hash(DIGEST_MD5, hex) || digest_is_hash(DIGEST_SHA256, hex);
}

/* What stands behind the name in htdigest's form: *hash is its HA1, or NULL in another realm. NULL: fine. */
static const char *read_ha1(const char *realm, char **hash)
{
    char *ha1 = strchr(*hash, ':');

    if (ha1 == NULL)
        return "not NAME:REALM:HA1";
    *ha1++ = '\0';
    if (strcmp(*hash, realm) != 0)
        *hash = NULL;
    else
        *hash = ha1;
    return is_ha1(span_str(ha1)) ? NULL : "not a hash: write it with htdigest";
}

/* NULL: it is in t, or of no concern. Else why it isn't. */
static const char *read_line(struct htpasswd *t, const struct htpasswd_form *form, struct span line, unsigned number)
{
    const char *why = NULL;
    char *name, *hash;

    if (line.len > LINE_MOST)
        return "the line is too long";
    if (memchr(line.p, '\0', line.len) != NULL)
        return "a NUL in the line";
    name = xspandup(line);
    hash = strchr(name, ':');
    if (hash == NULL || hash == name) {
        why = "not NAME:HASH";
    } else {
        *hash++ = '\0';
        if (form->realm != NULL) {
            why = read_ha1(form->realm, &hash);
        } else {
            hash[strcspn(hash, ":")] = '\0'; /* some tools write more behind it */
            (void)password_hash_is_usable(hash, &why);
        }
        if (why == NULL && hash != NULL) {
            add(t, name, hash, number);
            return NULL;
        }
    }
    free(name);
    return why;
}

struct htpasswd *htpasswd_parse(struct span text, const struct htpasswd_form *form, htpasswd_problem *problem,
                                void *ctx)
{
    struct htpasswd *t = xcalloc(1, sizeof *t);
    unsigned number = 0;

    atomic_init(&t->refs, 1);
    t->fold_case = form->fold_case;
    for (size_t at = 0; at < text.len;) {
        const char *end = memchr(text.p + at, '\n', text.len - at);
        struct span line = span_of(text.p + at, end ? (size_t)(end - text.p) - at : text.len - at);
        const char *why;

        at += line.len + 1;
        number++;
        while (line.len > 0 && (line.p[line.len - 1] == '\r' || line.p[line.len - 1] == ' '))
            line.len--;
        if (line.len == 0 || line.p[0] == '#')
            continue;
        if ((why = read_line(t, form, line, number)) != NULL && problem != NULL)
            problem(ctx, number, why);
    }
    if (t->n > 1)
        qsort(t->entries, t->n, sizeof *t->entries, by_name);
    return t;
}

void htpasswd_unref(struct htpasswd **holder)
{
    struct htpasswd *t = *holder;

    *holder = NULL;
    if (t == NULL || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < t->n; i++)
        free(t->entries[i].name);
    free(t->entries);
    free(t);
}

/* The first entry of that name, and of those of so many digits (0: any). */
static const char *find(const struct htpasswd *t, struct span user, size_t digits)
{
    char *name = xspandup(user);
    size_t low = 0, high = t->n;
    const char *hash = NULL;

    for (char *c = name; t->fold_case && *c != '\0'; c++)
        *c = ascii_lower(*c);
    while (low < high) { /* the first that isn't less */
        size_t middle = low + (high - low) / 2;

        if (strcmp(t->entries[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; hash == NULL && low < t->n && strcmp(t->entries[low].name, name) == 0; low++)
        if (digits == 0 || strlen(t->entries[low].hash) == digits)
            hash = t->entries[low].hash;
    free(name);
    return hash;
}

const char *htpasswd_hash(const struct htpasswd *t, struct span user)
{
    return find(t, user, 0);
}

const char *htpasswd_ha1(const struct htpasswd *t, struct span user, size_t digits)
{
    return find(t, user, digits);
}

const char *htpasswd_any_hash(const struct htpasswd *t)
{
    return t->n > 0 ? t->entries[0].hash : NULL;
}

size_t htpasswd_count(const struct htpasswd *t)
{
    return t->n;
}

/* --- the file ---------------------------------------------------------------------------------------------------------- */

/* What tells one state of the file from another. */
struct look {
    struct timespec mtime;
    off_t size;
    ino_t inode;
};

struct htpasswd_file {
    atomic_uint refs;
    char *path;
    struct htpasswd_form form;
    atomic_uint_fast64_t generation; /* of what was seen last */
    atomic_int_fast64_t looked;      /* monotonic microseconds */
    pthread_mutex_t lock;            /* what follows; never held while the file is read by more than one */
    struct look seen;
    struct htpasswd *table;
    uint64_t table_generation;
};

uint64_t htpasswd_new_generation(void)
{
    static atomic_uint_fast64_t last;

    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

static struct look look_at(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return (struct look){ .size = -1 };
    return (struct look){ st.st_mtim, st.st_size, st.st_ino };
}

static bool looks_same(const struct look *a, const struct look *b)
{
    return a->mtime.tv_sec == b->mtime.tv_sec && a->mtime.tv_nsec == b->mtime.tv_nsec && a->size == b->size &&
           a->inode == b->inode;
}

/* False with errno. */
static bool read_file(const char *path, struct strbuf *text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), error;
    ssize_t n;

    if (fd < 0)
        return false;
    do {
        char *at = sb_reserve(text, 65536);

        n = read(fd, at, 65536);
        if (n > 0)
            text->len += (size_t)n;
        if (text->len > FILE_MOST) {
            n = -1;
            errno = EFBIG;
        }
    } while (n > 0 || (n < 0 && errno == EINTR));
    error = errno;
    close(fd);
    errno = error;
    return n == 0;
}

/* NULL with errno. */
static struct htpasswd *read_table(const char *path, const struct htpasswd_form *form, htpasswd_problem *problem,
                                   void *ctx)
{
    struct strbuf text = { 0 };
    struct htpasswd *t = NULL;
    int error;

    if (read_file(path, &text))
        t = htpasswd_parse(sb_view(&text), form, problem, ctx);
    error = errno;
    sb_free(&text);
    errno = error;
    return t;
}

struct htpasswd_file *htpasswd_file_open(const char *path, const struct htpasswd_form *form, htpasswd_problem *problem,
                                         void *ctx)
{
    struct look seen = look_at(path); /* before it is read: a change meanwhile is seen as one later */
    struct htpasswd *t = read_table(path, form, problem, ctx);
    struct htpasswd_file *f;

    if (t == NULL)
        return NULL;
    f = xcalloc(1, sizeof *f);
    atomic_init(&f->refs, 1);
    f->path = xstrdup(path);
    f->form.fold_case = form->fold_case;
    f->form.realm = form->realm != NULL ? xstrdup(form->realm) : NULL;
    f->seen = seen;
    f->table = t;
    f->table_generation = htpasswd_new_generation();
    atomic_init(&f->generation, f->table_generation);
    atomic_init(&f->looked, clock_mono_us());
    pthread_mutex_init(&f->lock, NULL);
    return f;
}

struct htpasswd_file *htpasswd_file_ref(struct htpasswd_file *f)
{
    atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
    return f;
}

void htpasswd_file_unref(struct htpasswd_file **holder)
{
    struct htpasswd_file *f = *holder;

    *holder = NULL;
    if (f == NULL || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1)
        return;
    htpasswd_unref(&f->table);
    pthread_mutex_destroy(&f->lock);
    free((char *)(uintptr_t)f->form.realm);
    free(f->path);
    free(f);
}

const char *htpasswd_file_path(const struct htpasswd_file *f)
{
    return f->path;
}

/* One thread a second looks; who finds another reading the file leaves it to a later second. */
static void look_again(struct htpasswd_file *f)
{
    struct look now;

    if (pthread_mutex_trylock(&f->lock) != 0)
        return;
    now = look_at(f->path);
    if (!looks_same(&now, &f->seen)) {
        f->seen = now;
        atomic_store_explicit(&f->generation, htpasswd_new_generation(), memory_order_release);
    }
    pthread_mutex_unlock(&f->lock);
}

uint64_t htpasswd_file_generation(struct htpasswd_file *f, int64_t mono)
{
    int_fast64_t looked = atomic_load_explicit(&f->looked, memory_order_relaxed);

    if (mono - looked >= US_PER_S &&
        atomic_compare_exchange_strong_explicit(&f->looked, &looked, mono, memory_order_relaxed, memory_order_relaxed))
        look_again(f);
    return atomic_load_explicit(&f->generation, memory_order_acquire);
}

static void log_problem(void *ctx, unsigned line, const char *why)
{
    const struct htpasswd_file *f = ctx;

    log_line(LOG_IMPORTANT, "WARNING: %s:%u: %s", f->path, line, why);
}

static void read_again(struct htpasswd_file *f, uint64_t generation)
{
    struct htpasswd *t = read_table(f->path, &f->form, log_problem, f);

    f->table_generation = generation;
    if (t == NULL) {
        log_line(LOG_IMPORTANT, "WARNING: can't read %s any more: %s; its users stay as they were", f->path,
                 strerror(errno));
        return;
    }
    htpasswd_unref(&f->table);
    f->table = t;
}

struct htpasswd *htpasswd_file_table(struct htpasswd_file *f, uint64_t *generation)
{
    struct htpasswd *t;

    pthread_mutex_lock(&f->lock);
    *generation = atomic_load_explicit(&f->generation, memory_order_acquire);
    if (f->table_generation != *generation)
        read_again(f, *generation);
    t = f->table;
    atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&f->lock);
    return t;
}

/* mgr:filedescriptors: what workers say of their sockets, and what the kernel says of the rest. */
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "mgr/gathered.h"

/* Looked at for what no worker knows: the lowest ones. Files, pipes and listening sockets are opened early; and of a process with
 * 100,000 the whole directory would take 30 ms. */
#define DESCRIPTORS_READ 2048

/* One line of the page: either a worker's, or one that only the kernel knows. */
struct line {
    int fd;
    const struct view_descriptor *v; /* NULL: the kernel's */
    const struct strbuf *text;
};

struct lines {
    struct line *p;
    size_t n, capacity;
};

static void add_line(struct lines *l, struct line one)
{
    if (l->n == l->capacity) {
        l->capacity = l->capacity > 0 ? 2 * l->capacity : 256;
        l->p = xrealloc(l->p, l->capacity * sizeof *l->p);
    }
    l->p[l->n++] = one;
}

static int by_number(const void *pa, const void *pb)
{
    const struct line *a = pa, *b = pb;

    return (a->fd > b->fd) - (a->fd < b->fd);
}

static bool is_known(const struct lines *l, size_t n_known, int fd)
{
    const struct line key = { .fd = fd };

    return n_known > 0 && bsearch(&key, l->p, n_known, sizeof *l->p, by_number) != NULL;
}

static bool is_socket(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* The descriptors that no worker has told of, behind the known ones, which are in order. sockets: of those too; else they may be a
 * worker's without a row. */
static void add_others(struct lines *l, bool sockets)
{
    size_t n_known = l->n;
    DIR *dir = opendir("/proc/self/fd");
    const struct dirent *e;

    if (dir == NULL)
        return;
    for (int i = 0; i < DESCRIPTORS_READ && (e = readdir(dir)) != NULL; i++) {
        int fd = isdigit((unsigned char)e->d_name[0]) ? (int)strtol(e->d_name, NULL, 10) : -1;

        if (fd >= 0 && fd != dirfd(dir) && !is_known(l, n_known, fd) && (sockets || !is_socket(fd)))
            add_line(l, (struct line){ .fd = fd });
    }
    closedir(dir);
}

static void add_row(struct strbuf *out, int fd, const char *type, int64_t timeout, uint64_t in, bool reading,
                    uint64_t sent, bool writing, const char *remote)
{
    sb_printf(out, "%4d %-6.6s %4" PRId64 " %7" PRIu64 "%c %7" PRIu64 "%c %-21s ", fd, type, timeout, in,
              reading ? '*' : ' ', sent, writing ? '*' : ' ', remote);
}

static void add_workers(struct page_request *r, struct strbuf *out, const struct line *l)
{
    const struct view_descriptor *v = l->v;
    char remote[ADDR_TEXT_MAX] = "";
    struct addr shown = v->remote;

    if (v->is_client)
        (void)client_as_shown(r, &v->remote, &shown);
    if (shown.family != 0)
        addr_print_port(&shown, remote);
    add_row(out, v->fd, "Socket", v->timeout, v->received, v->reading, v->sent, v->writing, remote);
    sb_str(out, v->what);
    sb_span(out, view_span(l->text, v->name));
    add_stripped_url(r, out, view_span(l->text, v->url));
    sb_char(out, '\n');
}

/* What the kernel calls it: a path; "socket:[1]", "pipe:[1]", "anon_inode:[eventpoll]". A file's place is how far it has been read
 * or written. False: it is gone meanwhile. */
static bool add_kernels(struct page_request *r, struct strbuf *out, int fd)
{
    const char *log = r->q->settings->cache_log;
    char link[64], target[512];
    off_t place;
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, target, sizeof target - 1);
    if (n <= 0)
        return false;
    target[n] = '\0';
    if (target[0] == '/') {
        place = lseek(fd, 0, SEEK_CUR);
        add_row(out, fd, log != NULL && strcmp(log, target) == 0 ? "Log" : "File", 0, 0, false,
                place > 0 ? (uint64_t)place : 0, false, "");
        add_escaped(out, span_str(target));
    } else if (strncmp(target, "socket:", 7) == 0) {
        add_row(out, fd, "Socket", 0, 0, false, 0, false, "");
        sb_str(out, "of no connection of a worker's");
    } else if (strncmp(target, "pipe:", 5) == 0) {
        add_row(out, fd, "Pipe", 0, 0, false, 0, false, "");
        sb_str(out, "Pipe");
    } else {
        const char *colon = strchr(target, ':');

        add_row(out, fd, "Event", 0, 0, false, 0, false, "");
        add_escaped(out, span_str(colon != NULL ? colon + 1 : target));
    }
    sb_char(out, '\n');
    return true;
}

void filedescriptors_page(struct page_request *r, struct strbuf *out)
{
    struct all_rows all = all_rows_of(r->q->gathered, sizeof(struct view_descriptor), NULL);
    bool sockets = all.passed == 0 && gather_missing(r->q->gathered) == 0;
    struct lines l = { 0 };
    size_t passed = all.passed, shown = 0;

    for (size_t i = 0; i < all.n; i++)
        add_line(&l, (struct line){ ((const struct view_descriptor *)all.p[i].row)->fd, all.p[i].row, all.p[i].text });
    if (l.n > 0)
        qsort(l.p, l.n, sizeof *l.p, by_number);
    add_others(&l, sockets);
    if (l.n > 0)
        qsort(l.p, l.n, sizeof *l.p, by_number);
    sb_str(out, "Active file descriptors:\n"
                "File Type   Tout Nread  * Nwrite * Remote Address        Description\n"
                "---- ------ ---- -------- -------- --------------------- ------------------------------\n");
    for (size_t i = 0; i < l.n; i++) {
        if (shown >= VIEW_ROWS && l.p[i].v != NULL)
            passed++;
        else if (l.p[i].v != NULL)
            shown++, add_workers(r, out, &l.p[i]);
        else if (shown < VIEW_ROWS)
            shown += add_kernels(r, out, l.p[i].fd);
    }
    add_missing(r, out, passed, "sockets of clients and servers");
    free(l.p);
    all_rows_free(&all);
}

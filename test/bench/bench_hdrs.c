/* bench_hdrs: ours, kernel by kernel, against the parsers people compare with, in one process.
 *
 *   bench_hdrs [--case GLOB] [--kernel K] [--json] [--rounds N] [--cpu N] [--ours]
 *
 * Every case of parser_cases.h by its name. ns/op is the median of the rounds; in a round each parser does the case
 * once for some 30 microseconds, in turn, so that a noisy neighbour meets all of them. Ours always identifies every
 * name, validates every byte, links duplicates and keeps the limits. Peers: libh2o's phr_parse_request (Debian's
 * libh2o) and Debian's httparse crate (httparse_shim/). Exit status 2: one of them is absent, and which. --ours: go
 * without them.
 *
 * A parser of heads has no entry for a bare target, method or version; these cases are the shortest request or head
 * around them, for all parsers alike. "drip": a head one byte at a time, ns per head. "wks_*": 101 names a round. */
#include <dlfcn.h>
#include <fnmatch.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "base/hash.h"
#include "base/mem.h"
#include "hdrs/field_cache_control.h"
#include "hdrs/field_date.h"
#include "hdrs/field_number.h"
#include "hdrs/kernel.h"
#include "hdrs/parse.h"
#include "hdrs/uri.h"
/* The cases come with shadowed names and functions this file doesn't use. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include "parser_cases.h"
#pragma GCC diagnostic pop

#define ROUNDS_MAX 99
#define ROUND_NS 30000
#define PARSERS_MAX (HDRS_KERNEL_N + 2)

enum work { REQUEST, RESPONSE, FIELDS, NAMES, DRIP, URI, DATE, CACHE_CONTROL, NUMBER };

struct bench_case {
    const char *name;
    enum work work;
    char *bytes; /* PARSE_SLACK more behind them */
    size_t len;
    size_t heads; /* messages in bytes, one behind the other; names */
};

/* One head at p. Returns its bytes, 0: refused; *fields: how many. */
typedef size_t parse_fn(const char *p, size_t len, size_t *fields);

struct parser {
    const char *name;
    bool ours;
    enum hdrs_kernel kernel;
    parse_fn *request, *response, *fields;
};

static struct parser parsers[PARSERS_MAX];
static size_t parsers_n;
static double cycles_per_ns;

/* What the compiler can't see is done. */
static void used(const void *p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* A chain of additions takes a cycle each. */
static void calibrate(void)
{
    double best = 0;

    for (int i = 0; i < 20; i++) {
        int64_t began = now_ns();
        uint64_t x = 1;

        for (int k = 0; k < 100000; k++)
            __asm__ volatile("add $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0" : "+r"(x));
        double rate = 400000.0 / (double)(now_ns() - began);
        best = rate > best ? rate : best;
    }
    cycles_per_ns = best;
}

/* Ours. */

static struct head scratch;
static const struct parse_limits limits = { .max_bytes = 65536, .max_fields = HEAD_FIELDS_MAX, .slack = true };

static size_t ours_request(const char *p, size_t len, size_t *fields)
{
    struct parse_progress progress = { 0 };
    struct parse_error e;

    if (parse_request(&scratch, p, len, &limits, &progress, &e) != PARSE_DONE)
        return 0;
    *fields = scratch.n_fields;
    return scratch.len;
}

static size_t ours_response(const char *p, size_t len, size_t *fields)
{
    struct parse_progress progress = { 0 };
    struct parse_error e;

    if (parse_response(&scratch, p, len, &limits, &progress, &e) != PARSE_DONE)
        return 0;
    *fields = scratch.n_fields;
    return scratch.len;
}

static size_t ours_fields(const char *p, size_t len, size_t *fields)
{
    struct parse_error e;

    if (parse_fields(&scratch, p, len, &limits, &e) != PARSE_DONE)
        return 0;
    *fields = scratch.n_fields;
    return scratch.len;
}

static void add_ours(enum hdrs_kernel k)
{
    parsers[parsers_n++] = (struct parser){
        .name = hdrs_kernel_name(k),
        .ours = true,
        .kernel = k,
        .request = ours_request,
        .response = ours_response,
        .fields = ours_fields,
    };
}

/* libh2o's copy of picohttpparser: its public functions, declared after its documentation. */

struct phr_header {
    const char *name;
    size_t name_len;
    const char *value;
    size_t value_len;
};
static int (*phr_request)(const char *, size_t, const char **, size_t *, const char **, size_t *, int *,
                          struct phr_header *, size_t *, size_t);
static int (*phr_response)(const char *, size_t, int *, int *, const char **, size_t *, struct phr_header *, size_t *,
                           size_t);
static int (*phr_headers)(const char *, size_t, struct phr_header *, size_t *, size_t);
static struct phr_header phr_table[HEAD_FIELDS_MAX];

static size_t h2o_request(const char *p, size_t len, size_t *fields)
{
    const char *method, *path;
    size_t method_len, path_len, n = HEAD_FIELDS_MAX;
    int minor, r = phr_request(p, len, &method, &method_len, &path, &path_len, &minor, phr_table, &n, 0);

    *fields = n;
    return r < 0 ? 0 : (size_t)r;
}

static size_t h2o_response(const char *p, size_t len, size_t *fields)
{
    const char *reason;
    size_t reason_len, n = HEAD_FIELDS_MAX;
    int minor, status, r = phr_response(p, len, &minor, &status, &reason, &reason_len, phr_table, &n, 0);

    *fields = n;
    return r < 0 ? 0 : (size_t)r;
}

static size_t h2o_fields(const char *p, size_t len, size_t *fields)
{
    size_t n = HEAD_FIELDS_MAX;
    int r = phr_headers(p, len, phr_table, &n, 0);

    *fields = n;
    return r < 0 ? 0 : (size_t)r;
}

/* A function of a library; object and function pointers are of one size here. */
static bool find(void *library, const char *name, void *holder)
{
    void *f = dlsym(library, name);

    memcpy(holder, &f, sizeof f);
    return f != NULL;
}

static bool add_h2o(void)
{
    void *library = dlopen("libh2o.so.0.13", RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        library = dlopen("libh2o.so", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL || !find(library, "phr_parse_request", &phr_request) ||
        !find(library, "phr_parse_response", &phr_response) || !find(library, "phr_parse_headers", &phr_headers))
        return false;
    parsers[parsers_n++] =
        (struct parser){ .name = "libh2o", .request = h2o_request, .response = h2o_response, .fields = h2o_fields };
    return true;
}

static bool add_httparse(const char *self)
{
    struct parser p = { .name = "httparse" };
    const char *slash = strrchr(self, '/');
    char *path = xmalloc(strlen(self) + sizeof "/httparse_shim.so");
    void *library;

    memcpy(path, self, slash ? (size_t)(slash - self) : 0);
    strcpy(path + (slash ? slash - self : 0), slash ? "/httparse_shim.so" : "./httparse_shim.so");
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    free(path);
    if (library == NULL || !find(library, "httparse_request", &p.request) ||
        !find(library, "httparse_response", &p.response) || !find(library, "httparse_fields", &p.fields))
        return false;
    parsers[parsers_n++] = p;
    return true;
}

/* Cases. */

static struct bench_case cases[256];
static size_t cases_n;

static void add_case(const char *name, enum work work, const char *bytes, size_t len, size_t heads)
{
    struct bench_case *c = &cases[cases_n++];

    *c = (struct bench_case){ .name = name, .work = work, .len = len, .heads = heads };
    /* A page boundary keeps one case's place from differing between runs. */
    c->bytes = aligned_alloc(4096, (len + PARSE_SLACK + 4095) / 4096 * 4096);
    if (c->bytes == NULL)
        abort();
    memset(c->bytes + len, 0, PARSE_SLACK);
    memcpy(c->bytes, bytes, len);
}

static void add_text(const char *name, enum work work, const char *before, const char *middle, size_t middle_len,
                     const char *after)
{
    size_t n = strlen(before), m = strlen(after);
    char *text = xmalloc(n + middle_len + m);

    memcpy(text, before, n);
    memcpy(text + n, middle, middle_len);
    memcpy(text + n + middle_len, after, m);
    add_case(name, work, text, n + middle_len + m, 1);
    free(text);
}

/* "uri_0001b": before, n in so many digits, behind. */
static char *name_of(const char *before, int digits, size_t n, const char *behind)
{
    char *name = xmalloc(64);

    snprintf(name, 64, "%s%0*zu%s", before, digits, n, behind);
    return name;
}

static void add_fixed(void)
{
    static const char *const piped[] = { "plaintext", "live_site", "unicode" };

    for (size_t i = 0; i < PC_NFIXED; i++) {
        const struct pc_case *c = &pc_fixed[i];

        switch (c->kind) {
        case PC_REQ: add_case(c->name, REQUEST, c->data, c->len, 1); break;
        case PC_RESP: add_case(c->name, RESPONSE, c->data, c->len, 1); break;
        case PC_HDRS: add_case(c->name, FIELDS, c->data, c->len, 1); break;
        case PC_URI:
            /* Up to its space. */
            add_text(c->name, REQUEST, "GET ", c->data, c->len - 1, " HTTP/1.1\r\n\r\n");
            add_case("url_realistic_parts", URI, c->data, c->len - 1, 1);
            break;
        case PC_METHOD: add_text(c->name, REQUEST, "", c->data, c->len, "\r\n"); break;
        case PC_VERSION:
            add_text(c->name, REQUEST, "GET / ", c->data, c->len, c->data[c->len - 1] == '.' ? "" : "\r\n");
            break;
        case PC_TOKENS: break;
        }
    }
    for (size_t k = 0; k < sizeof piped / sizeof piped[0]; k++)
        for (size_t i = 0; i < PC_NFIXED; i++)
            if (strcmp(pc_fixed[i].name, piped[k]) == 0) {
                size_t len;
                char *text = pc_repeat(pc_fixed[i].data, pc_fixed[i].len, 16, &len), *name = xmalloc(64);

                snprintf(name, 64, "%s_pipe16", piped[k]);
                add_case(name, REQUEST, text, len, 16);
                free(text);
            }
}

static void add_families(void)
{
    size_t len;
    char *text;

    for (size_t n = 1; n <= 128; n *= 2) {
        text = pc_count(n, &len);
        add_case(name_of("count_", 3, n, ""), FIELDS, text, len, 1);
        free(text);
    }
    for (size_t n = 1; n <= 4096; n *= 2) {
        text = pc_name(n, &len);
        add_case(name_of("name_", 4, n, "b"), FIELDS, text, len, 1);
        free(text);
    }
    for (size_t n = 1; n <= 4096; n *= 2) {
        text = pc_value(n, &len);
        add_case(name_of("value_", 4, n, "b"), FIELDS, text, len, 1);
        free(text);
    }
    for (size_t n = 1; n <= 4096; n *= 2) {
        text = pc_uri(n, &len);
        add_text(name_of("uri_", 4, n, "b"), REQUEST, "GET ", text, len - 1, " HTTP/1.1\r\n\r\n");
        free(text);
    }
}

static void add_names(const char *name, bool lower)
{
    char *text = xcalloc(1, 64 * PC_NWKS);

    /* 64 bytes each: a length, then the name. */
    for (size_t i = 0; i < PC_NWKS; i++) {
        text[64 * i] = (char)strlen(pc_wks[i]);
        for (size_t k = 0; pc_wks[i][k] != '\0'; k++)
            text[64 * i + 1 + k] =
                lower && pc_wks[i][k] >= 'A' && pc_wks[i][k] <= 'Z' ? (char)(pc_wks[i][k] | 0x20) : pc_wks[i][k];
    }
    add_case(name, NAMES, text, 64 * PC_NWKS, PC_NWKS);
    free(text);
}

static void add_mixed(int n)
{
    size_t len;
    char *text = pc_mixed(n, &len, NULL);

    add_case(name_of("mixed_", 0, (size_t)n, ""), REQUEST, text, len, (size_t)n);
    free(text);
}

static void add_all(void)
{
    static const char date[] = "Fri, 05 Jun 2026 10:11:12 GMT", cc[] = "public, max-age=31536000, immutable",
                      number[] = "1048576";

    add_fixed();
    add_families();
    add_names("wks_tokenize_all", false);
    add_names("wks_tokenize_lower", true);
    add_mixed(256);
    add_mixed(4096);
    for (size_t i = 0; i < PC_NFIXED; i++)
        if (strcmp(pc_fixed[i].name, "request_modern_browser") == 0)
            add_case("drip_modern_browser", DRIP, pc_fixed[i].data, pc_fixed[i].len, 1);
    add_case("value_date", DATE, date, sizeof date - 1, 1);
    add_case("value_cache_control", CACHE_CONTROL, cc, sizeof cc - 1, 1);
    add_case("value_content_length", NUMBER, number, sizeof number - 1, 1);
}

/* Work. */

static parse_fn *entry(const struct parser *p, enum work work)
{
    switch (work) {
    case REQUEST:
    case DRIP: return p->request;
    case RESPONSE: return p->response;
    case FIELDS: return p->fields;
    default: return NULL;
    }
}

static void drip(const struct bench_case *c)
{
    struct parse_progress progress = { 0 };
    struct parse_error e;

    for (size_t n = 1; n <= c->len; n++)
        parse_request(&scratch, c->bytes, n, &limits, &progress, &e);
}

static void values(const struct bench_case *c)
{
    struct span s = span_of(c->bytes, c->len);

    switch (c->work) {
    case NAMES:
        for (size_t i = 0; i < c->heads; i++) {
            enum token t = token_lookup(span_of(c->bytes + 64 * i + 1, (size_t)c->bytes[64 * i]));

            used(&t);
        }
        break;
    case URI: {
        struct uri u;
        const char *why;

        uri_parse(s, METHOD_GET, &u, &why);
        used(&u);
        break;
    }
    case DATE: {
        int64_t t;

        date_parse(s, INT64_C(1780000000), &t);
        used(&t);
        break;
    }
    case CACHE_CONTROL: {
        static struct head h;
        struct cache_control cc;

        if (h.base == NULL) {
            static char text[256];
            struct parse_error e;

            snprintf(text, sizeof text, "Cache-Control: %.*s\r\n\r\n", (int)c->len, c->bytes);
            parse_fields(&h, text, strlen(text), &limits, &e);
        }
        cc = cache_control_parse(&h, false);
        used(&cc);
        break;
    }
    case NUMBER: {
        uint64_t n;

        number_parse(s, &n);
        used(&n);
        break;
    }
    default: break;
    }
}

/* Once over the case; what it counted, so that parsers can be held against each other. */
static void once(const struct parser *p, const struct bench_case *c, size_t *bytes, size_t *fields)
{
    parse_fn *f = entry(p, c->work);

    if (c->work == DRIP && p->ours) {
        drip(c);
        return;
    }
    if (f == NULL) {
        values(c);
        return;
    }
    for (size_t at = 0, i = 0; i < c->heads; i++) {
        size_t n_fields = 0, n = f(c->bytes + at, c->len - at, &n_fields);

        used(&scratch);
        *bytes += n;
        *fields += n_fields;
        at += n;
    }
}

/* Peers' sizes of requests that aren't whole differ from ours only in how they say so. */
static bool agrees(const struct bench_case *c)
{
    size_t bytes0 = 0, fields0 = 0;
    bool same = true;

    for (size_t i = 0; i < parsers_n; i++) {
        size_t bytes = 0, fields = 0;

        if (entry(&parsers[i], c->work) == NULL || (c->work == DRIP && !parsers[i].ours))
            continue;
        if (parsers[i].ours)
            hdrs_kernel_use(parsers[i].kernel);
        once(&parsers[i], c, &bytes, &fields);
        if (i == 0)
            bytes0 = bytes, fields0 = fields;
        else if (bytes != bytes0 || (bytes != 0 && fields != fields0)) {
            fprintf(stderr, "bench_hdrs: %s: %s took %zu bytes and %zu fields, %s %zu and %zu\n", c->name,
                    parsers[i].name, bytes, fields, parsers[0].name, bytes0, fields0);
            same = false;
        }
    }
    return same;
}

static double round_ns(const struct parser *p, const struct bench_case *c, size_t times)
{
    size_t bytes = 0, fields = 0;
    int64_t began;

    if (p->ours)
        hdrs_kernel_use(p->kernel);
    once(p, c, &bytes, &fields);
    began = now_ns();
    for (size_t i = 0; i < times; i++)
        once(p, c, &bytes, &fields);
    began = now_ns() - began;
    used(&bytes);
    return (double)began / (double)times;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static bool does(const struct parser *p, const struct bench_case *c)
{
    if (c->work == DRIP)
        return p->ours;
    if (entry(p, c->work) != NULL)
        return true;
    return p->ours && p == &parsers[0]; /* the same code whatever the kernel */
}

/* ns per head (per name list for names) of each parser. */
static void measure(const struct bench_case *c, size_t rounds, double *ns)
{
    static double got[PARSERS_MAX][ROUNDS_MAX];
    size_t times[PARSERS_MAX];
    double heads = c->work == NAMES ? 1 : (double)c->heads;

    for (size_t i = 0; i < parsers_n; i++)
        if (does(&parsers[i], c)) {
            double n = round_ns(&parsers[i], c, 1);

            times[i] = n < ROUND_NS ? (size_t)(ROUND_NS / (n + 1)) + 1 : 1;
        }
    for (size_t r = 0; r < rounds; r++)
        for (size_t i = 0; i < parsers_n; i++)
            if (does(&parsers[i], c))
                got[i][r] = round_ns(&parsers[i], c, times[i]) / heads;
    for (size_t i = 0; i < parsers_n; i++) {
        ns[i] = -1;
        if (does(&parsers[i], c)) {
            qsort(got[i], rounds, sizeof got[i][0], by_value);
            ns[i] = got[i][rounds / 2];
        }
    }
}

/* Output. */

static void print_json(const struct bench_case *c, const double *ns)
{
    for (size_t i = 0; i < parsers_n; i++)
        if (ns[i] >= 0)
            printf("{\"case\": \"%s\", \"%s\": \"%s\", \"ns_per_op\": %.2f, \"bytes\": %zu}\n", c->name,
                   parsers[i].ours ? "kernel" : "peer", parsers[i].name, ns[i],
                   c->work == NAMES ? c->len : c->len / c->heads);
}

static void print_title(void)
{
    printf("%-24s %6s", "case", "bytes");
    for (size_t i = 0; i < parsers_n; i++)
        printf(" %9s", parsers[i].name);
    printf(" | %9s %9s", "B/cycle", ":best peer");
    printf("   (ns; of the last kernel; %.2f cycles a ns)\n", cycles_per_ns);
}

static void print_row(const struct bench_case *c, const double *ns)
{
    double ours = -1, peer = -1;
    size_t bytes = c->work == NAMES ? c->len : c->len / c->heads;

    printf("%-24s %6zu", c->name, bytes);
    for (size_t i = 0; i < parsers_n; i++) {
        if (ns[i] < 0)
            printf(" %9s", "-");
        else
            printf(" %9.1f", ns[i]);
        if (ns[i] >= 0 && parsers[i].ours)
            ours = ns[i];
        else if (ns[i] >= 0 && (peer < 0 || ns[i] < peer))
            peer = ns[i];
    }
    printf(" | %9.2f", (double)bytes / (ours * cycles_per_ns));
    if (peer >= 0)
        printf(" %9.2f", ours / peer);
    putchar('\n');
    fflush(stdout);
}

static void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu < 0 ? sched_getcpu() : cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void bad_usage(void)
{
    fputs("usage: bench_hdrs [--case GLOB] [--kernel scalar|sse2|avx2|avx512|neon] [--json] [--rounds N] [--cpu N] "
          "[--ours]\n",
          stderr);
    exit(1);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "case", required_argument, NULL, 'c' },
        { "kernel", required_argument, NULL, 'k' },
        { "json", no_argument, NULL, 'j' },
        { "rounds", required_argument, NULL, 'r' },
        { "cpu", required_argument, NULL, 'u' },
        { "ours", no_argument, NULL, 'o' },
        { NULL, 0, NULL, 0 },
    };
    const char *glob = "*", *kernel = NULL;
    bool json = false, peers = true, same = true;
    size_t rounds = 61;
    int cpu = -1, c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
        switch (c) {
        case 'c': glob = optarg; break;
        case 'k': kernel = optarg; break;
        case 'j': json = true; break;
        case 'r': rounds = strtoul(optarg, NULL, 10); break;
        case 'u': cpu = atoi(optarg); break;
        case 'o': peers = false; break;
        default: bad_usage();
        }
    if (optind != argc || rounds < 1 || rounds > ROUNDS_MAX)
        bad_usage();
    hash_init();
    for (int k = 0; k < HDRS_KERNEL_N; k++)
        if (hdrs_kernel_available((enum hdrs_kernel)k) &&
            (kernel == NULL || strcmp(kernel, hdrs_kernel_name((enum hdrs_kernel)k)) == 0))
            add_ours((enum hdrs_kernel)k);
    if (parsers_n == 0)
        bad_usage();
    if (peers && !add_h2o()) {
        fputs("bench_hdrs: absent peer: libh2o (Debian: libh2o-dev)\n", stderr);
        return 2;
    }
    if (peers && !add_httparse(argv[0])) {
        fputs("bench_hdrs: absent peer: httparse (Debian: librust-httparse-dev cargo rustc; then make again)\n",
              stderr);
        return 2;
    }
    pin(cpu);
    calibrate();
    add_all();
    if (!json)
        print_title();
    for (size_t i = 0; i < cases_n; i++) {
        double ns[PARSERS_MAX];

        if (fnmatch(glob, cases[i].name, 0) != 0)
            continue;
        same &= agrees(&cases[i]);
        measure(&cases[i], rounds, ns);
        if (json)
            print_json(&cases[i], ns);
        else
            print_row(&cases[i], ns);
    }
    return same ? 0 : 1;
}
